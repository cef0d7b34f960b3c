//! Sizes and SHA-256 sums of the files in a folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::manifest::FileRecord;

/// Every regular file below a folder, by its path relative to it.
pub(crate) fn record_files(folder: &Path) -> io::Result<BTreeMap<String, FileRecord>> {
    let mut records = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current)? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                records.insert(name.to_string_lossy().into_owned(), record_file(&path)?);
            }
        }
    }
    Ok(records)
}

pub(crate) fn record_file(path: &Path) -> io::Result<FileRecord> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut size_bytes = 0;
    let mut chunk = vec![0; 256 * 1024];
    loop {
        let count = file.read(&mut chunk)?;
        let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        hash.update(bytes);
        size_bytes += bytes.len() as u64;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(FileRecord { size_bytes, sha256 })
}

/// Forces every file and folder below a folder, and the folder itself, to disk.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}

/// The bytes of all files below a folder. Files may come and go while we look; those count as nothing.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) | Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recorded_with_the_sums_that_sha256sum_prints() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/codex"), "abc").unwrap();
        fs::write(folder.path().join("empty"), "").unwrap();
        let record =
            |size_bytes, sha256: &str| FileRecord { size_bytes, sha256: sha256.to_owned() };
        assert_eq!(
            record_files(folder.path()).unwrap(),
            BTreeMap::from([
                (
                    "bin/codex".to_owned(),
                    record(3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
                ),
                (
                    "empty".to_owned(),
                    record(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
                ),
            ])
        );
        assert_eq!(bytes_below(folder.path()), 3);
        sync_tree(folder.path()).unwrap();
    }
}
