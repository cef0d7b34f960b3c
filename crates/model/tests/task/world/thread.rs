//! The thread with its app-server: what it does, and what of that is told.

use std::collections::HashSet;

use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, IntentId, Interrupter, TurnEnd, TurnId};

use crate::rig::{result, tokens};

#[derive(Default)]
pub(super) struct Thread {
    is_open: bool,
    /// All that is to be told, in order; what was told and written comes first.
    log: Vec<Update>,
    told: usize,
    written: usize,
    /// Inputs that it has and has not proven.
    inputs: Vec<(IntentId, IfBusy)>,
    known: HashSet<IntentId>,
    turn: Option<TurnId>,
    last_turn: Option<TurnId>,
    used: u64,
    turns: u32,
    interrupt: Option<Interrupter>,
}

impl Thread {
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref()
    }

    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    pub(super) fn has_untold(&self) -> bool {
        self.told < self.log.len()
    }

    pub(super) fn note_written(&mut self) {
        self.written = self.told;
    }

    /// The thread goes on without us; what was not written is told again.
    pub(super) fn disconnect(&mut self) {
        self.is_open = false;
        self.told = self.written;
        if self.interrupt.is_some() {
            self.interrupt = Some(Interrupter::Codex);
        }
    }

    /// Inputs that may have been given are looked for, and given if they are not found.
    pub(super) fn open(&mut self, sent: Vec<IntentId>) {
        self.is_open = true;
        for intent in sent {
            self.give(intent, IfBusy::Queue);
        }
    }

    /// It cannot be opened, and nothing of it is heard any more.
    pub(super) fn lose_all(&mut self) {
        self.inputs.clear();
        self.turn = None;
        self.log.truncate(self.written);
        self.told = self.written;
    }

    pub(super) fn give(&mut self, intent: IntentId, if_busy: IfBusy) {
        if self.known.insert(intent.clone()) {
            self.inputs.push((intent, if_busy));
        }
    }

    pub(super) fn interrupt(&mut self, by: String) {
        assert!(self.is_open, "an interrupt of a thread that is not open");
        if self.turn.is_some() || !self.inputs.is_empty() {
            self.interrupt = Some(Interrupter::Caller { name: by });
        }
    }

    /// The next thing to tell, if it can be told.
    pub(super) fn tell(&mut self) -> Option<Update> {
        let update = self.log.get(self.told).filter(|_| self.is_open)?.clone();
        self.told += 1;
        Some(update)
    }

    /// A turn begins: with the first input, or by itself.
    pub(super) fn begin(&mut self) {
        if self.turn.is_some() {
            return;
        }
        self.turns += 1;
        let turn = TurnId::new(format!("t{}", self.turns));
        self.turn = Some(turn.clone());
        self.last_turn = Some(turn.clone());
        self.used = 0;
        self.log.push(Update::TurnBegan { turn });
        if !self.inputs.is_empty() {
            self.take(0);
        }
    }

    /// Proves an input in the turn that runs, or in the one that ended last.
    pub(super) fn take(&mut self, at: usize) {
        let Some(turn) = self.last_turn.clone().filter(|_| at < self.inputs.len()) else { return };
        let (intent, _) = self.inputs.remove(at);
        self.log.push(Update::InputTaken { input: intent.as_str().into(), turn });
    }

    /// The oldest steer that is not proven.
    pub(super) fn take_steer(&mut self) {
        let steer = self.inputs.iter().position(|(_, if_busy)| *if_busy == IfBusy::Steer);
        if let Some(at) = steer {
            self.take(at);
        }
    }

    pub(super) fn refuse(&mut self) {
        if self.turn.is_none() && !self.inputs.is_empty() {
            let (intent, _) = self.inputs.remove(0);
            let failure = Failure::new(FailureClass::BadRequest, "no");
            self.log.push(Update::InputRefused { input: intent.as_str().into(), failure });
        }
    }

    pub(super) fn work(&mut self, more: u64) {
        if let Some(turn) = self.turn.clone() {
            self.used += more;
            self.log.push(Update::Usage { turn, usage: tokens(self.used) });
        }
    }

    pub(super) fn end(&mut self, end: TurnEnd, iterations: u32) {
        let Some(turn) = self.turn.take() else { return };
        let end = match self.interrupt.take() {
            Some(by) if end != TurnEnd::Completed => TurnEnd::Interrupted { by },
            _ => end,
        };
        let mut result = result(turn.as_str(), end);
        result.usage = tokens(self.used);
        result.tool_iterations = iterations;
        self.log.push(Update::TurnEnded { result: Box::new(result) });
    }

    /// One that somebody wants to end does end so.
    pub(super) fn end_in_order(&mut self) {
        let by = Interrupter::Codex;
        match self.interrupt.is_some() {
            true => self.end(TurnEnd::Interrupted { by }, 1),
            false => self.end(TurnEnd::Completed, 1),
        }
    }

    /// The same without regard to whoever wants it to end: its app-server dies, or a limit is reached.
    pub(super) fn fail(&mut self, class: FailureClass, iterations: u32) {
        self.interrupt = None;
        self.end(TurnEnd::Failed { failure: Failure::new(class, "it failed") }, iterations);
    }
}
