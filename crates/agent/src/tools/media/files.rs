//! Where pictures and speech are put that nobody named a place for.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Pictures of pages are looked at once. What was made for the user stays until they remove it.
const THROWN_AWAY: &str = "page";
const MOST_THROWN_AWAY: usize = 50;

/// A folder of ours.
#[derive(Debug, Clone)]
pub struct MediaFolder {
    folder: PathBuf,
}

impl MediaFolder {
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Gives the path of the new file.
    pub(crate) async fn save(
        &self,
        what: &'static str,
        extension: &'static str,
        bytes: Vec<u8>,
    ) -> Result<PathBuf, String> {
        let folder = self.folder.clone();
        let saving = tokio::task::spawn_blocking(move || save(&folder, what, extension, &bytes));
        let saved = saving.await.map_err(|error| error.to_string())?;
        saved.map_err(|error| {
            format!("nothing could be written to {}: {error}", self.folder.display())
        })
    }
}

fn save(folder: &Path, what: &str, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Names of this kind are in the order in which they were made.
    let path = folder.join(format!("{what}-{}.{extension}", uuid::Uuid::now_v7()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(bytes)?;
    if what == THROWN_AWAY {
        thin_out(folder)?;
    }
    Ok(path)
}

fn thin_out(folder: &Path) -> io::Result<()> {
    let entries = folder.read_dir()?.flatten().map(|entry| entry.path());
    let is_old = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
            name.strip_prefix(THROWN_AWAY).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    let mut pages: Vec<PathBuf> = entries.filter(is_old).collect();
    pages.sort();
    let over = pages.len().saturating_sub(MOST_THROWN_AWAY);
    for path in pages.iter().take(over) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::MediaFolder;

    #[tokio::test]
    async fn pictures_of_pages_do_not_pile_up_and_what_was_made_stays() {
        let folder = tempfile::tempdir().unwrap();
        let media = MediaFolder::at(folder.path().join("media"));
        let made = media.save("image", "png", vec![1]).await.unwrap();
        let first = media.save("page", "png", vec![2]).await.unwrap();
        for _ in 0..50 {
            media.save("page", "png", vec![3]).await.unwrap();
        }
        assert!(made.exists() && !first.exists());
        assert_eq!(folder.path().join("media").read_dir().unwrap().count(), 51);
    }
}
