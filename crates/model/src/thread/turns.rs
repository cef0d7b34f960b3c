//! How a turn begins, is interrupted, and ends. It ends once.

use std::collections::BTreeSet;
use std::time::Duration;

use super::effect::{Effect, StrayReason, Update, Withdrawal};
use super::items::OpenItem;
use super::machine::Machine;
use super::signal::SaidEnd;
use crate::failure::{Failure, FailureClass};
use crate::id::{InputId, ItemId, TurnId};
use crate::item::ItemEnd;
use crate::moment::Moment;
use crate::plan::Plan;
use crate::turn::{Interrupter, TurnEnd, TurnResult};
use crate::usage::Usage;

/// The turn that runs.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    /// A review has two ids (0.130.0 to 0.166.0): one is announced and takes interrupts, the other is on its items and
    /// on its end.
    pub(super) other_name: Option<TurnId>,
    /// The id that Codex announced, which interrupts must name. Not known yet for a review whose items come first.
    pub(super) announced: Option<TurnId>,
    pub(super) began: Moment,
    pub(super) inputs: Vec<InputId>,
    /// Items that have begun and not ended, in order.
    pub(super) open: Vec<OpenItem>,
    pub(super) ended: BTreeSet<ItemId>,
    pub(super) answer: Option<String>,
    pub(super) unmarked_answer: Option<String>,
    pub(super) tool_iterations: u32,
    pub(super) usage: Usage,
    pub(super) plan: Option<Plan>,
    pub(super) diff: Option<String>,
    pub(super) compacted: bool,
    pub(super) retries: u32,
    /// Since when attempts fail without anything coming of them, and the last failure.
    pub(super) retrying: Option<(Moment, Failure)>,
    /// The last failure after which Codex gave up; the end of the turn may come without one.
    pub(super) given_up: Option<Failure>,
    pub(super) interrupt: Option<Interrupt>,
    /// Who answered an ask with `cancel`.
    pub(super) cancelled_by: Option<String>,
    /// When the old text marker of an aborted turn was seen.
    pub(super) marked_aborted: Option<Moment>,
    pub(super) ending: Option<Ending>,
    pub(super) last_progress: Moment,
    pub(super) next_look: Moment,
    pub(super) looks: u32,
    /// The look under way is about this turn standing still.
    pub(super) look_for_stall: bool,
    pub(super) clock: Duration,
    pub(super) clock_since: Option<Moment>,
}

/// An interrupt under way.
#[derive(Debug, Clone)]
pub(super) struct Interrupt {
    pub(super) cause: InterruptCause,
    pub(super) until: Moment,
    /// The bound has passed once and Codex was asked how the turn stands.
    pub(super) looked: bool,
}

#[derive(Debug, Clone)]
pub(super) enum InterruptCause {
    By(Interrupter),
    /// We end it because it failed by our own measure.
    Failed(Failure),
}

/// The turn is over; the ends of its commands are still awaited.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) end: TurnEnd,
    pub(super) until: Moment,
}

impl Turn {
    pub(super) fn new(id: TurnId, now: Moment, look_at: Moment) -> Self {
        Self {
            announced: Some(id.clone()),
            id,
            other_name: None,
            began: now,
            inputs: Vec::new(),
            open: Vec::new(),
            ended: BTreeSet::new(),
            answer: None,
            unmarked_answer: None,
            tool_iterations: 0,
            usage: Usage::default(),
            plan: None,
            diff: None,
            compacted: false,
            retries: 0,
            retrying: None,
            given_up: None,
            interrupt: None,
            cancelled_by: None,
            marked_aborted: None,
            ending: None,
            last_progress: now,
            next_look: look_at,
            looks: 0,
            look_for_stall: false,
            clock: Duration::ZERO,
            clock_since: None,
        }
    }

    pub(super) fn is(&self, id: &TurnId) -> bool {
        self.id == *id || self.other_name.as_ref() == Some(id)
    }

