//! The two approval requests of the time before threads. Every version still lists them, none was seen to send them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::{ItemId, ThreadId};
use serde::{Deserialize, Serialize};

use super::lenient;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyPatchApproval {
    #[serde(default, deserialize_with = "lenient::option")]
    pub conversation_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub call_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub file_changes: BTreeMap<String, LegacyFileChange>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub grant_root: Option<String>,
}

/// `add` and `delete` carry the content, `update` a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct LegacyFileChange {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub content: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub unified_diff: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub move_path: Option<String>,
}

impl LegacyPatchApproval {
    pub fn files(&self) -> Vec<FileDiff> {
        let diff = |(path, change): (&String, &LegacyFileChange)| FileDiff {
            path: path.clone(),
            change: match change.kind.as_str() {
                "add" => FileChangeKind::Add,
                "delete" => FileChangeKind::Delete,
                "update" => FileChangeKind::Update { moved_to: change.move_path.clone() },
                other => FileChangeKind::Other(other.to_owned()),
            },
            diff: change.unified_diff.clone().or(change.content.clone()).unwrap_or_default(),
        };
        self.file_changes.iter().map(diff).collect()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyCommandApproval {
    #[serde(default, deserialize_with = "lenient::option")]
    pub conversation_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub call_id: Option<ItemId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub approval_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub command: Vec<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub reason: Option<String>,
}

impl LegacyCommandApproval {
    /// The words as a shell would take them, so that a person sees where each ends.
    pub fn command_line(&self) -> String {
        let words: Vec<_> = self.command.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=+,@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

/// An answer to a legacy approval, as Codex spells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacyDecision {
    Approved,
    ApprovedForSession,
    /// Refused, in the spelling of Codex 0.142.5 and before.
    #[serde(rename = "denied")]
    DeniedWord,
    /// Refused, in the spelling of Codex 0.166.0 and later.
    Denied {
        rejection: String,
    },
    Abort,
}
