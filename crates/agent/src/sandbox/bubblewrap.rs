//! Files and network held by namespaces: what `bwrap` is told.

use std::collections::BTreeMap;
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
    // What is nearer to the file counts, so it comes later; what was made writable by its own name is meant.
    let mut mounts: BTreeMap<&Path, &str> = BTreeMap::new();
    let above = writable.iter().flat_map(|path| way_to(path, writable));
    // What may be written may also have been removed since it was looked for.
    mounts.extend(above.map(|path| (path, "--bind-try")));
    // This must be there: without it the command could make it.
    mounts.extend(read_only.iter().map(|path| (path.as_path(), "--ro-bind")));
    mounts.extend(writable.iter().map(|path| (path.as_path(), "--bind-try")));
    for (path, mount) in mounts {
        words.extend([mount.into(), path.into(), path.into()]);
    }
    if !network {
        words.push("--unshare-net".into());
    }
    words.push("--".into());
    words
}

/// All between a writable folder and the next writable one above. A mount stays where it is only if what is above it is one, too: else that
/// could be moved away, and another be put in its place.
fn way_to<'a>(path: &'a Path, writable: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    let is_writable = |above: &Path| writable.iter().any(|it| it == above);
    let is_below = path.ancestors().skip(1).any(is_writable);
    path.ancestors().skip(1).take_while(move |above| is_below && !is_writable(above))
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

#[cfg(test)]
mod tests {
    use super::words;
    use std::path::{Path, PathBuf};

    #[test]
    fn what_is_nearer_comes_later_and_what_is_above_cannot_be_moved() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        let writable = paths(&["/a/.git/x", "/a", "/a/b/c", "/d"]);
        let words = words(Path::new("/bwrap"), &writable, &paths(&["/a/.git", "/d/.git"]), true);
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        let mounts: Vec<_> =
            words[11..].chunks(3).map(|mount| (mount[0], mount[1..].first())).collect();
        let wanted = [
            ("--bind-try", Some(&"/a")),
            ("--ro-bind", Some(&"/a/.git")),
            ("--bind-try", Some(&"/a/.git/x")),
            ("--bind-try", Some(&"/a/b")),
            ("--bind-try", Some(&"/a/b/c")),
            ("--bind-try", Some(&"/d")),
            ("--ro-bind", Some(&"/d/.git")),
            ("--", None),
        ];
        assert_eq!(mounts, wanted);
    }
}
