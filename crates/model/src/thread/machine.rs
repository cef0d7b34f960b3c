//! The state of a thread, and the one door through which it changes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::asks::OpenAsk;
use super::effect::{Effect, StrayReason, Update};
use super::inputs::{EarlyInterrupt, Echo, Given, Waiting};
use super::limits::Limits;
use super::link::Link;
use super::liveness::Looking;
use super::signal::{Deciders, Said, Signal, What};
use super::turns::Turn;
use super::views::KnownTexts;
use crate::decision::Decision;
use crate::goal::Goal;
use crate::id::{AskId, InputId, TurnId};
use crate::moment::Moment;
use crate::usage::Tally;

/// Turns that are over and whose late events must be known as such. Codex sends them within seconds.
const PAST_TURNS: usize = 64;

/// Events that may come before the answer to the opening of a thread: a second of the fastest stream that was seen
/// (4,000 pieces of text). More are taken as they come.
const EVENTS_AHEAD: usize = 4096;

/// One thread.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) limits: Limits,
    pub(super) echo: Echo,
    /// The time of the signal at hand.
    pub(super) now: Moment,
    pub(super) link: Link,
    /// Inputs that have not been given to Codex, in order.
    pub(super) queue: VecDeque<Waiting>,
    /// Inputs that were given to Codex and not yet shown to have arrived, in order.
    pub(super) given: Vec<Given>,
    pub(super) turn: Option<Turn>,
    pub(super) tally: Tally,
    pub(super) past: VecDeque<PastTurn>,
    pub(super) asks: BTreeMap<AskId, OpenAsk>,
    pub(super) deciders: Deciders,
    /// Someone wants the turn interrupted that is about to begin.
    pub(super) early_interrupt: Option<EarlyInterrupt>,
    pub(super) looking: Looking,
    /// A sub-agent waits for a person.
    pub(super) child_waits: bool,
    /// Times the thread was opened again without anything coming of it.
    pub(super) reopened: u8,
    /// The connection broke, and the thread was not opened again since: no event of what happened is on its way.
    pub(super) broken: bool,
    /// What Codex said on a new connection before it answered how the thread stands there.
    pub(super) ahead: Vec<Said>,
    /// A turn that a look has shown and no event yet.
    pub(super) sighted: Option<TurnId>,
    /// The turn before which nothing is ours to look for, from the return of the driver until the thread was seen.
    pub(super) looks_from: Option<TurnId>,
    /// The thread has a goal: Codex starts turns by itself, and some may have come and gone while nobody listened.
    pub(super) goal: Option<Goal>,
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) id: TurnId,
    pub(super) known: KnownTexts,
}

impl Machine {
    /// A thread that was just opened and has no turn running.
    pub fn new(limits: Limits, echo: Echo) -> Self {
        Self {
            limits,
            echo,
            now: Moment::default(),
            link: Link::Up,
            queue: VecDeque::new(),
            given: Vec::new(),
            turn: None,
            tally: Tally::default(),
            past: VecDeque::new(),
            asks: BTreeMap::new(),
            deciders: Deciders::default(),
            early_interrupt: None,
            looking: Looking::No,
            child_waits: false,
            reopened: 0,
            broken: false,
            ahead: Vec::new(),
            sighted: None,
            looks_from: None,
            goal: None,
        }
    }

    /// Takes one signal, and says what is to be done about it, in order.
    pub fn step(&mut self, now: Moment, signal: Signal) -> Vec<Effect> {
        let mut out = Vec::new();
        self.now = now;
        self.dispatch(now, signal, &mut out);
        self.keep_time(now);
        out
    }

    /// When [`Signal::Tick`] is wanted at the latest.
    pub fn wake_at(&self) -> Option<Moment> {
        let turn = self.turn.as_ref().and_then(|turn| self.turn_deadline(turn));
        let asks = self.asks.values().filter(|ask| ask.is_for_people());
        let asks = asks.filter_map(|ask| ask.deadline).min();
        let idle = self.turn.is_none() && self.link == Link::Up && self.looking == Looking::No;
        let given = self.given.iter().map(|given| self.given_deadline(given.since)).min();
        turn.into_iter().chain(asks).chain(given.filter(|_| idle)).min()
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref().map(|turn| &turn.id)
    }

    /// Whether Codex may have this input, and has not shown it yet.
    pub fn has_given(&self, input: &InputId) -> bool {
        self.given.iter().any(|given| given.waiting.input == *input)
    }

