//! A thread whose driver was gone for a while. It is rebuilt from what had been told of it, as if its connection had just
//! broken, and goes its normal way from there.

use std::collections::BTreeSet;
use std::time::Duration;

use super::effect::{AskEnd, Effect, Update};
use super::inputs::{Echo, Given, Waiting};
use super::items::OpenItem;
use super::limits::Limits;
use super::link::Link;
use super::machine::Machine;
use super::signal::{IfBusy, InputKind, SaidEnd, SeenTurn, View};
use super::turns::{Interrupt, InterruptCause, Turn};
use super::views::KnownTexts;
use crate::ask::AskKind;
use crate::decision::Decision;
use crate::goal::Goal;
use crate::id::{AskId, InputId, TurnId};
use crate::item::{ItemBody, ItemEnd};
use crate::moment::Moment;
use crate::turn::Interrupter;
use crate::usage::{Tally, Tokens};

/// What is known of a thread from before its driver was gone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recalled {
    /// The turn that was told as begun and not as ended.
    pub turn: Option<RecalledTurn>,
    /// The inputs that were told neither as taken nor as refused, in the order they were handed over.
    pub inputs: Vec<RecalledInput>,
    /// The last turns that were told as ended, oldest first: those since the first of the inputs was handed over, and a few
    /// before, since a turn that we gave up may run on.
    pub past: Vec<RecalledPast>,
    /// The last turn that was told as ended when the first of the inputs was handed over; without inputs, the last of all.
    /// No input is looked for before it. In it one may stand: we may have given the turn up, and Codex not.
    pub after: Option<TurnId>,
    /// Who wanted the turn to end that runs, or that is about to begin.
    pub interrupted_by: Option<Interrupter>,
    /// The sum of the whole thread as it was told last.
    pub thread_usage: Option<Tokens>,
    /// The thread's goal as it was told last.
    pub goal: Option<Goal>,
}

/// A turn that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledTurn {
    pub id: TurnId,
    /// All that was told of it, in order. Pieces of text may be left out: they only serve a message that never ends.
    pub told: Vec<Update>,
    /// The words of the inputs that were told as taken by it. Where words are all by which Codex lets an input be known
    /// again (before 0.142.5), the same words once more are another.
    pub inputs: Vec<String>,
    /// Since it began.
    pub elapsed: Duration,
    /// What counts of that against its budget.
    pub worked: Duration,
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledPast {
    pub id: TurnId,
    /// The words of the user's messages among its items, of those that were told as ended and reported.
    pub messages: Vec<String>,
    /// The words of the inputs that were told as taken by it.
    pub inputs: Vec<String>,
}

/// An input that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledInput {
    pub input: InputId,
    pub kind: InputKind,
    pub if_busy: IfBusy,
    pub state: InputState,
}

/// Whether Codex may have an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputState {
    /// It was certainly not given to Codex.
    Queued,
    /// It may have been given to Codex; it is looked for before it is given again.
    MaybeSent,
}

/// What is told as the reason of the break.
const AWAY: &str = "the driver of the thread was gone";

impl RecalledTurn {
    /// One of which nothing is known but that it ran.
    pub fn new(id: TurnId) -> Self {
        Self {
            id,
            told: Vec::new(),
            inputs: Vec::new(),
            elapsed: Duration::ZERO,
            worked: Duration::ZERO,
        }
    }
}

impl Machine {
    /// A thread that was driven before, and what is to be done about it first: telling the break and opening it again.
    pub fn recalled(
        limits: Limits,
        echo: Echo,
        now: Moment,
        recalled: Recalled,
    ) -> (Self, Vec<Effect>) {
        let Recalled { turn, inputs, after, past, interrupted_by, thread_usage, goal } = recalled;
        let mut machine = Self::new(limits, echo);
        machine.now = now;
        machine.looks_from = after;
        machine.goal = goal;
        for RecalledPast { id, messages, inputs } in past {
            machine.remember(id, KnownTexts::told(messages, inputs));
        }
        let look_at = now.after(machine.limits.stall_after);
        machine.turn = turn.map(|turn| Turn::recalled(turn, now, look_at));
        let of_turn = machine.turn.as_ref().map(|turn| turn.usage.thread);
        machine.tally = Tally::since(of_turn.filter(|sum| sum.total() > 0).or(thread_usage));
        for RecalledInput { input, kind, if_busy, state } in inputs {
            let waiting = Waiting::new(input, kind, if_busy);
            match state {
                InputState::Queued => machine.queue.push_back(waiting),
                InputState::MaybeSent => machine.given.push(Given::in_doubt(waiting, now)),
            }
        }
        if let Some(by) = interrupted_by {
            machine.recall_interrupt(now, by);
        }
        let mut out = Vec::new();
        machine.closed(AWAY.to_owned(), &mut out);
        if machine.link == Link::Down {
            machine.reopen_anywhere(&mut out);
        }
        machine.keep_time(now);
        (machine, out)
    }

