//! Which Codex home a task may be started in, and in which folders no task may write.
//!
//! Codex starts what the `config.toml` of its home names, as the user and outside of every sandbox. So whoever could choose the home
//! could run anything. It is one that the operator has named. Ostler's own folders say what is trusted, what is allowed and which
//! Codex is started. So no task may write in a home or in one of those: Codex can keep nothing below a writable folder read-only but
//! `.git`, `.codex` and `.agents` right in it.

use std::fmt;
use std::path::{Path, PathBuf};

use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_model::task::{SandboxMode, TaskSettings};

/// Where every command in a sandbox that may write may write.
const TEMPORARY: &str = "/tmp";

/// Below a Codex home; git worktrees that Codex's own apps make for people to work in. Nothing in it is started.
const CODEX_WORKTREES: &str = "worktrees";

/// The setting that names the working folder.
const CWD: &str = "cwd";

/// In every protected folder; it may be a link to a file elsewhere.
const SETTINGS_FILE: &str = "config.toml";

/// The homes that the operator has named, and the folders that are Ostler's own.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// Of tasks that name none.
    pub usual: Option<PathBuf>,
    /// `homes` in `[codex]`.
    pub named: Vec<PathBuf>,
    /// Our folders: configuration, state, what runs, and the installed versions of Codex.
    pub own: Vec<PathBuf>,
    /// Where worktrees of tasks are made, which may be in a folder of ours.
    pub worktrees: Option<PathBuf>,
    /// `TMPDIR`, in which every command in a sandbox that may write may write, too.
    pub temporary: Option<PathBuf>,
}

impl Homes {
    /// Whether these settings name a home that has to be looked at.
    pub(crate) fn is_strange(&self, settings: &TaskSettings) -> bool {
        let usual = self.usual.as_deref().map(real);
        settings.codex.home.as_ref().is_some_and(|home| Some(real(Path::new(home))) != usual)
    }

    /// What is wrong with the home of these settings, and with their folders. `others` are the tasks that are not over.
    pub(super) fn problems(
        &self,
        settings: &TaskSettings,
        gets_worktree: bool,
        others: &[TaskSettings],
    ) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if let Some(home) = settings.codex.home.as_ref().filter(|_| self.is_strange(settings)) {
            let mut writable: Vec<PathBuf> =
                others.iter().chain([settings]).flat_map(writable).collect();
            writable.extend(self.temporary().map(real));
            if let Some(message) = self.problem(home, &writable) {
                problems.push(("codex_home", message));
            }
        }
        let folders = folders(settings).filter(|(what, _)| !gets_worktree || *what != CWD);
        problems.extend(folders.filter_map(|(what, root)| Some((what, self.refuses(root)?))));
        problems
    }

    /// Why a task with these settings may not work as they say; `None` if it may.
    pub(crate) fn refuses_to_write(&self, settings: &TaskSettings) -> Option<String> {
        folders(settings).find_map(|(_, root)| self.refuses(root))
    }

    /// Why no thread may write in this folder and below; `None` if it may.
    pub fn refuses(&self, root: &Path) -> Option<String> {
        let root = real(root);
        let all = self.protected();
        let is_open = |folder: &&Protected| {
            folder.open.iter().any(|open| root != *open && root.starts_with(open))
        };
        let around = |folder: &&Protected| root.starts_with(&folder.path);
        if let Some(folder) = all.iter().filter(around).find(|it| !is_open(it)) {
            return Some(format!(
                "{} is in {}, in which no task may write: {}; work in another folder, or with the sandbox read-only",
                root.display(),
                folder,
                folder.why()
            ));
        }
        let held: Vec<&Protected> =
            all.iter().filter(|folder| folder.path.starts_with(&root)).collect();
        let names: Vec<String> = held.iter().map(ToString::to_string).collect();
        Some(format!(
            "{} holds {}, in which no task may write: {}; work in a narrower folder, or with the sandbox read-only",
            root.display(),
            names.join(" and "),
            held.first()?.why()
        ))
    }

    /// Closes the folders of temporary files, in which commands may write otherwise, if a home or a folder of ours is in them.
    pub fn narrow(&self, sandbox: &mut SandboxPolicy) {
        let SandboxPolicy::WorkspaceWrite { exclude_slash_tmp, exclude_tmpdir_env_var, .. } =
            sandbox
        else {
            return;
        };
        let holds = |folder: &Path| {
            let folder = real(folder);
            self.protected().iter().any(|it| it.path.starts_with(&folder))
        };
        *exclude_slash_tmp |= holds(Path::new(TEMPORARY));
        *exclude_tmpdir_env_var |= self.temporary.as_deref().is_some_and(holds);
    }

    /// Everywhere that a thread with these settings may write without asking.
    pub(crate) fn all_writable(&self, settings: &TaskSettings) -> Vec<PathBuf> {
        let mut all = writable(settings);
        if !all.is_empty() {
            all.extend(self.temporary().map(real));
        }
        all
    }

    fn temporary(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(Path::new(TEMPORARY)).chain(self.temporary.as_deref())
    }

    /// Without links; each once, those that hold others first.
    fn protected(&self) -> Vec<Protected> {
        let worktrees = self.worktrees.as_deref().map(real);
        let homes = self.usual.iter().chain(&self.named).map(|home| {
            let path = real(home);
            let open = vec![path.join(CODEX_WORKTREES)];
            Protected { path, is_home: true, open }
        });
        let own = self.own.iter().map(|own| {
            let path = real(own);
            let is_in_it = |open: &&PathBuf| **open != path && open.starts_with(&path);
            let open = worktrees.iter().filter(is_in_it).cloned().collect();
            Protected { path, is_home: false, open }
        });
        let mut all: Vec<Protected> = homes.chain(own).collect();
        let files: Vec<Protected> = all.iter().filter_map(Protected::settings_elsewhere).collect();
        all.extend(files);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.path == other.path);
        all
    }

    fn problem(&self, home: &str, writable: &[PathBuf]) -> Option<String> {
        let path = Path::new(home);
        if !path.is_absolute() {
            return Some(format!("{home:?} is not absolute; write the whole path"));
        }
        let path = real(path);
        if !self.named.iter().any(|named| real(named) == path) {
            return Some(format!(
                "{home} is no Codex home that the operator has named: Codex starts what its config.toml names, outside of the \
                 sandbox; the operator allows it with `homes = [{home:?}]` in [codex]"
            ));
        }
        if !path.is_dir() {
            return Some(format!("{home} is no folder; make it, and log in there"));
        }
        let root = writable.iter().find(|root| path.starts_with(root))?;
        Some(format!(
            "{home} is in {}, where a task may write, so a task could change what Codex starts; move the home elsewhere",
            root.display()
        ))
    }
}

