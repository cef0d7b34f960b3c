//! A control group (v2) of its own for Codex's tree, where the system lets us have one.
//!
//! The kernel then knows the tree exactly, even what stripped its environment and lost its parents, and ends all of it
//! at once through `cgroup.kill`. The keeper itself stays outside: it enters the group only for the moment in which it
//! starts Codex, because a child is born into the group of its parent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::KeeperId;

const PREFIX: &str = "ostler-keeper-";

/// The group of one keeper, seen from inside the keeper.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    home: PathBuf,
}

impl ControlGroup {
    /// Creates the group below our own and steps into it; the words say why there is none.
    pub(super) fn enter(id: &KeeperId) -> Result<Self, String> {
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        // A later mount may hide an earlier one; only what can be reached counts.
        let home = own_group(&mounts, &groups)
            .into_iter()
            .find(|group| group.join("cgroup.procs").exists())
            .ok_or("no version 2 hierarchy is mounted")?;
        let path = home.join(format!("{PREFIX}{id}"));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self { path, home };
        match group.try_out() {
            Ok(()) => Ok(group),
            Err(error) => {
                let reason = format!("{}: {error}", group.path.display());
                remove(&group.path);
                Err(reason)
            }
        }
    }

    /// Steps back out, so that the keeper survives the end of the group.
    pub(super) fn leave(&self) -> io::Result<()> {
        move_self_to(&self.home)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// In, out and in again: who cannot come back must not use the group at all.
    fn try_out(&self) -> io::Result<()> {
        // Linux before 5.14 has no `cgroup.kill`.
        fs::metadata(self.path.join("cgroup.kill"))?;
        move_self_to(&self.path)?;
        self.leave()?;
        move_self_to(&self.path)
    }
}

/// Whether `path` can be the group of keeper `id`: what a record says is checked before anything is ended by it.
pub(super) fn belongs_to(path: &Path, id: &KeeperId) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix(PREFIX)) == Some(id.as_str())
}

/// The keeper whose group, or whose scope, a process is in, by its `/proc/PID/cgroup`.
pub(super) fn named_in(groups: &str) -> Option<KeeperId> {
    let mut names = groups.lines().flat_map(|line| line.split('/'));
    names.find_map(|name| {
        let name = name.strip_prefix(PREFIX)?;
        KeeperId::parse(name.strip_suffix(".scope").unwrap_or(name))
    })
}

/// Ends every process in the group and below it. A group that is gone has none.
pub(super) fn kill(path: &Path) -> io::Result<()> {
    match fs::write(path.join("cgroup.kill"), "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The processes in the group and below it that have a pid here.
///
/// The kernel shows a process of a pid namespace that we cannot see as `0`, and 0 is also the parent of whatever came
/// into our namespace from outside: taken for a pid, it would make strangers members.
pub(super) fn members(path: &Path) -> Vec<i32> {
    let text = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    let mut pids: Vec<i32> =
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect();
    for below in groups_below(path) {
        pids.extend(members(&below));
    }
    pids
}

/// Removes the group and the groups below it; one that still has processes stays.
pub(super) fn remove(path: &Path) {
    for below in groups_below(path) {
        remove(&below);
    }
    // An empty group that cannot be removed costs nothing and ends with the boot.
    drop(fs::remove_dir(path));
}

fn groups_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let is_group = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(is_group).collect()
}

/// `0` means whoever writes it.
fn move_self_to(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// Where our own version 2 group may be found in the file system.
fn own_group(mountinfo: &str, cgroup: &str) -> Vec<PathBuf> {
    let Some(own) = cgroup.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let below_mount = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = place.split(' ').skip(3);
        let (root, mount_point) = (fields.next()?, fields.next()?);
        // A mount may show only a part of the hierarchy; ours must be in it.
        let below = Path::new(own).strip_prefix(unescape(root)).ok()?;
        Some(PathBuf::from(unescape(mount_point)).join(below))
    };
    mountinfo.lines().filter_map(below_mount).collect()
}

/// `mountinfo` writes space, tab, newline and backslash as three octal digits.
fn unescape(field: &str) -> String {
    let known = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    known.iter().fold(field.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_is_found_below_the_version_2_mount() {
        let hybrid = "29 23 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                      33 23 0:30 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        let part = "29 23 0:26 /user.slice /mnt/with\\040space rw - cgroup2 none rw\n";
        let version_1 = "29 23 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
        let own = "4:memory:/elsewhere\n0::/user.slice/user-7.slice\n";
        let found = [
            own_group(hybrid, "0::/\n"),
            own_group(hybrid, own),
            own_group(part, own),
            own_group(part, "0::/system.slice\n"),
            own_group(version_1, own),
            own_group(hybrid, "4:memory:/elsewhere\n"),
        ];
        let expected: [&[&str]; 6] = [
            &["/sys/fs/cgroup/unified"],
            &["/sys/fs/cgroup/unified/user.slice/user-7.slice"],
            &["/mnt/with space/user-7.slice"],
            &[],
            &[],
            &[],
        ];
        assert_eq!(
            found,
            expected.map(|paths| paths.iter().map(PathBuf::from).collect::<Vec<_>>())
        );
    }

    #[test]
    fn a_process_that_has_no_pid_here_is_no_member() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        fs::create_dir(&below).unwrap();
        fs::write(directory.path().join("cgroup.procs"), "0\n12\n0\n").unwrap();
        fs::write(below.join("cgroup.procs"), "0\n-1\n13\n").unwrap();
        assert_eq!(members(directory.path()), [12, 13]);
    }

    #[test]
    fn a_group_is_only_ended_under_its_own_name() {
        let id = KeeperId::parse("0123abcd").unwrap();
        let paths = ["/sys/fs/cgroup/ostler-keeper-0123abcd", "/sys/fs/cgroup", "/"];
        let verdicts = paths.map(|path| belongs_to(Path::new(path), &id));
        assert_eq!(verdicts, [true, false, false]);
    }
}
