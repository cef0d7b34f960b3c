//! The flows of the suite, each by name.

use std::time::Duration;

use serde::Serialize;

/// One thing that a Codex must do. The order is that of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Flow {
    Version,
    Schema,
    Greeting,
    PlainTurn,
    CommandAllowed,
    CommandRefused,
    FileChange,
    Steer,
    Interrupt,
    Goal,
    TwoClients,
    UnknownRequest,
    ResumeAfterKill,
}

impl Flow {
    pub(super) const ALL: [Self; 13] = [
        Self::Version,
        Self::Schema,
        Self::Greeting,
        Self::PlainTurn,
        Self::CommandAllowed,
        Self::CommandRefused,
        Self::FileChange,
        Self::Steer,
        Self::Interrupt,
        Self::Goal,
        Self::TwoClients,
        Self::UnknownRequest,
        Self::ResumeAfterKill,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Schema => "schema",
            Self::Greeting => "greeting",
            Self::PlainTurn => "plain turn",
            Self::CommandAllowed => "command allowed",
            Self::CommandRefused => "command refused",
            Self::FileChange => "file change",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Goal => "goal",
            Self::TwoClients => "two clients",
            Self::UnknownRequest => "unknown request",
            Self::ResumeAfterKill => "resume after kill",
        }
    }
}

/// What came of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tried {
    pub(super) flow: Flow,
    pub(super) result: FlowResult,
    pub(super) millis: u64,
    /// What was seen, or why it failed.
    pub(super) saw: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FlowResult {
    Passed,
    Failed,
    /// Something that it needs has failed.
    NotTried,
}

impl Tried {
    pub(super) fn new(flow: Flow, outcome: Result<String, String>, took: Duration) -> Self {
        let result = if outcome.is_ok() { FlowResult::Passed } else { FlowResult::Failed };
        let (Ok(saw) | Err(saw)) = outcome;
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Self { flow, result, millis, saw }
    }

    pub(super) fn not_tried(flow: Flow, because: &str) -> Self {
        Self { flow, result: FlowResult::NotTried, millis: 0, saw: because.to_owned() }
    }
}
