//! What is true in the simulated Codex, and what the machine told: every promise is checked at the moment it is broken.

use std::collections::{BTreeMap, BTreeSet};

use ostler_model::thread::{Effect, Update};
use ostler_model::{AskId, InputId, ItemId, TurnId};

/// What the simulated Codex knows of itself.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Every name of a turn, with the name on its items.
    turns: BTreeMap<TurnId, TurnId>,
    items: BTreeMap<ItemId, TurnId>,
    asks: BTreeMap<AskId, TurnId>,
    kept: BTreeMap<InputId, u32>,
}

impl Truth {
    pub(crate) fn name_turn(&mut self, id: &TurnId, announced: &TurnId) {
        self.turns.insert(id.clone(), id.clone());
        self.turns.insert(announced.clone(), id.clone());
    }

    pub(crate) fn name_item(&mut self, item: &ItemId, turn: &TurnId) {
        self.items.insert(item.clone(), turn.clone());
    }

    pub(crate) fn name_ask(&mut self, ask: &AskId, turn: &TurnId) {
        self.asks.insert(ask.clone(), turn.clone());
    }

    pub(crate) fn keep(&mut self, input: &InputId) {
        let kept = self.kept.entry(input.clone()).or_default();
        *kept += 1;
        assert!(*kept == 1, "codex got {input} twice");
    }

    fn has(&self, input: &InputId) -> bool {
        self.kept.contains_key(input)
    }
}

/// Twice the bound of an interrupt, the time in which a turn settles, and the step in which that is noticed.
const DISOBEDIENCE_MS: u64 = 2 * 15_000 + 2_000 + 1;

/// What the machine told.
#[derive(Debug, Default)]
pub(crate) struct Log {
    turn: Option<TurnId>,
    ended: BTreeSet<TurnId>,
    open_items: BTreeSet<ItemId>,
    ended_items: BTreeSet<ItemId>,
    asks: BTreeSet<AskId>,
    /// Inputs that were sent; true for those that Codex echoes.
    sent: BTreeMap<InputId, bool>,
    taken: BTreeMap<InputId, TurnId>,
    /// With whether Codex may have it.
    refused: BTreeMap<InputId, bool>,
    submitted: Option<InputId>,
    interrupted: BTreeSet<TurnId>,
    /// When the running turn was interrupted.
    interrupted_at: Option<u64>,
    reopening: bool,
}

impl Log {
    pub(crate) fn sent(&mut self, input: &InputId, is_echoed: bool) {
        self.sent.insert(input.clone(), is_echoed);
    }

    pub(crate) fn submit_answered(&mut self, input: &InputId) {
        if self.submitted.as_ref() == Some(input) {
            self.submitted = None;
        }
    }

    pub(crate) fn reopen_answered(&mut self) {
        self.reopening = false;
    }

    pub(crate) fn effect(&mut self, now: u64, effect: &Effect, truth: &Truth) {
        match effect {
            Effect::Submit { input } => {
                assert_eq!(self.turn, None, "submit of {input} while a turn runs");
                let before = self.submitted.replace(input.clone());
                assert_eq!(before, None, "two submits under way");
                self.owes(input);
            }
            Effect::Steer { input, turn } => {
                assert_eq!(self.turn.as_ref(), Some(turn), "steer into a turn that does not run");
                self.owes(input);
            }
            Effect::Interrupt { turn } => {
                assert!(self.interrupted.insert(turn.clone()), "{turn} interrupted twice");
                self.interrupted_at = Some(now);
            }
            Effect::Reopen { .. } => {
                // What was written to a connection that broke may not have arrived, so it may be said again.
                self.interrupted.clear();
                assert!(!std::mem::replace(&mut self.reopening, true), "opened twice at a time");
            }
            Effect::Tell(update) => self.update(update, truth),
            _ => {}
        }
    }

    /// Nothing is on its way any more. Asks that were open are asked again; whoever wrote them down knows that.
    pub(crate) fn restarted(&mut self) {
        self.submitted = None;
        self.reopening = false;
        self.interrupted.clear();
        self.interrupted_at = None;
        self.asks.clear();
    }

