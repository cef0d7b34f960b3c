//! What a process runs below: a keeper of ours, or any Codex. Whoever asked cannot answer, so what cannot be seen is said.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::MARK;
use super::folder::KeeperId;
use super::group;
use super::list::folders;
use super::process::{Here, Process, ProcessIdentity, read_any};
use super::record::Record;

/// Variables that Codex sets for the commands that it runs, in a sandbox or not (0.130.0 to 0.166.0).
const CODEX_MARKS: [&str; 3] =
    ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"];

/// A process that loses its parents while we look moves to another one; one that always does so is not looked at for ever.
const TRIES: usize = 10;

/// No shell is nested this deep; a chain that is longer goes in circles, which the kernel does not let it.
const LONGEST_CHAIN: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Above {
    /// Neither a keeper nor a Codex.
    Nothing,
    Keeper(KeeperId),
    /// A Codex that may be none of ours; the variable shows it.
    Codex {
        mark: &'static str,
    },
    /// It cannot be looked at.
    Unclear {
        why: String,
    },
}

/// What `pid` runs below: by ancestry, by the marks that it or an ancestor carries, and by its control group.
///
/// Ancestry alone is not enough: what outlives a dead keeper belongs to init. A mark alone is not enough either: a command
/// may clear its environment. The group is not there on every system. Who cleared its environment, lost its keeper and has no
/// group is not found.
pub fn above(root: &Path, pid: i32) -> Above {
    look(root, pid).unwrap_or_else(|why| Above::Unclear { why })
}

impl fmt::Display for Above {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => formatter.write_str("runs below nothing of ours"),
            Self::Keeper(id) => write!(formatter, "runs below keeper {id}"),
            Self::Codex { mark } => write!(formatter, "runs below a Codex ({mark} is set)"),
            Self::Unclear { why } => write!(formatter, "cannot be looked at: {why}"),
        }
    }
}

fn look(root: &Path, pid: i32) -> Result<Above, String> {
    let text = |error: std::io::Error| error.to_string();
    let here = Here::look().map_err(text)?;
    let namespace = fs::metadata(format!("/proc/{pid}/ns/pid")).map_err(text)?;
    if namespace.ino() != here.pid_namespace {
        return Err("it lives in a pid namespace of its own".to_owned());
    }
    // An ancestor may belong to another user, as a login does, and need not be readable. The process itself must.
    fs::read(format!("/proc/{pid}/environ")).map_err(text)?;
    let ancestry = ancestry(pid)?;
    if let Some(found) = ancestry.iter().find_map(marked) {
        return Ok(found);
    }
    let line: BTreeSet<ProcessIdentity> = ancestry.iter().map(|process| process.identity).collect();
    let folders = folders(root).map_err(text)?;
    let records = folders.iter().filter_map(|folder| Record::read(folder).ok());
    let mut own = records.filter(|record| record.is_from(&here));
    let keeper = own.find(|record| {
        let mut family = [record.keeper, record.codex].into_iter().flatten();
        family.any(|identity| line.contains(&identity))
    });
    Ok(keeper.map_or(Above::Nothing, |record| Above::Keeper(record.id)))
}

/// What the process itself shows: its environment as far as it can be read, and its control group.
fn marked(process: &Process) -> Option<Above> {
    let pid = process.identity.pid;
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    // The pid may have changed hands between the looks; then the chain above it has changed, too, and is of no use.
    let keeper =
        value(&environment, MARK).and_then(KeeperId::parse).or_else(|| group::named_in(&groups));
    let mark = || CODEX_MARKS.into_iter().find(|mark| value(&environment, mark).is_some());
    keeper.map(Above::Keeper).or_else(|| mark().map(|mark| Above::Codex { mark }))
}

/// A variable that is set to something.
fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok().filter(|value| !value.is_empty())
}

/// `pid` itself, its parent, and so on up to the first process.
fn ancestry(pid: i32) -> Result<Vec<Process>, String> {
    for _ in 0..TRIES {
        let Some(process) = read_any(pid) else { return Err("it has ended".to_owned()) };
        if let Some(found) = climb(process) {
            return Ok(found);
        }
    }
    Err("its parents change all the time".to_owned())
}

/// None if the chain changed while it was read.
///
/// A process that has ended counts: one whose first thread has ended stays the parent of what its other threads start. A
/// parent that cannot be seen although it is there ends the chain: where users are hidden from each other (`hidepid`), a
/// login's first processes are.
fn climb(process: Process) -> Option<Vec<Process>> {
    let mut found = vec![process];
    while found.len() < LONGEST_CHAIN {
        let child = found.last()?.clone();
        if child.parent == 0 {
            break;
        }
        let parent = read_any(child.parent);
        let now = read_any(child.identity.pid)?;
        if (now.identity, now.parent) != (child.identity, child.parent) {
            return None;
        }
        match parent {
            Some(parent) => found.push(parent),
            None => break,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeping(variables: &[(&str, &str)]) -> std::process::Child {
        let mut child = Command::new("sh")
            .args(["-c", "echo; exec sleep 1000"])
            .env_clear()
            .envs(variables.iter().copied())
            .env("PATH", "/usr/bin:/bin")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It has its own environment once it speaks.
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        child
    }

    #[test]
    fn marks_are_seen_and_empty_ones_are_none() {
        let root = tempfile::tempdir().unwrap();
        let keeper = Above::Keeper(KeeperId::parse("0123abcd").unwrap());
        let cases: [(&[_], _); 5] = [
            (&[], Above::Nothing),
            (&[("CODEX_SANDBOX", "")], Above::Nothing),
            (&[("CODEX_SANDBOX", "seatbelt")], Above::Codex { mark: "CODEX_SANDBOX" }),
            (&[("CODEX_THREAD_ID", "x")], Above::Codex { mark: "CODEX_THREAD_ID" }),
            (&[("CODEX_SANDBOX", "x"), (MARK, "0123abcd")], keeper),
        ];
        for (variables, expected) in cases {
            let mut child = sleeping(variables);
            let found = above(root.path(), i32::try_from(child.id()).unwrap());
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(found, expected, "{variables:?}");
        }
    }

    #[test]
    fn who_has_ended_or_is_hidden_is_not_taken_for_a_person() {
        let root = tempfile::tempdir().unwrap();
        let mut child = sleeping(&[]);
        let pid = i32::try_from(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let found = above(root.path(), pid);
        assert!(matches!(found, Above::Unclear { .. }), "{found:?}");
    }
}
