//! The real place of a path that a model gave.

use std::path::{Component, Path, PathBuf};

/// Absolute, without links and `..`: what is judged, shown and written is one and the same. What does not exist yet has
/// its folder resolved.
pub(super) fn real(path: &str, cwd: &Path) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("`path` is empty".to_owned());
    }
    if path.starts_with('~') {
        return Err(
            "`~` is not known here; give an absolute path or one below the workspace".to_owned()
        );
    }
    let wanted = cwd.join(path);
    let mut rest = Vec::new();
    let mut at = wanted.as_path();
    loop {
        match at.canonicalize() {
            Ok(real) => return Ok(rest.into_iter().rev().fold(real, |path, part| path.join(part))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{}: {error}", at.display())),
        }
        // Something is there and leads nowhere: writing would make a file at a place that nobody has named.
        if at.symlink_metadata().is_ok() {
            return Err(format!("{} is a link to nothing", at.display()));
        }
        match (at.components().next_back(), at.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                rest.push(name.to_owned());
                at = parent;
            }
            _ => return Err(format!("{} does not exist and cannot be resolved", wanted.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::real;

    #[test]
    fn links_and_steps_upwards_are_resolved_and_what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();

        assert_eq!(real("a/../b/c", &root), Ok(root.join("b/c")));
        assert_eq!(real("out/passwd", &root), Ok("/etc/passwd".into()));
        assert_eq!(real("out/new-file", &root), Ok("/etc/new-file".into()));
        for path in ["", "~/x", "dangling", "dangling/x", "new/../../x"] {
            assert!(real(path, &root).is_err(), "{path}");
        }
    }
}
