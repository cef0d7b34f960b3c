//! `record.json`: what a keeper is, and how it ended.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::folder::{KeeperFolder, KeeperId};
use super::process::{Here, ProcessIdentity};

/// Grows only when an older reader would misunderstand a newer record; new optional fields do not count.
pub const SCHEMA: u32 = 1;

/// Written first by the starter, then only by the keeper; by [`stop`](super::stop()) once the keeper is dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    pub id: KeeperId,
    pub state: State,
    /// Pids mean nothing after a reboot, even if the start times happened to agree.
    pub boot_id: String,
    /// Nor do they in another pid namespace. Records of the first versions have none and count as ours.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    pub started_at: Timestamp,
    pub started_by: ProcessIdentity,
    pub codex_path: PathBuf,
    #[serde(default)]
    pub codex_version: Option<String>,
    /// What Codex finds in `CODEX_HOME`; absent: its own default below `HOME`.
    #[serde(default)]
    pub codex_home: Option<PathBuf>,
    /// What it was started for, in a word of the starter's, so that the starter knows its own again.
    #[serde(default)]
    pub purpose: Option<String>,
    /// Arguments after `codex app-server`, besides `--listen`. Never a secret: every user can read an argv.
    #[serde(default)]
    pub extra_arguments: Vec<String>,
    /// Names of the starter's variables that Codex does not get.
    #[serde(default)]
    pub withheld_variables: Vec<String>,
    /// Names of secrets that it got beside the starter's variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_variables: Vec<String>,
    /// How many files Codex may have open, if that was asked for.
    #[serde(default)]
    pub open_files: Option<u64>,
    #[serde(default)]
    pub keeper: Option<ProcessIdentity>,
    #[serde(default)]
    pub codex: Option<ProcessIdentity>,
    /// The control group that holds the tree without the keeper.
    #[serde(default)]
    pub control_group: Option<PathBuf>,
    /// The scope unit of the user's service manager that the keeper lives in.
    #[serde(default)]
    pub scope: Option<String>,
    #[serde(default)]
    pub ended: Option<Ended>,
    /// What did not go as wished, in words for people.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is a folder; Codex does not run yet.
    Starting,
    Running,
    /// Codex was asked to end and finishes its running turns.
    Draining,
    /// Codex has ended; the keeper ends what it left behind.
    Ending,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub at: Timestamp,
    pub exit: Exit,
    pub how: HowEnded,
    /// How many processes Codex left behind and the keeper ended.
    #[serde(default)]
    pub leftovers: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// Nobody was there to see it.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HowEnded {
    /// Nobody asked for it.
    ByItself,
    /// Asked once; the running turns were finished.
    Drained,
    /// Asked to end at once.
    Stopped,
    /// The binary could not be started at all.
    NeverStarted,
    /// The keeper was dead, and somebody ended the tree in its place.
    WithoutKeeper,
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::Unknown => formatter.write_str("exit status unknown"),
        }
    }
}

impl Record {
    pub fn read(folder: &KeeperFolder) -> Result<Self, KeeperError> {
        let path = folder.record();
        let text = fs::read(&path).map_err(KeeperError::file("read", &path))?;
        Self::from_json(&text).map_err(|reason| KeeperError::BrokenRecord { path, reason })
    }

    /// Whether the pids in it mean something here.
    pub(super) fn is_from(&self, here: &Here) -> bool {
        self.boot_id == here.boot_id
            && self.pid_namespace.is_none_or(|theirs| theirs == here.pid_namespace)
    }

    /// Whether its processes may live where we cannot see or end them: in another container on this machine.
    pub(super) fn is_elsewhere(&self, here: &Here) -> bool {
        // After a reboot nothing lives, and a keeper that has said its last word does not either.
        self.boot_id == here.boot_id && !self.is_from(here) && self.state != State::Ended
    }

    fn from_json(text: &[u8]) -> Result<Self, String> {
        // The schema is looked at alone first: of a newer record nothing else may fit.
        let SchemaOnly { schema } =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if schema > SCHEMA {
            return Err(format!(
                "it has schema {schema} and this ostler knows {SCHEMA}; use a newer ostler"
            ));
        }
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// A reader sees the old record or the new one, never half of one, whatever dies in between.
    pub(super) fn write(&self, folder: &KeeperFolder) -> Result<(), KeeperError> {
        let path = folder.record();
        let draft = folder.path().join("record.json.draft");
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| KeeperError::file("write", &path)(error.into()))?;
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        written.map_err(KeeperError::file("write", &draft))?;
        fs::rename(&draft, &path)
            .and_then(|()| File::open(folder.path())?.sync_all())
            .map_err(KeeperError::file("write", &path))
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDEST: &str = r#"{
        "schema": 1,
        "id": "0123abcd",
        "state": "running",
        "boot_id": "b",
        "started_at": "2026-11-15T20:00:00Z",
        "started_by": {"pid": 7, "start_ticks": 70},
        "codex_path": "/opt/codex"
    }"#;

    fn oldest() -> Record {
        Record {
            schema: 1,
            id: KeeperId::parse("0123abcd").unwrap(),
            state: State::Running,
            boot_id: "b".to_owned(),
            pid_namespace: None,
            started_at: "2026-11-15T20:00:00Z".parse().unwrap(),
            started_by: ProcessIdentity { pid: 7, start_ticks: 70 },
            codex_path: "/opt/codex".into(),
            codex_version: None,
            codex_home: None,
            purpose: None,
            extra_arguments: Vec::new(),
            withheld_variables: Vec::new(),
            given_variables: Vec::new(),
            open_files: None,
            keeper: None,
            codex: None,
            control_group: None,
            scope: None,
            ended: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_new_reader_takes_an_old_record_and_an_old_reader_a_new_field() {
        assert_eq!(Record::from_json(OLDEST.as_bytes()), Ok(oldest()));
        let newer = OLDEST.replace("\"id\"", "\"invented_later\": {\"a\": [1]}, \"id\"");
        assert_eq!(Record::from_json(newer.as_bytes()), Ok(oldest()));
    }

    #[test]
    fn a_newer_schema_is_refused_by_its_number() {
        let reason = Record::from_json(b"{\"schema\": 2, \"id\": [\"unlike ours\"]}").unwrap_err();
        assert_eq!(reason, "it has schema 2 and this ostler knows 1; use a newer ostler");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0123abcd");
        fs::create_dir(&path).unwrap();
        let folder = KeeperFolder::at(&path).unwrap();
        let record = Record {
            state: State::Ended,
            ended: Some(Ended {
                at: "2026-11-15T21:00:00Z".parse().unwrap(),
                exit: Exit::Signal(9),
                how: HowEnded::ByItself,
                leftovers: 2,
            }),
            ..oldest()
        };
        record.write(&folder).unwrap();
        assert_eq!(Record::read(&folder).unwrap(), record);
        let names: Vec<_> =
            fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["record.json"]);
    }
}
