//! How long things may take, and what happens then.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The time a turn may take, not counting the time it waits for people.
    pub budget: Option<Duration>,
    /// After this time without progress the thread is looked at. Two minutes: long reasoning of today's models is
    /// silent for about one.
    pub stall_after: Duration,
    pub on_stall: OnStall,
    /// How long the end of a turn waits for the ends of its commands. Up to 0.142.5 those come about 0.1 s after it, and
    /// more on a busy machine.
    pub settle: Duration,
    /// How long an interrupted turn may take to end. Codex needs 20 ms.
    pub interrupt_bound: Duration,
    /// How long people may take to answer; without it, as long as they like.
    pub ask_deadline: Option<Duration>,
}

/// What to do with a turn that makes no progress though its app-server answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStall {
    /// Say so, and again at growing intervals.
    #[default]
    Warn,
    Interrupt,
    /// End it as failed.
    Fail,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            budget: None,
            stall_after: Duration::from_secs(120),
            on_stall: OnStall::default(),
            settle: Duration::from_secs(2),
            interrupt_bound: Duration::from_secs(15),
            ask_deadline: None,
        }
    }
}
