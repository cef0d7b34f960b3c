//! The keepers below a root folder, each judged by what really runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::KeeperError;
use super::folder::{KeeperFolder, KeeperId};
use super::process::{Here, Process, ProcessTable};
use super::record::{Ended, Record};
use super::tree::{self, Alive};

/// One keeper folder and the truth about it at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub folder: KeeperFolder,
    pub record: Option<Record>,
    pub condition: Condition,
    /// Codex and everything below it that is alive, without the keeper.
    pub processes: Vec<Process>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The starter is at work and the keeper has not reported yet.
    Starting,
    /// The keeper is alive; its record's state says more.
    Running,
    /// Codex, or something that it left behind, runs without its keeper.
    KeeperDead,
    Ended(Ended),
    /// Nothing is left and nobody saw how it ended, e.g. the machine was switched off.
    Gone,
    /// The record cannot be read. What runs is found by its mark.
    Broken {
        reason: String,
    },
    /// It was started in another pid namespace, e.g. in a container, and only there its processes can be seen. Nothing
    /// of it is ended or removed from here.
    Elsewhere,
}

impl Found {
    pub fn id(&self) -> &KeeperId {
        self.folder.id()
    }
}

/// Every keeper folder below `root`, oldest first. A root that is not there has none.
pub fn list(root: &Path) -> Result<Vec<Found>, KeeperError> {
    let folders = folders(root).map_err(KeeperError::file("read", root))?;
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let judged = folders.into_iter().map(|folder| judge(folder, &table, &here));
    let mut found: Vec<Found> = judged.collect();
    found.sort_by_key(|keeper| {
        let started_at = keeper.record.as_ref().map(|record| record.started_at);
        (started_at, keeper.id().clone())
    });
    Ok(found)
}

/// The one keeper whose id starts with `prefix`.
pub fn find(root: &Path, prefix: &str) -> Result<Found, KeeperError> {
    let mut matching = list(root)?;
    matching.retain(|keeper| keeper.id().as_str().starts_with(prefix));
    let wanted = prefix.to_owned();
    match (matching.pop(), matching.is_empty()) {
        (Some(keeper), true) if !prefix.is_empty() => Ok(keeper),
        (None, _) => Err(KeeperError::NotFound { wanted }),
        (Some(last), _) => {
            let rest = matching.iter().map(|keeper| keeper.id().clone());
            let matches = rest.chain([last.id().clone()]).collect();
            Err(KeeperError::Ambiguous { wanted, matches })
        }
    }
}

