//! Programs that git runs on the files of a worktree: filters, and drivers of merges.
//!
//! The user's configuration names them, and a repository's files say what they are for. Those that a system has installed, such as
//! `git-lfs`, are the user's own and must run, or what is committed is not what it should be. One that lies among the files is what
//! the task has made of it, and git runs here without a sandbox.
//!
//! A repository's own configuration is no word of the user's: a task can make a whole repository where it may write. Of what that one
//! names, only tools that everybody knows are run, and what would lead these to other programs is refused.

use std::path::{Component, Path};

use super::git::Git;
use super::work::names;
use super::{WorktreeError, Worktrees};

/// All settings that name such programs, and those by which git-lfs, where it is such a program, starts others.
const SETTINGS: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver|lfs\.(customtransfer|extension|standalonetransferagent)(\..*)?|core\.(sshcommand|askpass)|credential\.(.*\.)?helper)$";

/// What a repository's own configuration may name: what these tools write there themselves.
const KNOWN: [&str; 10] = [
    "git-lfs clean -- %f",
    "git-lfs smudge -- %f",
    "git-lfs smudge --skip -- %f",
    "git-lfs filter-process",
    "git-lfs filter-process --skip",
    "git lfs clean -- %f",
    "git lfs smudge -- %f",
    "git lfs filter-process",
    "\"git-crypt\" clean",
    "\"git-crypt\" smudge",
];

struct Setting {
    name: String,
    value: String,
    /// The file is the user's or the system's, and not the repository's.
    is_users: bool,
}

impl Setting {
    fn names_filter(&self) -> bool {
        self.name.starts_with("filter.") || self.name.starts_with("merge.")
    }
}

impl Worktrees {
    /// Refuses a folder where git would run what a task may have written.
    pub(super) async fn check_programs(&self, folder: &Path) -> Result<(), WorktreeError> {
        let all = settings(&self.git, folder).await?;
        let uses_lfs = all.iter().any(|it| it.names_filter() && it.value.contains("lfs"));
        let refused = |setting: &Setting| is_refused(setting, folder, uses_lfs);
        match all.into_iter().find(refused) {
            None => Ok(()),
            Some(Setting { name: setting, value: program, is_users: true }) => {
                Err(WorktreeError::Programs { setting, program })
            }
            Some(Setting { name: setting, value: program, .. }) => {
                Err(WorktreeError::OwnPrograms { setting, program })
            }
        }
    }
}

/// What `git status` in this folder runs because only the repository's own configuration names it: setting and command line.
pub(crate) async fn named_by_repository(git: &Git, folder: &Path) -> Vec<(String, String)> {
    // Where git finds nothing, Codex's git finds nothing.
    let all = settings(git, folder).await.unwrap_or_default().into_iter();
    let is_run = |it: &Setting| {
        let is_filter = it.name.starts_with("filter.") && !it.name.ends_with(".smudge");
        is_filter && !it.is_users && is_refused(it, folder, false)
    };
    all.filter(is_run).map(|it| (it.name, it.value)).collect()
}

async fn settings(git: &Git, folder: &Path) -> Result<Vec<Setting>, WorktreeError> {
    let list = ["config", "--show-scope", "--null", "--get-regexp", SETTINGS];
    let said = git.ask(folder, list).await?;
    match said.code {
        // 1: there are none.
        Some(0 | 1) => {}
        _ => return Err(WorktreeError::Git { said: said.error }),
    }
    let found = names(&said.out);
    // Each has two parts.
    let apart = |parts: &[String]| {
        let [scope, line] = parts else { return None };
        let (name, value) = line.split_once('\n').unwrap_or((line, ""));
        let is_users = matches!(scope.as_str(), "system" | "global");
        Some(Setting { name: name.to_owned(), value: value.to_owned(), is_users })
    };
    Ok(found.chunks(2).filter_map(apart).collect())
}

fn is_refused(setting: &Setting, folder: &Path, uses_lfs: bool) -> bool {
    match (setting.is_users, setting.names_filter()) {
        (true, true) => leads_into(&setting.value, folder),
        (true, false) => false,
        _ if setting.value.is_empty() => false,
        (false, true) => !KNOWN.contains(&setting.value.as_str()),
        (false, false) => uses_lfs,
    }
}

/// Whether a shell that runs this line in the folder might run, or read as a program, one of the folder's files. Of two doubts the
/// worse counts: who is refused can name the program by its whole path.
fn leads_into(line: &str, folder: &Path) -> bool {
    // A quote does not part words: what stands before it may be the folder. So a path with a space in it is one doubt more.
    let line = line.replace(['\'', '"', '\\'], "");
    let is_between = |it: char| it.is_whitespace() || ";|&<>=".contains(it);
    let mut words = line.split(is_between).filter(|word| !word.is_empty()).enumerate();
    words.any(|(at, word)| {
        let path = Path::new(word);
        if ["~/", "$HOME/", "${HOME}/"].iter().any(|home| word.starts_with(home))
            || path.is_absolute()
        {
            let climbs = path.components().any(|part| part == Component::ParentDir);
            return climbs || path.starts_with(folder);
        }
        // The first word alone is looked for where programs are, and any other is a file if there is one.
        word.contains('/') || (at > 0 && folder.join(word).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_s_own_settings_name_known_tools_only() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, value: &str, is_users: bool| {
            let setting = Setting { name: name.to_owned(), value: value.to_owned(), is_users };
            is_refused(&setting, folder.path(), true)
        };
        for tool in KNOWN {
            assert!(!refused("filter.x.clean", tool, false), "{tool}");
        }
        assert!(!refused("filter.x.clean", "", false));
        let helper = ("credential.helper".to_owned(), "!sh".to_owned());
        let helper = Setting { name: helper.0, value: helper.1, is_users: false };
        assert!(!is_refused(&helper, folder.path(), false), "nothing asks for it");
        for (name, value) in [
            ("filter.x.smudge", "sh -c 'id; cat'"),
            ("filter.x.clean", "/usr/bin/env"),
            ("filter.x.process", "git-lfs filter-process; id"),
            ("merge.x.driver", "true"),
            ("lfs.customtransfer.x.path", "sh"),
            ("lfs.extension.x.clean", "sh"),
            ("lfs.standalonetransferagent", "x"),
            ("credential.https://example.org.helper", "!sh"),
            ("core.sshcommand", "sh"),
        ] {
            assert!(refused(name, value, false), "{name}");
            assert!(!refused(name, value, true), "{name}");
        }
    }

    #[test]
    fn a_program_among_the_files_is_told_from_one_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("clean.py"), "").unwrap();
        let inside = folder.path().join("x").display().to_string();
        for line in [
            "./clean",
            "tools/clean.sh %f",
            "python clean.py",
            "sh -c 'exec tools/clean'",
            "sh -c \"$(git rev-parse --show-toplevel)/clean\"",
            "\"$(pwd)\"/clean",
            "cat<clean.py|sh",
            "X=1 python3 clean.py",
            "/usr/../work/clean",
            &inside,
        ] {
            assert!(leads_into(line, folder.path()), "{line}");
        }
        for line in [
            "git-lfs clean -- %f",
            "git-lfs filter-process",
            "\"/usr/bin/git-crypt\" clean",
            "~/bin/clean",
            "python /opt/clean.py",
            "cat",
            "",
        ] {
            assert!(!leads_into(line, folder.path()), "{line}");
        }
    }
}
