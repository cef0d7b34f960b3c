//! What was recorded of a task's folder: a small file beside the objects. It goes with the task.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ostler_model::{TaskId, TurnId};
use serde::{Deserialize, Serialize};

use super::OnDisk;

const FILE: &str = "states.json";

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    pub(super) place: Option<Place>,
    /// Why no state can be taken here.
    #[serde(default)]
    pub(super) hopeless: Option<String>,
    /// Before the first turn.
    #[serde(default)]
    pub(super) begin: Option<State>,
    /// Before the turn that has not ended.
    #[serde(default)]
    pub(super) before: Option<State>,
    /// Those whose end was seen, in order.
    #[serde(default)]
    pub(super) turns: Vec<TurnRecord>,
}

/// Where states are taken, found out once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    /// The top of the checkout that the task's folder is in, or that folder.
    pub(super) top: PathBuf,
    /// Settings of the user's that say how files are read; none of them names a program.
    pub(super) settings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum State {
    Tree {
        tree: String,
        /// Repositories inside, which are not looked into.
        nested: BTreeSet<String>,
        /// Files that hold a secret, or have one in their name, which is not in this name. They are not in the tree.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        withheld: BTreeSet<String>,
    },
    Unknown {
        why: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TurnRecord {
    pub(super) turn: TurnId,
    pub(super) before: State,
    pub(super) after: State,
    /// The daemon was not there all the while: the turn may have ended before the state was taken.
    pub(super) is_late: bool,
    /// Tasks that worked in the same place meanwhile.
    pub(super) others: BTreeSet<TaskId>,
}

impl State {
    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }
}

impl Record {
    pub(super) fn top(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.top.as_path())
    }
}

impl OnDisk {
    /// One that cannot be read is one that says nothing: then what it would have said is unknown.
    pub(super) async fn read(&self, task: &TaskId) -> Record {
        let text = tokio::fs::read(self.folder_of(task).join(FILE)).await.unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) async fn write(&self, task: &TaskId, record: &Record) {
        let folder = self.folder_of(task);
        let write = async {
            tokio::fs::create_dir_all(&folder).await?;
            let (file, draft) = (folder.join(FILE), folder.join("states.draft"));
            tokio::fs::write(&draft, serde_json::to_vec(record)?).await?;
            tokio::fs::rename(&draft, &file).await
        };
        if let Err(error) = write.await {
            tracing::warn!(%error, %task, "the state of its folder is not recorded");
        }
    }
}
