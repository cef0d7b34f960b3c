//! Programs that git runs on the files of a worktree: filters, and drivers of merges.
//!
//! The user's configuration names them, and a repository's files say what they are for. Those that a system has installed, such as
//! `git-lfs`, are the user's own and must run, or what is committed is not what it should be. One that lies among the files is what
//! the task has made of it, and git runs here without a sandbox.

use std::path::{Component, Path};

use super::git::Git;
use super::work::names;
use super::{WorktreeError, Worktrees};

/// All settings that name such programs.
const SETTINGS: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$";

impl Worktrees {
    /// Refuses a folder where git would run what a task may have written.
    pub(super) async fn check_programs(&self, folder: &Path) -> Result<(), WorktreeError> {
        let is_foreign = |(_, line): &(String, String)| leads_into(line, folder);
        match settings(&self.git, folder).await?.into_iter().find(is_foreign) {
            None => Ok(()),
            Some((setting, program)) => Err(WorktreeError::Programs { setting, program }),
        }
    }
}

/// Each with its command line.
async fn settings(git: &Git, folder: &Path) -> Result<Vec<(String, String)>, WorktreeError> {
    let said = git.ask(folder, ["config", "--null", "--get-regexp", SETTINGS]).await?;
    match said.code {
        // 1: there are none.
        Some(0 | 1) => {}
        _ => return Err(WorktreeError::Git { said: said.error }),
    }
    let found = names(&said.out).into_iter();
    let apart = |line: String| {
        let (name, value) = line.split_once('\n').unwrap_or((line.as_str(), ""));
        (name.to_owned(), value.to_owned())
    };
    Ok(found.map(apart).collect())
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
