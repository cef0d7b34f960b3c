//! Files and network held by namespaces: what `bwrap` is told.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// It takes some milliseconds; on a machine that is busy, more.
const PATIENCE: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(2);

/// `program` with the arguments that make the walls; what runs inside comes behind them.
pub(super) fn words(
    program: &Path,
    writable: &[PathBuf],
    read_only: &[PathBuf],
    network: bool,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![program.into()];
    let fixed =
        "--die-with-parent --unshare-pid --unshare-ipc --ro-bind / / --dev /dev --proc /proc";
    words.extend(fixed.split(' ').map(OsString::from));
    for path in writable {
        // It may have been removed since it was looked for.
        words.extend(["--bind-try".into(), path.into(), path.into()]);
    }
    for path in read_only {
        words.extend(["--ro-bind-try".into(), path.into(), path.into()]);
    }
    if !network {
        words.push("--unshare-net".into());
    }
    words.push("--".into());
    words
}

/// Whether it can make namespaces here: many systems and containers forbid it.
pub(super) fn works(program: &Path) -> bool {
    let words = words(program, &[], &[], false);
    let Some((program, arguments)) = words.split_first() else { return false };
    let started = Command::new(program)
        .args(arguments)
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => break,
        }
    }
    // It may have ended in this moment; it is of no use in any case.
    child.kill().ok();
    child.wait().ok();
    false
}