    fn end(&mut self, said: SaidEnd) -> TurnEnd {
        let interrupted = |by| TurnEnd::Interrupted { by };
        match said {
            SaidEnd::Completed if self.marked_aborted.is_some() => interrupted(Interrupter::Codex),
            SaidEnd::Completed => TurnEnd::Completed,
            SaidEnd::Interrupted => match (self.interrupt.take(), self.cancelled_by.take()) {
                (Some(Interrupt { cause: InterruptCause::Failed(failure), .. }), _) => {
                    TurnEnd::Failed { failure }
                }
                (Some(Interrupt { cause: InterruptCause::By(by), .. }), _) => interrupted(by),
                (None, Some(by)) => interrupted(Interrupter::Decision { by }),
                (None, None) => interrupted(Interrupter::Codex),
            },
            SaidEnd::Failed(failure) => {
                let failure = failure.or_else(|| self.given_up.take()).unwrap_or_else(|| {
                    let class = FailureClass::Unknown { word: None };
                    Failure::new(class, "codex said that the turn failed, and not why")
                });
                TurnEnd::Failed { failure }
            }
            SaidEnd::Other(word) => {
                let message = format!("codex ended the turn as `{word}`");
                let class = FailureClass::Unknown { word: Some(word) };
                TurnEnd::Failed { failure: Failure::new(class, message) }
            }
        }
    }
}

impl Machine {
    pub(super) fn turn_started(&mut self, now: Moment, id: Option<TurnId>, out: &mut Vec<Effect>) {
        let Some(id) = id else { return };
        if self.past.contains(&id) {
            return out.push(stray(StrayReason::Late, Some(id)));
        }
        match self.turn.as_mut() {
            Some(turn) if turn.is(&id) => {
                turn.announced = Some(id);
                return self.interrupt_announced(now, out);
            }
            Some(turn) if turn.announced.is_none() => {
                turn.other_name = Some(id.clone());
                turn.announced = Some(id);
                return self.interrupt_announced(now, out);
            }
            // Codex runs one turn at a time, so the one before is over, whatever we missed of it.
            Some(turn) => {
                let end = match turn.ending.take() {
                    Some(ending) => ending.end,
                    None => turn.end(SaidEnd::Interrupted),
                };
                self.finish(now, end, false, out);
            }
            None => {}
        }
        if self.turn.is_none() {
            self.begin(now, &id, out);
        }
    }

    /// The turn that this event belongs to, if it is the running one. A turn we have not seen begin begins here: we may
    /// have joined it in the middle.
    pub(super) fn current(
        &mut self,
        now: Moment,
        id: Option<&TurnId>,
        out: &mut Vec<Effect>,
    ) -> Option<&mut Turn> {
        match self.file(now, id, out) {
            Ok(()) => self.turn.as_mut(),
            Err(why) => {
                out.push(stray(why, id.cloned()));
                None
            }
        }
    }

    /// Whether an event of this turn belongs to the running one, and why not.
    pub(super) fn file(
        &mut self,
        now: Moment,
        id: Option<&TurnId>,
        out: &mut Vec<Effect>,
    ) -> Result<(), StrayReason> {
        match (id, &self.turn) {
            (None, Some(_)) => Ok(()),
            (None, None) => Err(StrayReason::Foreign),
            (Some(id), Some(turn)) if turn.is(id) => Ok(()),
            (Some(id), _) if self.past.contains(id) => Err(StrayReason::Late),
            (Some(_), Some(_)) => Err(StrayReason::Foreign),
            (Some(id), None) => {
                let announced = if self.has_order() { None } else { Some(id.clone()) };
                self.begin_as(now, id, announced, out);
                Ok(())
            }
        }
    }

    pub(super) fn begin(&mut self, now: Moment, id: &TurnId, out: &mut Vec<Effect>) {
        self.begin_as(now, id, Some(id.clone()), out);
    }

    /// Begins a turn whose announced id may not be known yet; until then it cannot be interrupted.
    fn begin_as(
        &mut self,
        now: Moment,
        id: &TurnId,
        announced: Option<TurnId>,
        out: &mut Vec<Effect>,
    ) {
        self.reopened = 0;
        let look_at = now.after(self.limits.stall_after);
        self.turn = Some(Turn { announced, ..Turn::new(id.clone(), now, look_at) });
        out.push(Effect::Tell(Update::TurnBegan { turn: id.clone() }));
        self.take_acknowledged(id, out);
        if self.early_interrupt.is_some() {
            self.interrupt_announced(now, out);
        } else {
            self.steer_waiting(id, out);
        }
    }

    /// Now the turn has a name by which it can be interrupted, if somebody wanted that.
    fn interrupt_announced(&mut self, now: Moment, out: &mut Vec<Effect>) {
        if let Some(name) = self.early_interrupt.take() {
            self.stop_turn(now, InterruptCause::By(Interrupter::Caller { name }), out);
        }
    }

    pub(super) fn turn_completed(
        &mut self,
        now: Moment,
        id: Option<TurnId>,
        said: SaidEnd,
        out: &mut Vec<Effect>,
    ) {
        if let Err(why) = self.file(now, id.as_ref(), out) {
            return out.push(stray(why, id));
        }
        self.end_turn(now, said, out);
    }

