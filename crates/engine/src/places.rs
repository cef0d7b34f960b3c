//! Paths of files that Codex wants to change, as they are on the disk.
//!
//! A rule judges a path as text. A link below its folder could lead out of it, so the path is followed first.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_model::ask::{FileChangeAsk, FileChangeKind};

/// Replaces each path by the one that it leads to. What cannot be followed becomes a path that no rule is sure of.
pub(crate) fn on_disk(change: &mut FileChangeAsk, cwd: &str) {
    for file in &mut change.files {
        file.path = followed(&file.path, cwd);
        if let FileChangeKind::Update { moved_to: Some(target) } = &mut file.change {
            *target = followed(target, cwd);
        }
    }
}

fn followed(path: &str, cwd: &str) -> String {
    let whole = Path::new(cwd).join(path);
    // Nowhere: rules do not know where `..` leads.
    let nowhere = || "..".to_owned();
    follow(&whole).and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(nowhere)
}

/// The end of the path may not be there yet; all above it that is there is followed.
fn follow(path: &Path) -> Option<PathBuf> {
    match fs::canonicalize(path) {
        Ok(real) => Some(real),
        // A link that leads nowhere would make a file there.
        Err(_) if fs::symlink_metadata(path).is_ok() => None,
        Err(_) => Some(follow(path.parent()?)?.join(path.file_name()?)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_and_what_leads_nowhere_is_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let cwd = root.join("repo");
        fs::create_dir_all(cwd.join("src")).unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        symlink(root.join("outside"), cwd.join("link")).unwrap();
        symlink(root.join("gone"), cwd.join("dangling")).unwrap();
        let table = [
            ("src/new/file.rs", Some("repo/src/new/file.rs")),
            ("link/file.rs", Some("outside/file.rs")),
            ("link/new/file.rs", Some("outside/new/file.rs")),
            ("dangling", None),
            ("dangling/x", None),
            ("src/../link/x", Some("outside/x")),
        ];
        for (path, expected) in table {
            let expected = expected
                .map_or("..".to_owned(), |path| root.join(path).to_str().unwrap().to_owned());
            assert_eq!(followed(path, cwd.to_str().unwrap()), expected, "{path}");
        }
    }
}
