//! The goal of a thread: what Codex works towards over many turns.

use ostler_model::{GoalChange, ThreadId};
use serde::{Deserialize, Serialize};

use super::ClientRequest;
use crate::protocol::goal::ThreadGoal;
use crate::protocol::lenient;

/// Works on threads that are not loaded, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalSet {
    pub thread_id: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    pub status: GoalWord,
    /// Left out it stays as it is; null takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Option<u64>>,
}

/// The words that a client may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GoalWord {
    Active,
    Paused,
}

impl ThreadGoalSet {
    /// None for a change that takes the goal away.
    pub fn of(thread_id: ThreadId, change: &GoalChange) -> Option<Self> {
        let plain = |status| Self { thread_id, objective: None, status, token_budget: None };
        match change {
            GoalChange::Set { objective, token_budget } => Some(Self {
                objective: Some(objective.clone()),
                token_budget: Some(*token_budget),
                ..plain(GoalWord::Active)
            }),
            GoalChange::Resume => Some(plain(GoalWord::Active)),
            GoalChange::Pause => Some(plain(GoalWord::Paused)),
            GoalChange::Clear => None,
        }
    }
}

impl ClientRequest for ThreadGoalSet {
    const METHOD: &'static str = "thread/goal/set";
    type Reply = OneGoal;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalGet {
    pub thread_id: ThreadId,
}

impl ClientRequest for ThreadGoalGet {
    const METHOD: &'static str = "thread/goal/get";
    type Reply = OneGoal;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct OneGoal {
    #[serde(default, deserialize_with = "lenient::object")]
    pub goal: Option<ThreadGoal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoalClear {
    pub thread_id: ThreadId,
}

impl ClientRequest for ThreadGoalClear {
    const METHOD: &'static str = "thread/goal/clear";
    type Reply = GoalCleared;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct GoalCleared {
    /// Whether there was one.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub cleared: bool,
}
