//! What a turn that died was given, and Codex may not have any more.
//!
//! Codex says that it took an input before the input is in the thread's file (0.130.0 to 0.166.0; the chaos test found it).
//! An app-server that is killed in between leaves a thread that never heard of it, and our word to go on would mean
//! nothing there. So before we give that word the thread is looked through, and what it lacks is given again instead.

use super::inputs::Rank;
use super::signal::Effect;
use super::{Machine, Phase};
use crate::failure::{Failure, FailureClass};
use crate::id::{IntentId, TurnId};
use crate::task::intent::{IntentState, NotDone};
use crate::task::state::{Cause, TaskState};
use crate::task::{OnCrash, Overtaken};
use crate::thread::IfBusy;
use crate::turn::{TurnEnd, TurnResult};

/// Whether the thread, as it was opened last, has been looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Search {
    NotBegun,
    /// For what this turn was given.
    UnderWay(TurnId),
    Done,
}

impl Machine {
    /// A turn has ended. An input that was on its way when it died begins the next one by itself, and by then the dead one is
    /// not the last.
    pub(super) fn may_be_overtaken(&mut self, result: &TurnResult) {
        let is_to_end = self.queue.front().is_some_and(|waiting| waiting.rank == Rank::First);
        if !self.given.is_empty() && !is_to_end {
            self.note_overtaken(result);
        }
    }

    /// A turn begins before our word about the last one was given: Codex has begun it by itself.
    pub(super) fn is_overtaken(&mut self) {
        if self.waits_of_our_own()
            && self.search != Search::Done
            && let Some(last) = self.task.last_result.clone()
        {
            self.note_overtaken(&last);
        }
    }

    fn note_overtaken(&mut self, result: &TurnResult) {
        let is_noted = self.task.tally.overtaken.iter().any(|noted| noted.turn == result.turn);
        let goes_on = self.task.settings.on_crash == OnCrash::Continue;
        if !has_died(result) || is_noted || !goes_on {
            return;
        }
        let inputs = result.inputs.iter().map(|input| IntentId::new(input.as_str()));
        let inputs: Vec<IntentId> = inputs.filter(|input| !self.given.contains(input)).collect();
        if !inputs.is_empty() {
            self.task.tally.overtaken.push(Overtaken { turn: result.turn.clone(), inputs });
        }
    }

    /// True if the next input has to wait until it is known what the thread holds.
    pub(super) fn must_search(&mut self, out: &mut Vec<Effect>) -> bool {
        self.waits_of_our_own() && self.is_searching(out)
    }

    /// True if the task has to wait with its end for that.
    pub(super) fn looks_back(&mut self, out: &mut Vec<Effect>) -> bool {
        self.is_at_an_end_in_doubt() && self.phase == Phase::Open && self.is_searching(out)
    }

    /// Whether the last turn has done its work, and one before it may have lost its own.
    pub(super) fn is_at_an_end_in_doubt(&self) -> bool {
        let last = self.task.last_result.as_ref();
        !self.task.tally.overtaken.is_empty()
            && self.task.state.is_at_work()
            && self.task.turn.is_none()
            && last.is_some_and(|result| result.end == TurnEnd::Completed)
    }

    fn is_searching(&mut self, out: &mut Vec<Effect>) -> bool {
        if self.search == Search::Done {
            return false;
        }
        let Some(Overtaken { turn, inputs }) = self.given_to_the_dead() else { return false };
        if self.search == Search::NotBegun {
            self.search = Search::UnderWay(turn.clone());
            out.push(Effect::LookFor { turn, inputs });
        }
        true
    }

    pub(super) fn looked(&mut self, missing: Vec<IntentId>, out: &mut Vec<Effect>) {
        let Search::UnderWay(turn) = self.search.clone() else { return };
        let is_wanted = self.waits_of_our_own() || self.is_at_an_end_in_doubt();
        let last = self.task.last_result.as_ref();
        self.search = match last.is_some_and(|result| result.turn == turn) {
            true => Search::Done,
            // There may be others.
            false => Search::NotBegun,
        };
        self.task.tally.overtaken.retain(|overtaken| overtaken.turn != turn);
        if !missing.is_empty() && is_wanted {
            self.give_back(missing, out);
        }
        match self.ended.is_some() {
            true => self.go_on_if_settled(out),
            false => self.go_on(out),
        }
    }

    pub(super) fn look_failed(&mut self, failure: Failure, out: &mut Vec<Effect>) {
        let Search::UnderWay(_) = self.search else { return };
        self.search = Search::NotBegun;
        let is_wanted = self.waits_of_our_own() || self.is_at_an_end_in_doubt();
        // A thread that is being opened again is looked through then.
        if !is_wanted || self.phase != Phase::Open {
            return;
        }
        self.count_crash();
        match self.task.tally.crashes <= self.task.settings.crash_limit {
            true => self.thread_lost(out),
            false => self.end(TaskState::Failed, Cause::StartFailed { failure }, out),
        }
    }

    /// What the thread lacks takes the place of our word about it.
    fn give_back(&mut self, missing: Vec<IntentId>, out: &mut Vec<Effect>) {
        let (ours, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition(|waiting| waiting.rank == Rank::Ours);
        self.queue = others.into();
        for waiting in ours.iter().filter(|waiting| !missing.contains(&waiting.intent)) {
            let to = IntentState::NotDone { why: NotDone::Needless };
            out.push(Effect::Settle { intent: waiting.intent.clone(), to });
        }
        for intent in missing {
            if ours.iter().all(|waiting| waiting.intent != intent) {
                out.push(Effect::GiveBack { intent: intent.clone() });
            }
            self.line_up(intent, IfBusy::Queue, Rank::Ours);
        }
    }

    fn waits_of_our_own(&self) -> bool {
        self.queue.front().is_some_and(|waiting| waiting.rank == Rank::Ours)
    }

    /// What a turn was given that died with its app-server: one that was overtaken, or the last.
    fn given_to_the_dead(&self) -> Option<Overtaken> {
        let overtaken = self.task.tally.overtaken.first().cloned();
        overtaken.or_else(|| {
            let result = self.task.last_result.as_ref().filter(|result| has_died(result))?;
            let inputs = result.inputs.iter().map(|input| IntentId::new(input.as_str())).collect();
            Some(Overtaken { turn: result.turn.clone(), inputs })
                .filter(|dead| !dead.inputs.is_empty())
        })
    }
}

fn has_died(result: &TurnResult) -> bool {
    result.failure().is_some_and(|failure| failure.class == FailureClass::ServerGone)
}
