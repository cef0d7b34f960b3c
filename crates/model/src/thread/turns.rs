//! How a turn begins, is interrupted, and ends. It ends once.

use std::collections::BTreeMap;
use std::mem::Discriminant;
use std::time::Duration;

use super::effect::{Effect, StrayReason, Update, Withdrawal};
use super::inputs::EarlyInterrupt;
use super::items::OpenItem;
use super::link::{Link, died};
use super::machine::Machine;
use super::signal::SaidEnd;
use super::views::KnownTexts;
use crate::failure::{Failure, FailureClass};
use crate::id::{InputId, ItemId, TurnId};
use crate::item::{ItemBody, ItemEnd};
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
    /// The turn that is listed right before it, if that may be its announcement or another turn that is over.
    pub(super) listed_before: Option<TurnId>,
    /// The id that Codex announced, which interrupts must name. Not known yet for a review whose items come first.
    pub(super) announced: Option<TurnId>,
    pub(super) began: Moment,
    /// The time it had taken when the driver of the thread came back.
    pub(super) before: Duration,
    /// It is known from before the driver was gone, under the one name that was told.
    pub(super) is_recalled: bool,
    pub(super) inputs: Vec<InputId>,
    /// Inputs behind which nothing of the model's has come yet.
    pub(super) unanswered: Vec<InputId>,
    /// The user's messages that are accounted for, ours and others'.
    pub(super) known: KnownTexts,
    /// Codex was asked about the thread when this turn had begun: the answer speaks of it.
    pub(super) asked_about: bool,
    /// Items that have begun and not ended, in order.
    pub(super) open: Vec<OpenItem>,
    /// Items that have ended, with the kind of the last one under each id.
    pub(super) ended: BTreeMap<ItemId, Discriminant<ItemBody>>,
    /// The words of the inputs that it took, where Codex shows nothing else of them.
    pub(super) own_texts: Vec<String>,
    /// It answers something ordered, such as a review.
    pub(super) is_ordered: bool,
    pub(super) answer: Option<String>,
    pub(super) unmarked_answer: Option<String>,
    pub(super) tool_iterations: u32,
    pub(super) usage: Usage,
    pub(super) plan: Option<Plan>,
    pub(super) diff: Option<String>,
    /// Codex changed files while nobody listened, and has not told the whole diff since.
    pub(super) unseen_changes: bool,
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
    /// Codex was told. It waits while there is no connection, or no name that Codex would know.
    pub(super) sent: bool,
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
    word: Word,
}

/// How we know that a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Codex said so, after all else that it said of the turn.
    Heard,
    /// We looked; what Codex said of the turn may still be on its way.
    Awaited,
}

