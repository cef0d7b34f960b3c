//! What is kept with a conversation beside its messages.

use ostler_model::TaskId;
use ostler_model::usage::Tokens;
use serde::{Deserialize, Serialize};

use crate::codex_turn::SaidMeanwhile;
use crate::counters::Counters;
use crate::history::Compression;
use crate::runtime::Runtime;

/// Stored as JSON; new fields get a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConversationState {
    pub(crate) runtime: Runtime,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) counters: Counters,
    /// The user knows that reviews have no model to ask.
    pub(crate) told_of_missing_model: bool,
    pub(crate) compression: Option<Compression>,
    /// The task on whose thread Codex has this conversation.
    pub(crate) binding: Option<Binding>,
    /// Counts bindings, so that each has a key of its own.
    pub(crate) bindings: u64,
    /// While the turn was open that is not over.
    pub(crate) said: Vec<SaidMeanwhile>,
    pub(crate) usage: ConversationUsage,
    /// Of earlier versions; notes have a place of their own now.
    pub(crate) notes: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) task: TaskId,
    /// Where its thread works; of earlier versions it is not known.
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    /// Up to this message Codex knows the conversation.
    pub(crate) told_to: u64,
    /// What Codex was told about its user, its memory and its skills.
    pub(crate) context: String,
}

/// What a conversation has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationUsage {
    pub total: Tokens,
    /// Its input is how full the context is.
    pub last_call: Tokens,
    pub context_window: Option<u64>,
    pub api_calls: u64,
    pub turns: u64,
}
