//! A task from the store: what became of it while nobody looked is found out.

use std::collections::BTreeMap;

use super::inputs::Rank;
use super::signal::{AskedOf, Effect};
use super::{Machine, Phase, Place};
use crate::goal::GoalChange;
use crate::id::{AskId, IntentId};
use crate::task::Task;
use crate::task::state::{Cause, TaskState};
use crate::thread::IfBusy;

/// What a task is loaded with beside its row.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// In the order in which they came.
    pub intents: Vec<Unsettled>,
    /// Asks for people that are open.
    pub asks: BTreeMap<AskId, AskedOf>,
}

/// An intent that is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsettled {
    /// An input that may have reached Codex.
    Sent(IntentId),
    Waiting {
        intent: IntentId,
        if_busy: IfBusy,
    },
    /// An input of our own.
    Owed(IntentId),
    Interrupt {
        intent: IntentId,
        by: String,
    },
    Goal {
        intent: IntentId,
        change: GoalChange,
    },
}

impl Machine {
    /// A task from the store. If it was at work when our process ended, it is found out what became of it. What was
    /// wanted of it and never heard is heard now.
    pub fn load(now: i64, task: Task, loaded: Loaded) -> (Self, Vec<Effect>) {
        let mut machine = Self::new(task);
        machine.now = now;
        let mut out = Vec::new();
        let sent = loaded.intents.iter().filter_map(|intent| match intent {
            Unsettled::Sent(intent) => Some(intent.clone()),
            _ => None,
        });
        machine.given = sent.collect();
        if machine.task.state.is_at_work() || machine.is_busy() {
            machine.asks = loaded.asks;
            machine.recover(&mut out);
        }
        for intent in loaded.intents {
            match intent {
                Unsettled::Sent(_) => {}
                // It was taken when nothing ran, and waits for its start.
                Unsettled::Waiting { intent, if_busy: IfBusy::Fail }
                    if machine.has_failed_to_start() && machine.queue.is_empty() =>
                {
                    machine.line_up(intent, IfBusy::Queue, Rank::InLine);
                }
                Unsettled::Waiting { intent, if_busy } => machine.submit(intent, if_busy, &mut out),
                Unsettled::Owed(intent) => machine.line_up(intent, IfBusy::Queue, Rank::Ours),
                Unsettled::Interrupt { intent, by } => machine.interrupt(intent, by, &mut out),
                Unsettled::Goal { intent, change } => {
                    machine.change_goal(intent, change, &mut out);
                }
            }
        }
        if machine.task.state == TaskState::Queued && !machine.has_work() {
            machine.end(TaskState::Cancelled, Cause::Rejoined, &mut out);
        }
        machine.go_on(&mut out);
        machine.keep_time();
        (machine, out)
    }

    fn recover(&mut self, out: &mut Vec<Effect>) {
        self.task.wake_at = None;
        if self.task.state != TaskState::Recovering {
            self.shift(TaskState::Recovering, Cause::DaemonStarted, out);
        }
        self.phase = Phase::Opening;
        self.place = Place::Held;
        // It runs already: whether there is room is no question.
        out.extend([Effect::KeepPlace, Effect::Open]);
    }
}
