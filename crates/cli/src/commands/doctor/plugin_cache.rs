//! The plugins that the user has installed, copied for a Codex that only looks at them: it tidies that folder as it starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where Codex keeps them below its home.
const FOLDER: &str = "plugins";

/// Dozens of plugins. Who has more is told that they were not looked at.
const MOST_FILES: usize = 5_000;
const MOST_BYTES: u64 = 64 << 20;

/// Copies what there is. The error is for people.
pub(super) fn copy(home: Option<&Path>, bare: &Path) -> Result<(), String> {
    let Some(from) = home.map(|home| home.join(FOLDER)).filter(|folder| folder.is_dir()) else {
        return Ok(());
    };
    let plan = plan(&from)?;
    let copied = plan.iter().try_for_each(|path| copy_one(path, &from, &bare.join(FOLDER)));
    copied.map_err(|error| format!("{} cannot be read: {error}", from.display()))
}

/// Every file and folder, the outer first; links are left out, because what they lead to may be anything.
fn plan(from: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| format!("{} cannot be read: {error}", from.display());
    let (mut found, mut bytes) = (vec![from.to_owned()], 0);
    let mut open = vec![from.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                bytes += entry.metadata().map_err(failed)?.len();
            } else {
                continue;
            }
            found.push(entry.path());
            if found.len() > MOST_FILES || bytes > MOST_BYTES {
                return Err(format!("{} is too large to be copied for a look", from.display()));
            }
        }
    }
    Ok(found)
}

fn copy_one(path: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let below = path.strip_prefix(from).map_err(io::Error::other)?;
    let target = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
    if path.is_dir() { fs::create_dir(target) } else { fs::copy(path, target).map(drop) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_copied_and_links_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (home, bare) = (folder.path().join("home"), folder.path().join("bare"));
        fs::create_dir_all(home.join("plugins/cache/a")).unwrap();
        fs::create_dir(&bare).unwrap();
        fs::write(home.join("plugins/cache/a/plugin.json"), "{}").unwrap();
        std::os::unix::fs::symlink("/", home.join("plugins/all")).unwrap();

        copy(Some(&home), &bare).unwrap();

        assert_eq!(fs::read_to_string(bare.join("plugins/cache/a/plugin.json")).unwrap(), "{}");
        assert!(fs::symlink_metadata(bare.join("plugins/all")).is_err());
        assert_eq!(copy(Some(&bare.join("nothing")), &home), Ok(()));
        assert_eq!(copy(None, &home), Ok(()));
    }
}
