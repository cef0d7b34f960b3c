//! Paths of files that Codex wants to change, as they are on the disk.
//!
//! A rule judges a path as text. A link below its folder could lead out of it, so the path is followed first.
//!
//! Codex opens the path again when it writes. So no rule allows a change where a command of a task may put a link at that moment, and
//! when the change is made the path is looked at once more.

mod writers;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use ostler_model::ask::{FileChangeAsk, FileChangeKind};

pub(crate) use writers::Writers;

/// Links on one path; the kernel follows as many.
const MOST_LINKS: usize = 40;

/// Replaces each path by the one that it leads to. What cannot be followed becomes a path that no rule is sure of.
pub(crate) fn on_disk(change: &mut FileChangeAsk, cwd: &str) {
    for file in &mut change.files {
        file.path = followed(&file.path, cwd);
        if let FileChangeKind::Update { moved_to: Some(target) } = &mut file.change {
            *target = followed(target, cwd);
        }
    }
}

/// Every path that a change is about, as Codex has it.
fn paths<'a>(change: &'a FileChangeAsk, cwd: &str) -> Vec<PathBuf> {
    let whole = |path: &'a String| Path::new(cwd).join(path);
    let targets = change.files.iter().filter_map(|file| match &file.change {
        FileChangeKind::Update { moved_to } => moved_to.as_ref(),
        _ => None,
    });
    change.files.iter().map(|file| &file.path).chain(targets).map(whole).collect()
}

/// Every folder in which a name of these paths is looked up. Whoever may write in one of them can make the path lead elsewhere.
pub(crate) fn folders_on_the_way(change: &FileChangeAsk, cwd: &str) -> Vec<PathBuf> {
    paths(change, cwd).iter().flat_map(|path| on_the_way(path)).collect()
}

fn on_the_way(path: &Path) -> Vec<PathBuf> {
    let names = |path: &Path| path.components().map(|it| it.as_os_str().to_owned()).collect();
    let mut left: VecDeque<OsString> = names(path);
    let (mut at, mut folders, mut links) = (PathBuf::from("/"), Vec::new(), 0);
    while let Some(name) = left.pop_front() {
        match Path::new(&name).components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => {
                if folders.last() != Some(&at) {
                    folders.push(at.clone());
                }
                match fs::read_link(at.join(name)) {
                    Ok(target) if links < MOST_LINKS => {
                        links += 1;
                        let mut next: VecDeque<OsString> = names(&target);
                        next.append(&mut left);
                        left = next;
                    }
                    _ => at.push(name),
                }
            }
            _ => {}
        }
    }
    folders
}

/// Where the paths of a change led when a rule allowed it.
#[derive(Debug)]
pub(crate) struct Led {
    cwd: String,
    to: Vec<(PathBuf, String)>,
}

impl Led {
    pub(crate) fn now(change: &FileChangeAsk, cwd: &str) -> Self {
        let to = paths(change, cwd).into_iter().map(|path| {
            let led = followed(&path.to_string_lossy(), cwd);
            (path, led)
        });
        Self { cwd: cwd.to_owned(), to: to.collect() }
    }

    /// Those that lead elsewhere by now, with where.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        let changed = self.to.iter().filter_map(|(path, led)| {
            let now = followed(&path.to_string_lossy(), &self.cwd);
            let path = path.display();
            (now != *led).then(|| format!("{path} led to {led}, and to {now} after the change"))
        });
        changed.collect()
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

    use ostler_model::ask::FileDiff;

    use super::*;

    fn adding(path: &str) -> FileChangeAsk {
        let file =
            FileDiff { path: path.to_owned(), change: FileChangeKind::Add, diff: String::new() };
        FileChangeAsk { files: vec![file], grant_root: None }
    }

    #[test]
    fn every_folder_in_which_a_link_could_stand_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["yard", "barn", "hay"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        // Through the barn and back, so that where it ends says nothing of the way.
        symlink("../barn/back", root.join("yard/link")).unwrap();
        symlink(root.join("yard"), root.join("barn/back")).unwrap();
        let cwd = root.join("yard");
        let of = |path| {
            let folders = folders_on_the_way(&adding(path), cwd.to_str().unwrap());
            let inside: Vec<PathBuf> = folders
                .iter()
                .filter_map(|it| it.strip_prefix(&root).ok())
                .map(Into::into)
                .collect();
            inside
        };
        let names = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        assert_eq!(of("a/b.txt"), names(&["", "yard", "yard/a"]));
        assert_eq!(of("link/b.txt"), names(&["", "yard", "", "barn", "", "yard"]));
        symlink("round", root.join("yard/round")).unwrap();
        assert!(of("round/x").contains(&PathBuf::from("yard")));
    }

    #[test]
    fn a_path_that_leads_elsewhere_after_the_change_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("yard/d")).unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        let led = Led::now(&adding("d/x.txt"), root.join("yard").to_str().unwrap());
        fs::write(root.join("yard/d/x.txt"), "").unwrap();
        assert_eq!(led.elsewhere(), [""; 0]);
        fs::remove_dir_all(root.join("yard/d")).unwrap();
        symlink(root.join("outside"), root.join("yard/d")).unwrap();
        let yard = root.join("yard/d/x.txt").display().to_string();
        let told = format!(
            "{yard} led to {yard}, and to {} after the change",
            root.join("outside/x.txt").display()
        );
        assert_eq!(led.elsewhere(), [told]);
    }

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
