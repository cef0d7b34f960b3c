//! A row of the outbox, and what becomes of it with each attempt.

use serde::{Deserialize, Serialize};

use super::addressee::Addressee;
use super::content::Content;
use super::occasion::{Kind, Occasion};
use crate::id::{DeliveryId, TaskId};

/// Attempts that are kept in a row; older ones are only counted.
const KEPT_TRIES: usize = 20;

/// The longest wait between two attempts, whoever asks for it: somebody may look at it within a working day.
const LONGEST_WAIT_MS: u64 = 6 * 3600 * 1000;

/// Each wait is so many times the one before: with a first of 5 seconds a short hiccup costs seconds, and the twelfth attempt
/// comes after some 22 hours.
const GROWTH: u64 = 3;

/// One thing told to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// By which whoever is told knows it again.
    pub id: DeliveryId,
    pub task: TaskId,
    pub kind: Kind,
    /// Empty if there is none.
    pub target: String,
    /// When it happened, in unix milliseconds.
    pub at: i64,
    pub content: Content,
    pub state: State,
    /// Since it was written down, or since somebody wanted it sent again.
    pub attempts: u32,
    /// When it is tried next, in unix milliseconds; only while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<i64>,
    /// The last attempts, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<Try>,
    /// The proof that its target has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Proof>,
    /// Nobody has looked at it yet; only of those that are shown here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Pending,
    Sent,
    /// It was given up: a dead letter, until somebody wants it sent again.
    Failed,
    /// There is nobody to tell.
    NoTarget,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Sent, Self::Failed, Self::NoTarget];

    /// The same word in text, JSON and the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::NoTarget => "no_target",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// One attempt that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    /// When it had ended, in unix milliseconds.
    pub at: i64,
    pub took_ms: u64,
    pub why: String,
}

/// What the target answered when it took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Unix milliseconds.
    pub at: i64,
    pub took_ms: u64,
    pub answer: String,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Delivered {
        answer: String,
    },
    /// It may be taken later.
    Failed {
        why: String,
        /// The target asks for this wait.
        retry_after_ms: Option<u64>,
    },
    /// It would not be taken later either.
    Refused {
        why: String,
    },
    /// There is no such target.
    NoTarget {
        why: String,
    },
}

/// How long it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persistence {
    /// Attempts in all; at least one.
    pub attempts: u32,
    /// After the first attempt; later ones are longer.
    pub first_wait_ms: u64,
}

impl Default for Persistence {
    fn default() -> Self {
        Self { attempts: 12, first_wait_ms: 5_000 }
    }
}

impl Persistence {
    /// The wait after so many attempts. The draw moves it by up to a fifth, so that what failed together is not tried together.
    pub fn wait_ms(&self, attempts: u32, retry_after_ms: Option<u64>, draw: u32) -> u64 {
        let growth = GROWTH.saturating_pow(attempts.saturating_sub(1));
        let wait = self.first_wait_ms.saturating_mul(growth).min(LONGEST_WAIT_MS);
        // From four to six fifths.
        let jittered =
            wait / 5 * 4 + (wait / 5 * 2).saturating_mul(u64::from(draw)) / u64::from(u32::MAX);
        // Sooner than the target asks for would be in vain; longer than ours is not waited.
        jittered.max(retry_after_ms.unwrap_or(0).min(LONGEST_WAIT_MS))
    }
}

impl Notification {
    /// As it is first written down.
    pub fn new(
        occasion: &Occasion,
        task: &TaskId,
        kind: Kind,
        addressee: Addressee,
        content: Content,
        at: i64,
    ) -> Self {
        let (target, state, why) = match addressee {
            Addressee::To(target) => (target, State::Pending, None),
            Addressee::Unknown(target) => {
                let why = format!("the configuration has no target {target}");
                (target, State::NoTarget, Some(why))
            }
            Addressee::Nobody => (String::new(), State::NoTarget, None),
        };
        let tries = why.map(|why| Try { at, took_ms: 0, why });
        // Where nobody is told, nobody reads it here; the task has it.
        let content = match target.is_empty() {
            true => Content { answer: None, answer_is_cut: false, ..content },
            false => content,
        };
        Self {
            id: occasion.delivery(task, &target),
            task: task.clone(),
            kind,
            target,
            at,
            content,
            state,
            attempts: 0,
            due_at: (state == State::Pending).then_some(at),
            tries: tries.into_iter().collect(),
            receipt: None,
            is_unread: false,
        }
    }

    /// An attempt has ended: it is done, tried again, or given up.
    pub fn tried(
        &mut self,
        now: i64,
        took_ms: u64,
        outcome: Outcome,
        persistence: &Persistence,
        draw: u32,
    ) {
        self.attempts = self.attempts.saturating_add(1);
        self.due_at = None;
        let (state, why) = match outcome {
            Outcome::Delivered { answer } => {
                self.receipt = Some(Proof { at: now, took_ms, answer });
                self.state = State::Sent;
                return;
            }
            Outcome::Failed { why, retry_after_ms } if self.attempts < persistence.attempts => {
                let wait = persistence.wait_ms(self.attempts, retry_after_ms, draw);
                self.due_at = Some(now.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX)));
                (State::Pending, why)
            }
            Outcome::Failed { why, .. } | Outcome::Refused { why } => (State::Failed, why),
            Outcome::NoTarget { why } => (State::NoTarget, why),
        };
        self.state = state;
        self.tries.push(Try { at: now, took_ms, why });
        let extra = self.tries.len().saturating_sub(KEPT_TRIES);
        self.tries.drain(..extra);
    }

    /// Somebody wants it sent again, under the same name: whoever has it already can tell. False if it is about to be sent, or
    /// there is nobody to send it to.
    pub fn replay(&mut self, now: i64) -> bool {
        if self.state == State::Pending || self.target.is_empty() {
            return false;
        }
        self.state = State::Pending;
        self.attempts = 0;
        self.due_at = Some(now);
        self.receipt = None;
        true
    }
}
