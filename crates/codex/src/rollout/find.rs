//! Which file is the rollout of a thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ostler_model::ThreadId;

use super::RolloutError;

/// The folders of a Codex home that hold rollouts, and how deep: by year, month and day, and flat once archived.
const PLACES: [(&str, usize); 2] = [("sessions", 3), ("archived_sessions", 0)];

/// Finds the rollout of a thread by the id in its name. Sub-agents and reviews leave files of their own beside it, so
/// the newest file need not be the one that is wanted.
pub fn find(codex_home: &Path, thread: &ThreadId) -> Result<PathBuf, RolloutError> {
    let mut found = Vec::new();
    for (place, depth) in PLACES {
        collect(&codex_home.join(place), depth, thread, &mut found)?;
    }
    // A thread has one file; should there be two, the names begin with the time, and the later one goes on.
    found.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    let readable = found.iter().rev().find(|path| !is_compressed(path)).cloned();
    match (readable, found.pop()) {
        (Some(path), _) => Ok(path),
        (None, Some(path)) => Err(RolloutError::Compressed { path }),
        (None, None) => {
            Err(RolloutError::NotFound { thread: thread.clone(), home: codex_home.to_owned() })
        }
    }
}

pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn collect(
    folder: &Path,
    depth: usize,
    thread: &ThreadId,
    found: &mut Vec<PathBuf>,
) -> Result<(), RolloutError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // A home that was never used has no such folder; others may clear up while we look.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(RolloutError::io(folder, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| RolloutError::io(folder, error))?;
        let path = entry.path();
        if depth > 0 {
            if path.is_dir() {
                collect(&path, depth - 1, thread, found)?;
            }
        } else if entry.file_name().to_str().is_some_and(|name| is_of(name, thread)) {
            found.push(path);
        }
    }
    Ok(())
}

/// `rollout-<time>-<thread>.jsonl`, or the same compressed.
fn is_of(name: &str, thread: &ThreadId) -> bool {
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    let stem = stem.strip_suffix(".jsonl").and_then(|stem| stem.strip_prefix("rollout-"));
    let time = stem.and_then(|stem| stem.strip_suffix(thread.as_str()));
    // The time has a fixed form, and both may hold the same signs.
    let is_time = |time: &str| time.len() == "2026-05-01T10-00-00-".len() && time.ends_with('-');
    !thread.as_str().is_empty() && time.is_some_and(is_time)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::find;
    use crate::rollout::RolloutError;

    fn put(home: &Path, path: &str) {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_rollout_is_found_by_its_thread_and_not_by_its_age() {
        let home = tempfile::tempdir().unwrap();
        let day = "sessions/2026/05/01";
        let wanted = format!("{day}/rollout-2026-05-01T10-00-00-aaaa-1.jsonl");
        put(home.path(), &wanted);
        put(home.path(), &format!("{day}/rollout-2026-05-01T11-00-00-bbbb-1.jsonl"));
        put(home.path(), &format!("{day}/rollout-2026-05-01T11-00-00-xaaaa-1.jsonl"));
        put(home.path(), "archived_sessions/rollout-2026-04-01T11-00-00-cccc.jsonl");
        put(home.path(), &format!("{day}/rollout-2026-05-01T11-00-00-dddd.jsonl.zst"));

        assert_eq!(find(home.path(), &"aaaa-1".into()).unwrap(), home.path().join(wanted));
        assert!(find(home.path(), &"cccc".into()).is_ok());
        let compressed = find(home.path(), &"dddd".into()).unwrap_err();
        assert!(matches!(compressed, RolloutError::Compressed { .. }), "{compressed}");
        for none in ["1", "aaaa", ""] {
            let error = find(home.path(), &none.into()).unwrap_err();
            assert!(matches!(error, RolloutError::NotFound { .. }), "{error}");
        }
    }
}
