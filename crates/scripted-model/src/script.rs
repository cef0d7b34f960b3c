//! A script as plain data. `file.rs` reads it from TOML, `check.rs` says what is wrong with it.

mod check;
mod file;

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

pub(crate) use check::check;

/// What the model will say, and to whom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// When one user message contains several conversations' texts, the first in this list is meant.
    pub conversations: Vec<Conversation>,
    /// Plays whenever a request finds no answer of its own.
    pub fallback: Option<Answer>,
    /// For every answer that names no pace.
    pub pace: Pace,
}

/// The answers that follow one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The text that a user message must contain.
    pub prompt: String,
    /// One per request, in order; Codex asks again after every tool call and every retry.
    pub answers: Vec<Answer>,
}

/// One response of the model: reasoning first, then text, then tool calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub reasoning: Option<String>,
    pub text: Option<String>,
    /// Instead of `text`: this many deltas of generated, numbered text.
    pub deltas: u64,
    /// Size of a delta; 0 cuts `text` at its words and makes generated deltas 9 bytes long.
    pub delta_bytes: usize,
    pub phase: Option<Phase>,
    /// Several calls in one answer are what a model does when it calls tools in parallel.
    pub calls: Vec<Call>,
    /// Instead of all the above: the data of each server-sent event, verbatim.
    pub events: Vec<String>,
    pub usage: Usage,
    pub pace: Option<Pace>,
    /// Extra response headers, for example Codex's rate limits.
    pub headers: Vec<(String, String)>,
    pub fault: Option<Fault>,
    pub plays: Plays,
}

/// What a message is, in the words of the Responses API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Commentary,
    FinalAnswer,
}

/// How many requests one answer serves before the next one's turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Plays {
    #[default]
    Once,
    Times(NonZeroU32),
    Forever,
    /// Until a tool's result or an answer of the model's own in the history has this text: like a model that looks what has
    /// been done, whatever was cut off in between.
    Until(String),
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: String,
    /// Set for tools of MCP servers, for example `mcp__tiny`.
    pub namespace: Option<String>,
    /// Without one, an id is derived from the request: the same in every run, never twice in a thread.
    pub id: Option<String>,
    pub payload: Payload,
}

/// What a tool is called with; it also decides between a function call and a custom tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A function call's arguments.
    Arguments(Value),
    /// A function call's arguments as raw text, so that a script can send broken JSON.
    ArgumentsText(String),
    /// A custom tool's free text, for example a patch.
    Input(String),
}

/// Token counts of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    pub input: u64,
    /// How many of `input` came from the prompt cache.
    pub cached: u64,
    pub output: u64,
    /// How many of `output` were reasoning.
    pub reasoning: u64,
}

/// When things are sent. All zero is as fast as the connection takes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    pub before_headers_ms: u64,
    pub before_first_delta_ms: u64,
    pub between_deltas_ms: u64,
    /// During any wait after the headers, a sign of life is sent this often; 0 sends none.
    pub keep_alive_ms: u64,
    pub keep_alive: KeepAlive,
}

/// What a sign of life looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepAlive {
    /// A comment line, which clients must skip.
    #[default]
    Comment,
    /// An event of the type `ping`, which clients do not know.
    Ping,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Not TOML, or a field that the format does not have.
    #[error("script line {line}, column {column}: {message}")]
    Unreadable { line: usize, column: usize, message: String },
    /// Readable, but it makes no sense.
    #[error("script line {line}: {message}")]
    Senseless { line: usize, message: String },
    /// The same for a script that was built in code, where there are no lines.
    #[error("script, {place}: {message}")]
    SenselessValue { place: String, message: String },
}

impl Script {
    /// Reads a script from TOML; the format is described in `SCRIPT.md`.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        file::parse(text)
    }
}

/// Small, so that no turn runs into automatic compaction unless its script asks for it.
impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, cached: 0, output: 10, reasoning: 0 }
    }
}

impl Call {
    /// The call that changes files.
    pub fn apply_patch(patch: impl Into<String>) -> Self {
        Self {
            tool: "apply_patch".to_owned(),
            namespace: None,
            id: None,
            payload: Payload::Input(patch.into()),
        }
    }

    /// A call of a function tool.
    pub fn function(tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            namespace: None,
            id: None,
            payload: Payload::Arguments(arguments),
        }
    }
}
