//! The first stage of a keeper: starts the second one and ends, so that the keeper is nobody's child.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::KeeperError;
use super::folder::KeeperFolder;
use super::log;

/// Starts `program keeper run --dir <folder>` with nothing of ours but the environment, and gives its pid.
///
/// The caller must end right after telling the pid: only then does the keeper lose its parent.
pub fn detach(program: &Path, folder: &KeeperFolder) -> Result<u32, KeeperError> {
    // Whoever started us may have left files open that the keeper, which lives for weeks, must not hold.
    close_fds::set_fds_cloexec(3, &[]);
    let path = folder.keeper_log();
    let words = log::open_private(&path).map_err(KeeperError::file("open", &path))?;
    let same_words = words.try_clone().map_err(KeeperError::file("open", &path))?;
    let child = Command::new(program)
        .args(run_arguments(folder))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(words)
        .stderr(same_words)
        .spawn()
        .map_err(KeeperError::file("start", program))?;
    Ok(child.id())
}

fn run_arguments(folder: &KeeperFolder) -> [OsString; 4] {
    let dir = folder.path().as_os_str().to_owned();
    ["keeper".into(), "run".into(), "--dir".into(), dir]
}