    /// Whether the turn is over and only the ends of its commands are awaited.
    pub fn is_settling(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.ending.is_some())
    }

    /// Whether the turn that runs is to end soon.
    pub fn is_stopping(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.interrupt.is_some() || turn.ending.is_some())
    }

    /// Whether an input sent now would have to wait.
    pub fn is_busy(&self) -> bool {
        self.turn.is_some() || !self.given.is_empty() || !self.queue.is_empty()
    }

    /// Whether a person is waited for.
    pub fn waits_for_people(&self) -> bool {
        self.child_waits || self.asks.values().any(|ask| ask.is_for_people())
    }

    /// Whether Codex starts another turn when the running one has ended.
    pub fn has_open_goal(&self) -> bool {
        self.goal.as_ref().is_some_and(Goal::is_open)
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn deciders(&self) -> Deciders {
        self.deciders
    }

    /// Whether this decision of a person would count now.
    pub fn takes(&self, ask: &AskId, decision: &Decision) -> bool {
        self.asks.get(ask).is_some_and(|ask| ask.takes(decision))
    }

    pub fn open_asks(&self) -> impl Iterator<Item = &AskId> {
        self.asks.keys()
    }

    fn dispatch(&mut self, now: Moment, signal: Signal, out: &mut Vec<Effect>) {
        match signal {
            Signal::Send { input, kind, if_busy } => self.send(now, input, kind, if_busy, out),
            Signal::Interrupt { by } => self.interrupt(now, by, out),
            Signal::Decide { ask, decision, by } => self.decide(&ask, decision, by, out),
            Signal::DeciderFailed { ask, reason } => self.decline(&ask, reason, out),
            Signal::NoHandler { ask } => self.refuse(&ask, out),
            Signal::Deciders(deciders) => self.deciders_changed(deciders, out),
            Signal::Codex(said) => self.said(now, said, out),
            Signal::Submitted { input, turn } => self.submitted(&input, turn, out),
            Signal::Steered { input } => self.steered(&input, out),
            Signal::GiveFailed { input, why } => self.give_failed(&input, why, out),
            Signal::InterruptFailed { turn } => self.interrupt_failed(&turn, out),
            Signal::Answered { ask } => self.answered(&ask, out),
            Signal::AnswerLost { ask, reason } => self.answer_lost(&ask, reason, out),
            Signal::Looked(view) => self.looked(now, view, out),
            Signal::Reopened(view) => self.reopened(now, &view, out),
            Signal::Missed { turn, item } => self.missed(now, turn, item, out),
            Signal::ReopenFailed { failure } => self.reopen_failed(now, &failure, out),
            Signal::ChildSpoke { waiting } => self.child_spoke(now, waiting),
            Signal::Closed { reason } => self.closed(reason, out),
            Signal::Listening => self.progress(now),
            Signal::Tick => self.tick(now, out),
        }
    }

    pub(super) fn said(&mut self, now: Moment, said: Said, out: &mut Vec<Effect>) {
        let is_ahead = self.broken && matches!(self.link, Link::Reopening(_));
        if is_ahead && self.ahead.len() < EVENTS_AHEAD {
            return self.ahead.push(said);
        }
        self.hear_ahead(now, out);
        self.hear(now, said, out);
    }

    /// What came before the answer to the opening happened after it.
    pub(super) fn hear_ahead(&mut self, now: Moment, out: &mut Vec<Effect>) {
        for said in std::mem::take(&mut self.ahead) {
            self.hear(now, said, out);
        }
    }

    /// What a turn has used is told once more when its thread is opened; of one that ended meanwhile there is no other
    /// word of it. Its last items may come in the same moment: they happened before its end and are part of its result.
    pub(super) fn hear_rest_ahead(&mut self, now: Moment, is_over: bool, out: &mut Vec<Effect>) {
        let Some(turn) = self.turn.as_ref() else { return };
        let is_its = |said: &Said| {
            let is_rest = match said.what {
                What::Usage { .. } => true,
                What::ItemStarted(_)
                | What::ItemCompleted(_)
                | What::Delta { .. }
                | What::Plan(_)
                | What::Diff(_)
                | What::Compacted => is_over,
                _ => false,
            };
            is_rest && said.turn.as_ref().is_some_and(|id| turn.is(id))
        };
        let ahead = std::mem::take(&mut self.ahead).into_iter();
        let (rest, others): (Vec<_>, _) = ahead.partition(is_its);
        self.ahead = others;
        for said in rest {
            self.hear(now, said, out);
        }
    }

    fn hear(&mut self, now: Moment, Said { turn, what }: Said, out: &mut Vec<Effect>) {
        if self.link == Link::Down {
            // Nothing can be done for a turn on a connection that is gone; opening the thread shows what became of it.
            return self.said_too_late(turn, what, out);
        }
        // An attempt that fails shows that Codex lives, but nothing comes of it.
        if !matches!(what, What::Failing { .. }) {
            self.progress(now);
        }
        let is_step = matches!(
            what,
            What::ItemStarted(_) | What::ItemCompleted(_) | What::Delta { .. } | What::Asked { .. }
        );
        if is_step && self.turn.is_some() {
            self.reopened = 0;
        }
        match what {
            What::TurnStarted => self.turn_started(now, turn, out),
            What::TurnCompleted(end) => self.turn_completed(now, turn, end, out),
            What::ItemStarted(item) => self.item_started(now, turn, item, out),
            What::ItemCompleted(item) => self.item_completed(now, turn, item, out),
            What::Delta { item, kind, text } => self.delta(now, turn, item, kind, text, out),
            What::Files { item, files } => self.files(turn.as_ref(), &item, files),
            What::Usage { last, thread, context_window } => {
                // A report alone begins no turn: one is repeated after each resume.
                let call = self.tally.count(last, thread);
                let current = self.turn.as_mut();
                let ours = current.filter(|current| turn.is_none_or(|turn| current.is(&turn)));
                if let (Some(current), Some(call)) = (ours, call) {
                    current.usage.add(call, thread, context_window);
                    current.unanswered.clear();
                    let update = Update::Usage { turn: current.id.clone(), usage: current.usage };
                    out.push(Effect::Tell(update));
                }
            }
            What::Plan(plan) => {
                if let Some(current) = self.current(now, turn.as_ref(), out) {
                    current.plan = Some(plan.clone());
                    out.push(Effect::Tell(Update::Plan { turn: current.id.clone(), plan }));
                }
            }
            What::Diff(diff) => self.diff(now, turn.as_ref(), diff, out),
            What::Compacted => self.compacted(now, turn.as_ref(), out),
            What::Goal(goal) => {
                self.goal.clone_from(&goal);
                out.push(Effect::Tell(Update::Goal { goal }));
            }
            What::AutoReview(review) => {
                out.push(Effect::Tell(Update::AutoReview { turn, review }));
            }
            What::Failing { failure, will_retry } => {
                self.failing(now, turn.as_ref(), failure, will_retry, out);
            }
            What::Asked { ask, content } => self.asked(now, ask, *content, out),
            What::AskResolved { ask } => self.ask_resolved(now, &ask, out),
            What::Sign => {}
        }
    }

    fn said_too_late(&self, turn: Option<TurnId>, what: What, out: &mut Vec<Effect>) {
        let is_past = turn.as_ref().is_some_and(|turn| self.is_past(turn));
        let why = if is_past { StrayReason::Late } else { StrayReason::Foreign };
        let item = match what {
            What::ItemStarted(item) | What::ItemCompleted(item) => Some(item),
            What::Asked { ask, .. } => return out.push(Effect::Refuse { ask }),
            // How the goal stands is told again when the thread is opened.
            What::AskResolved { .. } | What::Sign | What::Usage { .. } | What::Goal(_) => return,
            What::AutoReview(review) => {
                return out.push(Effect::Tell(Update::AutoReview { turn, review }));
            }
            _ => None,
        };
        out.push(Effect::Tell(Update::Stray { why, turn, item }));
    }

    pub(super) fn remember(&mut self, id: TurnId, known: KnownTexts) {
        if self.past.len() == PAST_TURNS {
            self.past.pop_front();
        }
        self.past.push_back(PastTurn { id, known });
    }

    pub(super) fn is_past(&self, id: &TurnId) -> bool {
        self.past.iter().any(|past| past.id == *id)
    }

    /// The clock of the budget stands while a person is waited for, and silence counts only from then on.
    pub(super) fn keep_time(&mut self, now: Moment) {
        let stands = self.waits_for_people();
        let Some(turn) = &mut self.turn else { return };
        let since = turn.clock_since.take();
        if let Some(since) = since {
            turn.clock += now.since(since);
        }
        if !stands {
            turn.clock_since = Some(now);
            if since.is_none() {
                self.progress(now);
            }
        }
    }

    /// Doubling up to a quarter of an hour: a warning must not become noise.
    pub(super) fn look_interval(&self, looks: u32) -> Duration {
        let doubled = self.limits.stall_after.saturating_mul(1 << looks.min(10));
        doubled.min(Duration::from_secs(15 * 60)).max(self.limits.stall_after)
    }
}