    fn recall_interrupt(&mut self, now: Moment, by: Interrupter) {
        let until = now.after(self.limits.interrupt_bound);
        match (self.turn.as_mut(), by) {
            // Another client did so, or Codex itself; it is none of our business.
            (_, Interrupter::Codex) => {}
            // If the decision did not arrive, Codex asks again.
            (Some(turn), Interrupter::Decision { by }) => turn.cancelled_by = Some(by),
            (Some(turn), by) => {
                let cause = InterruptCause::By(by);
                turn.interrupt = Some(Interrupt { cause, until, sent: false, looked: false });
            }
            (None, Interrupter::Caller { name }) => self.interrupt_early(name),
            (None, Interrupter::Decision { .. } | Interrupter::Stall) => {}
        }
    }

    /// What is older than any input is none of them, though it may have the same words.
    pub(super) fn pass_known(&mut self, view: &View) {
        let Some(from) = self.looks_from.take() else { return };
        let Some(at) = view.turns.iter().position(|seen| seen.id == from) else { return };
        for seen in view.turns.iter().take(at) {
            match self.known_texts(&seen.id) {
                Some(known) => *known = KnownTexts::all_of(seen),
                None => self.remember(seen.id.clone(), KnownTexts::all_of(seen)),
            }
        }
    }
}

impl Machine {
    /// A review has two names, and only one was told. Its announcement stands in the history as a turn of its own, empty and
    /// interrupted, right before the turn that has its items (0.130.0 to 0.166.0). What we gave it does not stand there,
    /// unlike the message of any other turn.
    pub(super) fn recall_names(&mut self, view: &View) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.is_recalled) else { return };
        let Some(at) = view.turns.iter().position(|seen| seen.id == turn.id) else { return };
        let shows_input = view.turns.get(at).is_some_and(|seen| !seen.inputs.is_empty());
        // One that somebody wanted to end may just have ended before it did anything.
        if turn.inputs.is_empty() || shows_input || turn.interrupt.is_some() {
            return;
        }
        let is_new = |seen: &&SeenTurn| seen.id != turn.id && !self.is_past(&seen.id);
        let announcement = view.turns.get(at).filter(|seen| seen.is_announcement());
        let names = match announcement {
            Some(seen) => {
                let items = view.turns.get(at + 1).filter(is_new);
                let items = items.filter(|items| items.inputs.is_empty());
                items.map(|items| (items.id.clone(), seen.id.clone()))
            }
            None => {
                let before = at.checked_sub(1).and_then(|at| view.turns.get(at)).filter(is_new);
                let before = before.filter(|before| before.is_announcement());
                before.map(|before| (before.id.clone(), before.id.clone()))
            }
        };
        if let (Some((other, announced)), Some(turn)) = (names, self.turn.as_mut()) {
            turn.other_name = Some(other);
            turn.announced = Some(announced);
        }
    }
}

impl SeenTurn {
    /// Whether it may be the announcement of a review.
    pub(super) fn is_announcement(&self) -> bool {
        let is_empty = self.inputs.is_empty() && self.items.is_empty();
        is_empty && self.end == Some(SaidEnd::Interrupted)
    }
}

impl Turn {
    fn recalled(recalled: RecalledTurn, now: Moment, look_at: Moment) -> Self {
        let RecalledTurn { id, told, inputs, elapsed, worked } = recalled;
        let mut turn = Self {
            before: elapsed,
            clock: worked,
            is_recalled: true,
            own_texts: inputs.clone(),
            known: KnownTexts::told(Vec::new(), inputs),
            ..Self::new(id, now, look_at)
        };
        let mut ending_asks = BTreeSet::new();
        for update in told {
            if update.turn().is_none_or(|id| *id == turn.id) {
                turn.recall(now, update, &mut ending_asks);
            }
        }
        turn
    }

    fn recall(&mut self, now: Moment, update: Update, ending_asks: &mut BTreeSet<AskId>) {
        match update {
            Update::InputTaken { input, .. } => {
                self.inputs.push(input.clone());
                self.unanswered.push(input);
            }
            Update::ItemBegan { item, .. } => {
                self.note_answer(&item.body);
                self.open.push(OpenItem::told(item));
            }
            Update::Delta { item, text, .. } => self.grow(&item, &text),
            Update::ItemEnded { item, how, .. } => {
                self.note_answer(&item.body);
                self.note_words(now, &item.body);
                if let (ItemBody::UserMessage(message), ItemEnd::Reported) = (&item.body, how) {
                    self.known.echoed(&message.text);
                }
                self.open.retain(|open| open.item.id != item.id);
                self.close(OpenItem::told(item), how, &mut Vec::new());
            }
            Update::Usage { usage, .. } => {
                self.usage = usage;
                self.unanswered.clear();
            }
            Update::Plan { plan, .. } => self.plan = Some(plan),
            Update::Diff { diff, .. } => self.diff = Some(diff),
            Update::Compacted { .. } => self.compacted = true,
            Update::Retrying { attempt, .. } => self.retries = attempt,
            Update::AskOpened { ask, content }
                if matches!(content.kind, AskKind::Command(_) | AskKind::FileChange(_)) =>
            {
                ending_asks.insert(ask);
            }
            Update::AskClosed { ask, how: AskEnd::Decided { decision: Decision::Cancel, by } }
                if ending_asks.contains(&ask) =>
            {
                self.cancelled_by = Some(by);
            }
            _ => {}
        }
    }
}
