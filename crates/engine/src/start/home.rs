//! Which Codex home a task may be started in.
//!
//! Codex starts what the `config.toml` of its home names, as the user and outside of every sandbox. So whoever could choose the home
//! could run anything. It is one that the operator has named, and no task may write in it.

use std::path::{Path, PathBuf};

use ostler_model::task::{SandboxMode, TaskSettings};

/// Where every command in a sandbox that may write may write.
const TEMPORARY: &str = "/tmp";

/// The homes that the operator has named.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// Of tasks that name none.
    pub usual: Option<PathBuf>,
    /// `homes` in `[codex]`.
    pub named: Vec<PathBuf>,
}

impl Homes {
    /// Whether these settings name a home that has to be looked at.
    pub(crate) fn is_strange(&self, settings: &TaskSettings) -> bool {
        let usual = self.usual.as_deref().map(real);
        settings.codex.home.as_ref().is_some_and(|home| Some(real(Path::new(home))) != usual)
    }

    /// What is wrong with the home of these settings, and with their folders beside a home. `others` are the tasks that are not over.
    pub(super) fn problems(
        &self,
        settings: &TaskSettings,
        others: &[TaskSettings],
    ) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if let Some(home) = settings.codex.home.as_ref().filter(|_| self.is_strange(settings)) {
            let mut writable: Vec<PathBuf> =
                others.iter().chain([settings]).flat_map(writable).collect();
            writable.push(real(Path::new(TEMPORARY)));
            if let Some(message) = self.problem(home, &writable) {
                problems.push(("codex_home", message));
            }
        }
        for root in writable(settings) {
            let holds = |home: &&PathBuf| real(home).starts_with(&root);
            for home in self.named.iter().filter(holds) {
                let message = format!(
                    "{} holds the Codex home {}, in which no task may write; work in another folder, or read-only",
                    root.display(),
                    home.display()
                );
                problems.push(("writable_roots", message));
            }
        }
        problems
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

/// The folders in which a task may write without asking.
fn writable(settings: &TaskSettings) -> Vec<PathBuf> {
    if settings.sandbox.mode != SandboxMode::WorkspaceWrite {
        return Vec::new();
    }
    let roots = settings.sandbox.writable_roots.iter().chain([&settings.cwd]);
    roots.map(|root| real(Path::new(root))).collect()
}

/// Without links. What is not there has the name that it was given.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
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
        };
        let read = |home: &Path| settings(SandboxMode::ReadOnly, &path("inn"), Some(home));
        let told = |wish: &TaskSettings, others: &[TaskSettings]| -> Vec<String> {
            let problems = homes.problems(wish, others).into_iter();
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
        begins(&writes, &[], "writable_roots: ");
        let mut beside = settings(SandboxMode::WorkspaceWrite, &path("other"), None);
        assert_eq!(told(&beside, &[]), [""; 0]);
        beside.sandbox.writable_roots = vec![path("name").display().to_string()];
        begins(&beside, &[], "holds the Codex home");
    }
}
