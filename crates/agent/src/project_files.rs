//! Files in which a project says how it wants to be worked on.

use std::path::{Path, PathBuf};

use crate::disk::read_up_to;

/// The first of these that a folder has is read.
const NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", ".ostler.md"];

/// All files together. As long as what Codex reads of the same files.
const MOST_BYTES: usize = 32 * 1024;

/// One file, as the prompt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub text: String,
}

/// Those from the root of the repository down to the folder, so that the nearest stands last. Blocks. What cannot be read is
/// left out: a project must not be able to keep the agent from starting.
pub fn project_files(cwd: &Path) -> Vec<ProjectFile> {
    let mut folders: Vec<&Path> = Vec::new();
    for folder in cwd.ancestors() {
        folders.push(folder);
        if folder.join(".git").exists() {
            break;
        }
    }
    // Without a repository only the folder itself speaks for it.
    if !folders.last().is_some_and(|root| root.join(".git").exists()) {
        folders.truncate(1);
    }
    let mut room = MOST_BYTES;
    let mut found = Vec::new();
    for folder in folders.into_iter().rev() {
        let Some(file) = NAMES.iter().find_map(|name| read(&folder.join(name))) else { continue };
        let text = cut(&file.text, room);
        room = room.saturating_sub(text.len());
        if !text.trim().is_empty() {
            found.push(ProjectFile { text, ..file });
        }
    }
    found
}

fn read(path: &Path) -> Option<ProjectFile> {
    // One more, so that what is left out is noticed.
    let text = read_up_to(path, MOST_BYTES as u64 + 1).ok()?;
    Some(ProjectFile { path: path.to_owned(), text: String::from_utf8_lossy(&text).into_owned() })
}

fn cut(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let kept = text.get(..end).unwrap_or_default();
    if kept.is_empty() {
        String::new()
    } else {
        format!("{kept}\n[the rest of the file is left out]")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::project_files;

    #[test]
    fn a_link_to_a_file_without_an_end_is_not_followed_to_it() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc/self/pagemap", folder.path().join("AGENTS.md")).unwrap();
        assert!(project_files(folder.path()).is_empty());
    }

    #[test]
    fn the_nearest_file_stands_last_and_a_repository_ends_the_search() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        let inner = root.join("crates/agent");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(folder.path().join("AGENTS.md"), "outside").unwrap();
        fs::write(root.join("AGENTS.md"), "root").unwrap();
        fs::write(inner.join("AGENTS.md"), "not read").unwrap();
        fs::write(inner.join("AGENTS.override.md"), "inner").unwrap();

        let texts = |cwd| project_files(cwd).into_iter().map(|it| it.text).collect::<Vec<_>>();

        assert_eq!(texts(&inner), ["root", "inner"]);
        assert_eq!(texts(folder.path()), ["outside"]);
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("AGENTS.md"), "ä".repeat(40_000)).unwrap();
        let found = project_files(folder.path());
        assert!(found[0].text.ends_with("[the rest of the file is left out]"));
        assert!(found[0].text.len() < 33 * 1024);
    }
}