    /// The turn is over. Its asks are void at once; the ends of its commands are waited for a little.
    pub(super) fn end_turn(&mut self, now: Moment, said: SaidEnd, out: &mut Vec<Effect>) {
        let until = now.after(self.limits.settle);
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.ending.is_some() {
            return out.push(stray(StrayReason::Duplicate, Some(turn.id.clone())));
        }
        let was_interrupted = turn.interrupt.is_some();
        let end = turn.end(said);
        turn.ending = Some(Ending { end, until });
        if was_interrupted {
            // Codex lets commands run on after an interrupt.
            out.push(Effect::CleanTerminals);
        }
        self.withdraw_all(Withdrawal::TurnEnded, out);
        self.finish_if_settled(now, out);
    }

    pub(super) fn finish_if_settled(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let awaits_acknowledgement = self.awaits_acknowledgement();
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(ending) = &turn.ending else { return };
        let awaits = turn.open.iter().any(|open| open.item.is_tool());
        if (awaits || awaits_acknowledgement) && now < ending.until {
            return;
        }
        if let Some(ending) = turn.ending.take() {
            self.finish(now, ending.end, false, out);
        }
    }

    /// Ends the turn for good.
    pub(super) fn finish(
        &mut self,
        now: Moment,
        end: TurnEnd,
        retire: bool,
        out: &mut Vec<Effect>,
    ) {
        let Some(mut turn) = self.turn.take() else { return };
        self.withdraw_all(Withdrawal::TurnEnded, out);
        for open in std::mem::take(&mut turn.open) {
            turn.close(open, ItemEnd::Interrupted, out);
        }
        if end == TurnEnd::Completed && turn.answer.is_none() {
            turn.answer = turn.unmarked_answer.take();
        }
        self.remember(turn.id.clone());
        if let Some(other) = turn.other_name {
            self.remember(other);
        }
        let result = TurnResult {
            turn: turn.id.clone(),
            inputs: turn.inputs,
            end,
            final_answer: turn.answer.or(turn.unmarked_answer),
            tool_iterations: turn.tool_iterations,
            usage: turn.usage,
            plan: turn.plan,
            diff: turn.diff,
            compacted: turn.compacted,
            retries: turn.retries,
            retire,
            elapsed_ms: u64::try_from(now.since(turn.began).as_millis()).unwrap_or(u64::MAX),
        };
        out.push(Effect::Tell(Update::TurnEnded { result: Box::new(result) }));
        self.take_back_unproven(&turn.id);
        self.next(out);
    }

    pub(super) fn interrupt(&mut self, now: Moment, by: String, out: &mut Vec<Effect>) {
        match &self.turn {
            Some(turn) if turn.ending.is_some() => {}
            Some(_) => {
                self.stop_turn(now, InterruptCause::By(Interrupter::Caller { name: by }), out);
            }
            None if self.is_busy() => self.early_interrupt = Some(by),
            None => {}
        }
    }

    /// Asks Codex to end the turn. Who asked first counts.
    pub(super) fn stop_turn(&mut self, now: Moment, cause: InterruptCause, out: &mut Vec<Effect>) {
        let until = now.after(self.limits.interrupt_bound);
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(announced) = turn.announced.clone() else {
            if let InterruptCause::By(Interrupter::Caller { name }) = cause {
                self.early_interrupt = Some(name);
            }
            return;
        };
        if turn.interrupt.is_none() && turn.ending.is_none() {
            turn.interrupt = Some(Interrupt { cause, until, looked: false });
            out.push(Effect::Interrupt { turn: announced });
        }
    }

    /// An interrupt that was under way when the connection broke may not have arrived.
    pub(super) fn interrupt_again(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let until = now.after(self.limits.interrupt_bound);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.ending.is_none()) else { return };
        if let (Some(interrupt), Some(announced)) = (turn.interrupt.as_mut(), &turn.announced) {
            interrupt.until = until;
            interrupt.looked = false;
            out.push(Effect::Interrupt { turn: announced.clone() });
        }
    }

    /// Codex knows no such turn, or did not answer: it may be over, or not yet be begun on its side.
    pub(super) fn interrupt_failed(&mut self, id: &TurnId, out: &mut Vec<Effect>) {
        let concerns = self.turn.as_ref().is_some_and(|turn| turn.is(id));
        if concerns {
            self.look(out);
        }
    }
}

pub(super) fn stray(why: StrayReason, turn: Option<TurnId>) -> Effect {
    Effect::Tell(Update::Stray { why, turn, item: None })
}