pub(super) fn judge(folder: KeeperFolder, table: &ProcessTable, here: &Here) -> Found {
    let (record, broken) = match Record::read(&folder) {
        Ok(record) if record.id == *folder.id() => (Some(record), None),
        Ok(record) => (None, Some(format!("it is the record of keeper {}", record.id))),
        // A starter that died before its first word leaves a folder without a record.
        Err(KeeperError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            (None, None)
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let processes = tree::members(folder.id(), record.as_ref(), table, here);
    let alive = record.as_ref().map(|record| Alive::of(record, table, here)).unwrap_or_default();
    let elsewhere = record.as_ref().is_some_and(|record| record.is_elsewhere(here));
    let never_kept = record.as_ref().is_some_and(|record| record.keeper.is_none());
    let ended = record.as_ref().and_then(|record| record.ended.clone());
    let condition = match (broken, ended) {
        (Some(reason), _) => Condition::Broken { reason },
        _ if elsewhere => Condition::Elsewhere,
        _ if alive.keeper.is_some() => Condition::Running,
        _ if never_kept && alive.starter.is_some() => Condition::Starting,
        _ if !processes.is_empty() => Condition::KeeperDead,
        (None, Some(ended)) => Condition::Ended(ended),
        (None, None) => Condition::Gone,
    };
    Found { folder, record, condition, processes }
}

pub(super) fn folders(root: &Path) -> io::Result<Vec<KeeperFolder>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let folders = paths?.into_iter().filter(|path| path.is_dir());
    Ok(folders.filter_map(|path| KeeperFolder::at(&path)).collect())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::process::ProcessIdentity;
    use super::super::record::{Exit, HowEnded, SCHEMA, State};
    use super::*;

    struct Case {
        keeper: Option<ProcessIdentity>,
        codex: Option<ProcessIdentity>,
        starter: ProcessIdentity,
        boot_id: &'static str,
        pid_namespace: Option<u64>,
        ended: Option<Ended>,
    }

    fn here() -> Here {
        Here { boot_id: "now".to_owned(), pid_namespace: 1 }
    }

    /// Judges a record by this test's own process, which is surely alive, and by one that surely is not.
    #[test]
    fn the_condition_follows_from_who_is_alive() {
        let own = i32::try_from(std::process::id()).unwrap();
        let alive = ProcessIdentity::of(own).unwrap();
        // The right pid with another start time: somebody else has it now.
        let dead = ProcessIdentity { start_ticks: alive.start_ticks - 1, ..alive };
        let ended = Ended {
            at: Timestamp::UNIX_EPOCH,
            exit: Exit::Signal(9),
            how: HowEnded::ByItself,
            leftovers: 0,
        };
        let case = |keeper, codex, starter, boot_id, ended| Case {
            keeper,
            codex,
            starter,
            boot_id,
            pid_namespace: Some(1),
            ended,
        };
        let elsewhere = |case: Case| Case { pid_namespace: Some(2), ..case };
        let unclear = Condition::Elsewhere;
        let cases = [
            (case(None, None, alive, "now", None), Condition::Starting),
            (case(None, None, dead, "now", None), Condition::Gone),
            (case(Some(alive), Some(dead), dead, "now", None), Condition::Running),
            (case(Some(dead), Some(alive), alive, "now", None), Condition::KeeperDead),
            (case(Some(dead), Some(dead), alive, "now", None), Condition::Gone),
            (case(Some(alive), Some(alive), alive, "before", None), Condition::Gone),
            (
                case(Some(dead), Some(dead), dead, "now", Some(ended.clone())),
                Condition::Ended(ended),
            ),
            // The same numbers mean others there, and what looks dead from here need not be.
            (elsewhere(case(Some(alive), Some(alive), alive, "now", None)), unclear.clone()),
            (elsewhere(case(Some(dead), Some(dead), dead, "now", None)), unclear.clone()),
            (elsewhere(case(None, None, dead, "now", None)), unclear),
            (elsewhere(case(Some(dead), Some(dead), dead, "before", None)), Condition::Gone),
            (
                Case { pid_namespace: None, ..case(Some(alive), None, dead, "now", None) },
                Condition::Running,
            ),
        ];
        let table = ProcessTable::read().unwrap();
        for (case, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("0123abcd");
            fs::create_dir(&path).unwrap();
            let folder = KeeperFolder::at(&path).unwrap();
            let record = Record {
                schema: SCHEMA,
                id: folder.id().clone(),
                state: State::Running,
                boot_id: case.boot_id.to_owned(),
                pid_namespace: case.pid_namespace,
                started_at: Timestamp::UNIX_EPOCH,
                started_by: case.starter,
                codex_path: "/codex".into(),
                codex_version: None,
                codex_home: None,
                purpose: None,
                extra_arguments: Vec::new(),
                withheld_variables: Vec::new(),
                given_variables: Vec::new(),
                open_files: None,
                keeper: case.keeper,
                codex: case.codex,
                control_group: None,
                scope: None,
                ended: case.ended,
                notes: Vec::new(),
            };
            record.write(&folder).unwrap();
            let found = judge(folder, &table, &here());
            assert_eq!(found.condition, expected, "{record:?}");
        }
    }

    #[test]
    fn a_record_in_the_wrong_folder_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0123abcd");
        fs::create_dir(&path).unwrap();
        let text = r#"{"schema": 1, "id": "ffffffff", "state": "running", "boot_id": "now",
            "started_at": "2026-11-15T20:00:00Z", "started_by": {"pid": 1, "start_ticks": 1},
            "codex_path": "/codex", "keeper": {"pid": 1, "start_ticks": 1}}"#;
        fs::write(path.join("record.json"), text).unwrap();
        let found = judge(KeeperFolder::at(&path).unwrap(), &ProcessTable::default(), &here());
        let reason = "it is the record of keeper ffffffff".to_owned();
        assert_eq!((found.record, found.condition), (None, Condition::Broken { reason }));
    }
}