/// A folder, or a file of settings, in which no task may write.
struct Protected {
    path: PathBuf,
    is_home: bool,
    /// Folders in it below which tasks may write all the same.
    open: Vec<PathBuf>,
}

impl Protected {
    fn why(&self) -> &'static str {
        match self.is_home {
            true => "Codex starts what is named there, outside of the sandbox",
            false => "what is there says what may run outside of the sandbox",
        }
    }

    /// Whoever may write the file that it leads to may write the settings.
    fn settings_elsewhere(&self) -> Option<Self> {
        let path = self.path.join(SETTINGS_FILE).canonicalize().ok()?;
        let is_elsewhere = !path.starts_with(&self.path);
        is_elsewhere.then(|| Self { path, is_home: self.is_home, open: Vec::new() })
    }
}

impl fmt::Display for Protected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.is_home {
            true => write!(formatter, "the Codex home {path}"),
            false => write!(formatter, "Ostler's own {path}"),
        }
    }
}

/// The folders in which a task may write without asking, with the setting that names each.
fn folders(settings: &TaskSettings) -> impl Iterator<Item = (&'static str, &Path)> {
    let may_write = settings.sandbox.mode == SandboxMode::WorkspaceWrite;
    let roots = settings.sandbox.writable_roots.iter().map(|root| ("writable_roots", root));
    let all = std::iter::once((CWD, &settings.cwd)).chain(roots);
    all.filter(move |_| may_write).map(|(what, root)| (what, Path::new(root)))
}

/// The same, without links.
fn writable(settings: &TaskSettings) -> Vec<PathBuf> {
    folders(settings).map(|(_, root)| real(root)).collect()
}