impl Turn {
    pub(super) fn new(id: TurnId, now: Moment, look_at: Moment) -> Self {
        Self {
            announced: Some(id.clone()),
            id,
            known: KnownTexts::default(),
            asked_about: false,
            other_name: None,
            listed_before: None,
            began: now,
            before: Duration::ZERO,
            is_recalled: false,
            inputs: Vec::new(),
            unanswered: Vec::new(),
            open: Vec::new(),
            ended: BTreeMap::new(),
            own_texts: Vec::new(),
            is_ordered: false,
            answer: None,
            unmarked_answer: None,
            tool_iterations: 0,
            usage: Usage::default(),
            plan: None,
            diff: None,
            unseen_changes: false,
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

    /// Nothing has come of it but the word that it began.
    fn has_only_begun(&self) -> bool {
        self.other_name.is_none() && self.open.is_empty() && self.ended.is_empty()
    }

    /// Whether this turn is listed right before it. That may be its announcement, of which nothing more is said, or a turn
    /// that is over, of which something may come late.
    fn is_after(&self, id: &TurnId) -> bool {
        self.listed_before.as_ref() == Some(id)
    }

    pub(super) fn is(&self, id: &TurnId) -> bool {
        self.id == *id || self.other_name.as_ref() == Some(id)
    }

    pub(super) fn result(self, now: Moment, end: TurnEnd, retire: bool) -> TurnResult {
        TurnResult {
            turn: self.id,
            inputs: self.inputs,
            unanswered: if end == TurnEnd::Completed { self.unanswered } else { Vec::new() },
            final_answer: self.answer.or(self.unmarked_answer),
            tool_iterations: self.tool_iterations,
            usage: self.usage,
            plan: self.plan,
            diff: self.diff,
            unseen_changes: self.unseen_changes,
            compacted: self.compacted,
            retries: self.retries,
            retire: retire || is_unfit_for_more(&end),
            end,
            elapsed_ms: u64::try_from((self.before + now.since(self.began)).as_millis())
                .unwrap_or(u64::MAX),
        }
    }

    pub(super) fn end(&mut self, said: SaidEnd) -> TurnEnd {
        let interrupted = |by| TurnEnd::Interrupted { by };
        match said {
            SaidEnd::Completed if self.marked_aborted.is_none() => TurnEnd::Completed,
            SaidEnd::Completed | SaidEnd::Interrupted => {
                match (self.interrupt.take(), self.cancelled_by.take()) {
                    (Some(Interrupt { cause: InterruptCause::Failed(failure), .. }), _) => {
                        TurnEnd::Failed { failure }
                    }
                    (Some(Interrupt { cause: InterruptCause::By(by), .. }), _) => interrupted(by),
                    (None, Some(by)) => interrupted(Interrupter::Decision { by }),
                    (None, None) => interrupted(Interrupter::Codex),
                }
            }
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

/// Failures after which a host agent should not reuse its session.
fn is_unfit_for_more(end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Failed { failure } => {
            matches!(failure.class, FailureClass::Auth | FailureClass::TimedOut)
        }
        TurnEnd::Completed | TurnEnd::Interrupted { .. } => false,
    }
}

impl Machine {
    pub(super) fn turn_started(&mut self, now: Moment, id: Option<TurnId>, out: &mut Vec<Effect>) {
        let Some(id) = id else { return };
        if self.is_past(&id) {
            return out.push(stray(StrayReason::Late, Some(id)));
        }
        match self.turn.as_mut() {
            Some(turn) if turn.is(&id) => {
                turn.announced = Some(id);
                return self.send_interrupt(now, out);
            }
            Some(turn) if turn.announced.is_none() => {
                turn.other_name = Some(id.clone());
                turn.announced = Some(id);
                return self.send_interrupt(now, out);
            }
            Some(_) => self.conclude_unseen(now, out),
            None => {}
        }
        self.begin(now, &id, Some(id.clone()), out);
    }

    /// Another turn has begun. Codex runs one at a time, so the one before is over, whatever we missed of it.
    pub(super) fn conclude_unseen(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let Some(turn) = self.turn.as_mut() else { return };
        let end = match turn.ending.take() {
            Some(ending) => ending.end,
            None => turn.end(SaidEnd::Interrupted),
        };
        // While the thread is opened again nothing is missed: the end of a turn that lived on would have been told. Codex
        // shows the last one as running once the next one of its goal has begun (0.166.0).
        match self.broken && end.is_by_codex() {
            true => self.conclude(now, TurnEnd::Failed { failure: died() }, true, out),
            false => self.conclude(now, end, false, out),
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
        // Nearly all that comes is of the turn that runs.
        let is_current = |id: &TurnId| self.turn.as_ref().is_some_and(|turn| turn.is(id));
        let is_past = id.is_some_and(|id| !is_current(id) && self.is_past(id));
        match (id, self.turn.as_mut()) {
            (None, Some(_)) => Ok(()),
            (None, None) => Err(StrayReason::Foreign),
            (Some(id), Some(turn)) if turn.is(id) => Ok(()),
            (Some(_), _) if is_past => Err(StrayReason::Late),
            // A review was announced, and the answer that brings its other name was lost, or is another client's.
            (Some(id), Some(turn)) if turn.has_only_begun() && !turn.is_after(id) => {
                turn.other_name = Some(id.clone());
                Ok(())
            }
            (Some(_), Some(_)) => Err(StrayReason::Foreign),
            (Some(id), None) => {
                let announced = (!self.has_order()).then(|| id.clone());
                self.begin(now, id, announced, out);
                Ok(())
            }
        }
    }

    pub(super) fn begin(
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
        if let Some(EarlyInterrupt { by, .. }) = self.early_interrupt.take() {
            self.stop_turn(now, InterruptCause::By(Interrupter::Caller { name: by }), out);
        } else {
            self.steer_if_running(out);
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
        self.end_turn(now, said, Word::Heard, out);
    }

    /// The turn is over. Its asks are void at once; the ends of its commands are waited for a little.
    pub(super) fn end_turn(
        &mut self,
        now: Moment,
        said: SaidEnd,
        word: Word,
        out: &mut Vec<Effect>,
    ) {
        let until = now.after(self.limits.settle);
        let Some(turn) = self.turn.as_mut() else { return };
        if let Some(ending) = &mut turn.ending {
            if std::mem::replace(&mut ending.word, word) == Word::Heard {
                return out.push(stray(StrayReason::Duplicate, Some(turn.id.clone())));
            }
            return self.finish_if_settled(now, out);
        }
        let was_interrupted = turn.interrupt.is_some();
        let end = turn.end(said);
        turn.ending = Some(Ending { end, until, word });
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
        let awaits_tool = turn.open.iter().any(|open| open.item.is_tool());
        let awaits = awaits_tool || awaits_acknowledgement || ending.word == Word::Awaited;
        if awaits && now < ending.until {
            return;
        }
        if let Some(ending) = turn.ending.take() {
            self.finish(now, ending.end, false, out);
        }
    }

    /// Ends the turn for good, and goes on with what waits.
    pub(super) fn finish(
        &mut self,
        now: Moment,
        end: TurnEnd,
        retire: bool,
        out: &mut Vec<Effect>,
    ) {
        self.conclude(now, end, retire, out);
        self.next(out);
    }

    /// Ends the turn for good.
    pub(super) fn conclude(
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
        let id = turn.id.clone();
        self.remember(id.clone(), turn.known.clone());
        if let Some(other) = turn.other_name.clone() {
            self.remember(other, turn.known.clone());
        }
        let result = Box::new(turn.result(now, end, retire));
        out.push(Effect::Tell(Update::TurnEnded { result }));
        self.doubt_unproven(&id);
    }

    pub(super) fn interrupt(&mut self, now: Moment, by: String, out: &mut Vec<Effect>) {
        match &self.turn {
            Some(turn) if turn.ending.is_some() => {}
            Some(_) => {
                self.stop_turn(now, InterruptCause::By(Interrupter::Caller { name: by }), out);
            }
            None => self.interrupt_early(by),
        }
    }

    /// Asks Codex to end the turn. Who asked first counts.
    pub(super) fn stop_turn(&mut self, now: Moment, cause: InterruptCause, out: &mut Vec<Effect>) {
        let until = now.after(self.limits.interrupt_bound);
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.interrupt.is_none() && turn.ending.is_none() {
            turn.interrupt = Some(Interrupt { cause, until, sent: false, looked: false });
            self.send_interrupt(now, out);
        }
    }

    /// Sends the interrupt that is wanted, once per connection: Codex does not answer a second one for the same turn
    /// (0.130.0 to 0.166.0).
    pub(super) fn send_interrupt(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let until = now.after(self.limits.interrupt_bound);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.ending.is_none()) else { return };
        let Some(interrupt) = turn.interrupt.as_mut().filter(|it| !it.sent) else { return };
        if let (Some(announced), Link::Up, false) = (&turn.announced, self.link, self.broken) {
            interrupt.sent = true;
            interrupt.until = until;
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
