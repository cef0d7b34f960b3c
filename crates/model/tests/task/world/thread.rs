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
    /// What the turn that runs has taken.
    taken: Vec<IntentId>,
    /// What the file of the thread holds.
    held: HashSet<IntentId>,
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
        // Another thread of ours knows nothing of what this one gave back, and looks for it.
        let is_word =
            |update: &Update| !matches!(update, Update::InputRefused { may_have_run: true, .. });
        let untold = self.log.split_off(self.written);
        self.log.extend(untold.into_iter().filter(is_word));
        if self.interrupt.is_some() {
            self.interrupt = Some(Interrupter::Codex);
        }
    }

    /// Inputs that may have been given are looked for, and given if they are not found.
    pub(super) fn open(&mut self, sent: Vec<IntentId>) {
        self.is_open = true;
        for intent in sent {
            let is_found = self.holds(&intent) && !self.known.contains(&intent);
            self.give(intent, IfBusy::Queue);
            if is_found {
                self.take(self.inputs.len() - 1);
            }
        }
    }

    /// It cannot be opened, and nothing of it is heard any more.
    pub(super) fn lose_all(&mut self) {
        self.inputs.clear();
        self.taken.clear();
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
        self.held.insert(intent.clone());
        if self.turn.is_some() {
            self.taken.push(intent.clone());
        }
        self.log.push(Update::InputTaken { input: intent.as_str().into(), turn });
    }

    pub(super) fn holds(&self, intent: &IntentId) -> bool {
        self.held.contains(intent)
    }

    /// It may be given once more, because it is not there.
    pub(super) fn unknow(&mut self, intent: &IntentId) {
        assert!(!self.holds(intent), "{intent} is there");
        self.known.remove(intent);
    }

    /// The app-server dies before it has written down what it took.
    pub(super) fn die_and_forget(&mut self) {
        for intent in &self.taken {
            self.held.remove(intent);
        }
        self.fail(FailureClass::ServerGone, 0);
    }

    /// The oldest steer that is not proven.
    pub(super) fn take_steer(&mut self) {
        let steer = self.inputs.iter().position(|(_, if_busy)| *if_busy == IfBusy::Steer);
        if let Some(at) = steer {
            self.take(at);
        }
    }

    pub(super) fn refuse(&mut self, class: FailureClass) {
        if self.turn.is_none() && !self.inputs.is_empty() {
            let (intent, _) = self.inputs.remove(0);
            let failure = Failure::new(class, "no");
            let input = intent.as_str().into();
            self.log.push(Update::InputRefused { input, failure, may_have_run: false });
        }
    }

    /// Its app-server is gone and no other can be had: what is not proven is given back, and Codex may have it or not.
    pub(super) fn give_back_all(&mut self, has_them: bool) {
        self.fail(FailureClass::ServerGone, 0);
        for (intent, _) in std::mem::take(&mut self.inputs) {
            let input = intent.as_str().into();
            let failure = Failure::new(FailureClass::ServerGone, "it died");
            self.log.push(Update::InputRefused { input, failure, may_have_run: true });
            self.known.remove(&intent);
            if has_them && self.last_turn.is_some() {
                self.held.insert(intent);
            }
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
        result.inputs =
            std::mem::take(&mut self.taken).iter().map(|it| it.as_str().into()).collect();
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