/// Without links. Of a path that is not there, what is there of it.
fn real(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        let (Ok(found), Ok(rest)) = (folder.canonicalize(), path.strip_prefix(folder)) else {
            continue;
        };
        return found.components().chain(rest.components()).collect();
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use ostler_model::task::Sandbox;

    use super::*;

    fn settings(mode: SandboxMode, cwd: &Path, home: Option<&Path>) -> TaskSettings {
        let mut settings = TaskSettings {
            cwd: cwd.display().to_string(),
            sandbox: Sandbox { mode, ..Sandbox::default() },
            ..TaskSettings::default()
        };
        settings.codex.home = home.map(|home| home.display().to_string());
        settings
    }

    #[test]
    fn a_home_is_the_usual_one_or_one_that_was_named_and_no_task_writes_there() {
        // Not where every task may write.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["usual", "named", "inn/home", "inn/stall", "other"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        symlink(path("other"), path("link")).unwrap();
        symlink(path("named"), path("name")).unwrap();
        let homes = Homes {
            usual: Some(path("usual")),
            named: vec![path("named"), path("inn/home"), path("gone"), "/tmp".into()],
            ..Homes::default()
        };
        let read = |home: &Path| settings(SandboxMode::ReadOnly, &path("inn"), Some(home));
        let told = |wish: &TaskSettings, others: &[TaskSettings]| -> Vec<String> {
            let problems = homes.problems(wish, false, others).into_iter();
            problems.map(|(what, message)| format!("{what}: {message}")).collect()
        };
        let begins = |wish: &TaskSettings, others: &[TaskSettings], words: &str| {
            let told = told(wish, others);
            assert!(told.iter().any(|told| told.contains(words)), "{words:?} is not in {told:?}");
        };

        for home in ["usual", "named", "name", "inn/home"] {
            assert_eq!(told(&read(&path(home)), &[]), [""; 0], "{home}");
        }
        for home in ["other", "link", "named/..", "named/../other", "inn/stall"] {
            begins(&read(&path(home)), &[], "codex_home: ");
            begins(&read(&path(home)), &[], "` in [codex]");
        }
        begins(&read(Path::new("named")), &[], "not absolute");
        begins(&read(&path("gone")), &[], "is no folder");
        begins(&read(Path::new("/tmp")), &[], "where a task may write");

        let writes = settings(SandboxMode::WorkspaceWrite, &path("inn"), None);
        begins(&read(&path("inn/home")), std::slice::from_ref(&writes), "where a task may write");
        begins(&writes, &[], "cwd: ");
        let mut beside = settings(SandboxMode::WorkspaceWrite, &path("other"), None);
        assert_eq!(told(&beside, &[]), [""; 0]);
        beside.sandbox.writable_roots = vec![path("name").display().to_string()];
        begins(&beside, &[], "writable_roots: ");
    }

    #[test]
    fn no_task_writes_in_the_usual_home_and_in_folders_of_ours() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = folder.path().canonicalize().unwrap();
        let path = |name: &str| base.join(name);
        for name in ["ana/.codex/worktrees/a", "ana/src", "ana/state/worktrees/t/src", "dots"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::create_dir(path("ana/config")).unwrap();
        symlink(path("ana"), path("link")).unwrap();
        fs::write(path("dots/ostler.toml"), "").unwrap();
        symlink(path("dots/ostler.toml"), path("ana/config/config.toml")).unwrap();
        let homes = Homes {
            usual: Some(path("link/.codex")),
            // One of them is not there yet.
            own: vec![path("link/config"), path("link/state"), path("link/run")],
            worktrees: Some(path("link/state/worktrees")),
            ..Homes::default()
        };
        let writes = |cwd: &str| settings(SandboxMode::WorkspaceWrite, &path(cwd), None);
        let told = |wish: &TaskSettings, gets_worktree| homes.problems(wish, gets_worktree, &[]);

        for cwd in ["ana/src", "link/src", "ana/state/worktrees/t/src", "ana/.codex/worktrees/a"] {
            assert_eq!(told(&writes(cwd), false), [], "{cwd}");
            assert_eq!(homes.refuses_to_write(&writes(cwd)), None, "{cwd}");
        }
        for (cwd, words) in [
            ("ana/.codex", "is in the Codex home"),
            ("link/.codex/rules", "is in the Codex home"),
            ("ana/.codex/worktrees", "is in the Codex home"),
            ("ana/state", "is in Ostler's own"),
            ("ana/state/worktrees", "is in Ostler's own"),
            ("ana/run/keepers", "is in Ostler's own"),
            ("ana/config", "is in Ostler's own"),
            ("dots", "holds Ostler's own"),
        ] {
            let told = told(&writes(cwd), false);
            let [("cwd", message)] = told.as_slice() else { panic!("{cwd}: {told:?}") };
            assert!(message.contains(words), "{cwd}: {message}");
            assert_eq!(homes.refuses_to_write(&writes(cwd)).as_ref(), Some(message), "{cwd}");
            let read = settings(SandboxMode::ReadOnly, &path(cwd), None);
            assert_eq!(homes.problems(&read, false, &[]), [], "{cwd}");
        }
        let ana = path("ana").display().to_string();
        let message = format!(
            "{ana} holds the Codex home {ana}/.codex and Ostler's own {ana}/config and Ostler's own {ana}/run and Ostler's own \
             {ana}/state, in which no task may write: Codex starts what is named there, outside of the sandbox; work in a \
             narrower folder, or with the sandbox read-only"
        );
        assert_eq!(told(&writes("link"), false), [("cwd", message.clone())]);
        assert_eq!(told(&writes("link"), true), [], "it works in a worktree");
        let mut beside = writes("ana/src");
        beside.sandbox.writable_roots = vec![ana];
        assert_eq!(told(&beside, true), [("writable_roots", message)]);
    }

    #[test]
    fn temporary_files_are_not_beside_a_home() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let homes = |own: &str, temporary: &str| Homes {
            own: vec![own.into()],
            temporary: Some(temporary.into()),
            ..Homes::default()
        };
        let inside = folder.path().display().to_string();
        let closed = |homes: &Homes| {
            let mut sandbox = SandboxPolicy::WorkspaceWrite {
                writable_roots: Vec::new(),
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: false,
            };
            homes.narrow(&mut sandbox);
            match sandbox {
                SandboxPolicy::WorkspaceWrite {
                    exclude_tmpdir_env_var, exclude_slash_tmp, ..
                } => (exclude_tmpdir_env_var, exclude_slash_tmp),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(closed(&homes(&inside, "/var/tmp")), (false, true));
        assert_eq!(closed(&homes("/var/tmp/o", "/var/tmp")), (true, false));
        assert_eq!(closed(&homes("/var/o", "/var/tmp")), (false, false));
    }
}