    pub(crate) fn is_over(&self, input: &InputId) -> bool {
        self.taken.contains_key(input) || self.refused.contains_key(input)
    }

    fn owes(&self, input: &InputId) {
        assert!(!self.is_over(input), "{input} given to codex after its end");
    }

    fn update(&mut self, update: &Update, truth: &Truth) {
        match update {
            Update::TurnBegan { turn } => {
                assert_eq!(self.turn, None, "{turn} began while another turn runs");
                assert!(!self.ended.contains(turn), "{turn} began twice");
                self.turn = Some(turn.clone());
            }
            Update::TurnEnded { result } => {
                assert_eq!(self.turn.take().as_ref(), Some(&result.turn), "another turn ended");
                assert!(self.open_items.is_empty(), "open after the end: {:?}", self.open_items);
                let mut asks = self.asks.iter().filter_map(|ask| truth.asks.get(ask));
                let turn = truth.turns.get(&result.turn);
                assert!(!asks.any(|of| Some(of) == turn), "an ask is open after its turn");
                self.interrupted_at = None;
                self.ended.insert(result.turn.clone());
                self.ended_items.clear();
            }
            Update::ItemBegan { turn, item } => {
                self.is_of(turn, &item.id, truth);
                assert!(self.open_items.insert(item.id.clone()), "{} began twice", item.id);
            }
            Update::ItemEnded { turn, item, .. } => {
                self.is_of(turn, &item.id, truth);
                self.open_items.remove(&item.id);
                assert!(self.ended_items.insert(item.id.clone()), "{} ended twice", item.id);
            }
            Update::AskOpened { ask, .. } => {
                assert!(self.asks.insert(ask.clone()), "{ask} opened twice");
            }
            Update::AskClosed { ask, .. } => {
                assert!(self.asks.remove(ask), "{ask} closed and not open");
            }
            // On another connection an interrupt may be sent again: the one before may not have arrived.
            Update::Disconnected { .. } => self.interrupted.clear(),
            Update::InputTaken { input, turn } => {
                self.owes(input);
                // The echo may come before the answer.
                self.submit_answered(input);
                self.taken.insert(input.clone(), turn.clone());
            }
            Update::InputRefused { input, may_have_run, .. } => {
                self.owes(input);
                self.refused.insert(input.clone(), *may_have_run);
            }
            _ => {}
        }
    }

    fn is_of(&self, turn: &TurnId, item: &ItemId, truth: &Truth) {
        assert_eq!(self.turn.as_ref(), Some(turn), "{item} of a turn that does not run");
        assert_eq!(truth.items.get(item), truth.turns.get(turn), "{item} mixed into {turn}");
    }

    /// A step of the machine is done.
    pub(crate) fn stepped(&self, now: u64, submits: bool) {
        assert!(!submits || self.turn.is_none(), "submitted in the moment a turn begins");
        let is_overdue = self.interrupted_at.is_some_and(|at| at + DISOBEDIENCE_MS < now);
        assert!(!is_overdue, "an interrupted turn is waited for without end");
    }

    /// The connection is closed: nobody can be asked for anything any more.
    pub(crate) fn disconnected(&self) {
        assert!(self.asks.is_empty(), "open without a connection: {:?}", self.asks);
    }

    /// Everything has come to rest.
    pub(crate) fn at_rest(&self, truth: &Truth) {
        assert_eq!(self.turn, None, "a turn did not end");
        assert!(self.asks.is_empty(), "asks are open: {:?}", self.asks);
        for (input, is_echoed) in &self.sent {
            let ends = (self.taken.get(input), self.refused.get(input));
            assert_ne!(ends, (None, None), "{input} has no end");
            match ends {
                (Some(turn), _) => {
                    assert!(self.ended.contains(turn), "{input} is in {turn}, which is not told");
                    assert!(!is_echoed || truth.has(input), "{input} is told as taken, and lost");
                }
                (_, Some(may_have_run)) => {
                    let is_true = *may_have_run || !truth.has(input);
                    assert!(is_true, "{input} refused, and codex has it");
                }
                (None, None) => {}
            }
        }
    }
}
