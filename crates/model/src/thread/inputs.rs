//! How an input gets to Codex, and how we know that it did.
//!
//! An answer of Codex alone proves nothing: a steer may be accepted in the moment the turn ends, and up to 0.142.5 a
//! `turn/start` may be answered with a turn that never begins. The proof is the echo in a turn's items, or the beginning
//! of the very turn that was answered. Without proof we look, and only then send again. No input is ever lost: each is
//! told as taken or as refused.

use std::collections::VecDeque;

use super::effect::{Effect, Update};
use super::link::Link;
use super::machine::Machine;
use super::signal::{GiveFailure, IfBusy, InputKind};
use super::turns::InterruptCause;
use crate::failure::{Failure, FailureClass};
use crate::id::{InputId, TurnId};
use crate::item::{Item, ItemBody, Sender, UserMessage};
use crate::moment::Moment;
use crate::turn::Interrupter;

/// How often one input is given to Codex before it is refused. Once is the rule; each further time a look at the thread
/// has shown that the one before did not arrive.
const TRIES: u8 = 4;

/// How Codex lets us know our inputs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// By our own ids: 0.142.5 and later.
    Ids,
    /// By their text alone.
    TextOnly,
}

/// An input that has not been given to Codex.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) input: InputId,
    pub(super) kind: InputKind,
    wish: Wish,
    tries: u8,
}

/// A wish to end a turn that has not begun.
#[derive(Debug, Clone)]
pub(super) struct EarlyInterrupt {
    pub(super) by: String,
    /// The input whose turn is meant; if it comes to nothing, so does the wish.
    pub(super) input: InputId,
}

impl Waiting {
    pub(super) fn new(input: InputId, kind: InputKind, if_busy: IfBusy) -> Self {
        let wish = match if_busy {
            // A running turn takes messages only.
            _ if if_busy.is_steer() && kind != InputKind::Order => Wish::Steer,
            IfBusy::Interrupt => Wish::TurnFirst,
            _ => Wish::Turn,
        };
        Self { input, kind, wish, tries: 0 }
    }

    pub(super) fn reads(&self, text: &str) -> bool {
        matches!(&self.kind, InputKind::Message { text: own } if own == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// A turn of its own.
    Turn,
    /// A turn of its own before all others.
    TurnFirst,
    /// A place in the turn that runs or is about to.
    Steer,
}

/// An input that was given to Codex.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) waiting: Waiting,
    way: Way,
    pub(super) state: GivenState,
    /// When we last had reason to believe that it gets on.
    pub(super) since: Moment,
}

impl Given {
    /// One from before the driver was gone. Nobody knows whether it was given to Codex at all.
    pub(super) fn in_doubt(waiting: Waiting, since: Moment) -> Self {
        let waiting = Waiting { tries: 1, ..waiting };
        Self { waiting, way: Way::Unknown, state: GivenState::InDoubt, since }
    }

    /// Whether it is something ordered that the next turn is about. If it may still have been waiting for its time, any
    /// turn could be another's.
    fn is_order(&self) -> bool {
        self.waiting.kind == InputKind::Order && self.way != Way::Unknown
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    Turn,
    Steer(TurnId),
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GivenState {
    /// Codex has not answered.
    Sent,
    /// Codex said yes; a submitted one with the turn it named.
    Acknowledged(Option<TurnId>),
    /// Nobody knows whether Codex has it, and Codex was not asked since.
    InDoubt,
    /// Codex was asked since the doubt arose: if the thread is at rest and does not show it, Codex does not have it.
    LookedFor,
}

impl GivenState {
    pub(super) fn is_in_doubt(&self) -> bool {
        matches!(self, Self::InDoubt | Self::LookedFor)
    }
}

impl Machine {
    pub(super) fn send(
        &mut self,
        now: Moment,
        input: InputId,
        kind: InputKind,
        if_busy: IfBusy,
        out: &mut Vec<Effect>,
    ) {
        let id = input.clone();
        let waiting = Waiting::new(input, kind, if_busy);
        match if_busy {
            IfBusy::Fail if self.is_busy() => {
                let failure = Failure::new(FailureClass::Busy, "the thread is at work");
                return self.refused(waiting.input, failure, out);
            }
            IfBusy::Interrupt => {
                let name = "a new input".to_owned();
                if self.turn.is_some() {
                    let by = Interrupter::Caller { name };
                    self.stop_turn(now, InterruptCause::By(by), out);
                } else if !self.given.is_empty() {
                    self.interrupt_early(name);
                }
                // Those that came before with the same wish keep their place.
                let is_first = |waiting: &Waiting| waiting.wish == Wish::TurnFirst;
                let at = self.queue.iter().rposition(is_first).map_or(0, |at| at + 1);
                self.queue.insert(at, waiting);
            }
            _ => self.queue.push_back(waiting),
        }
        self.next(out);
        self.steer_if_running(out);
        if self.queue.iter().any(|waiting| waiting.input == id) {
            out.push(Effect::Tell(Update::InputQueued { input: id }));
        }
    }

    /// The turn of what Codex was given, or is to be given first, is to end as soon as it begins.
    pub(super) fn interrupt_early(&mut self, by: String) {
        let given = self.given.iter().map(|given| &given.waiting);
        if let Some(waiting) = given.chain(&self.queue).next() {
            let input = waiting.input.clone();
            self.early_interrupt = Some(EarlyInterrupt { by, input });
        }
    }

    /// Gives the next input to Codex, if it is its time.
    pub(super) fn next(&mut self, out: &mut Vec<Effect>) {
        if self.turn.is_some() {
            return;
        }
        let in_doubt = self.given.iter().any(|given| given.state.is_in_doubt());
        match self.link {
            Link::Reopening(_) => {}
            Link::Down if in_doubt || !self.queue.is_empty() => self.reopen_anywhere(out),
            Link::Down => {}
            // The thread is open again, and what happened there is just being taken over.
            Link::Up if self.broken => {}
            Link::Up if self.given.iter().any(|given| given.state == GivenState::InDoubt) => {
                self.look(out);
            }
            Link::Up if !self.given.is_empty() => {}
            Link::Up => {
                if let Some(waiting) = self.queue.pop_front() {
                    out.push(Effect::Submit { input: waiting.input.clone() });
                    self.give(waiting, Way::Turn);
                }
            }
        }
    }

    fn steer_waiting(&mut self, turn: &TurnId, out: &mut Vec<Effect>) {
        let waiting = std::mem::take(&mut self.queue).into_iter();
        let (steers, others): (VecDeque<_>, _) =
            waiting.partition(|waiting| waiting.wish == Wish::Steer);
        self.queue = others;
        for waiting in steers {
            out.push(Effect::Steer { input: waiting.input.clone(), turn: turn.clone() });
            self.give(waiting, Way::Steer(turn.clone()));
        }
    }

    pub(super) fn steer_if_running(&mut self, out: &mut Vec<Effect>) {
        let running = self
            .turn
            .as_ref()
            .filter(|turn| turn.ending.is_none() && turn.interrupt.is_none())
            .map(|turn| turn.id.clone());
        if let (Some(turn), Link::Up, false) = (running, self.link, self.broken) {
            self.steer_waiting(&turn, out);
        }
    }

    fn give(&mut self, mut waiting: Waiting, way: Way) {
        waiting.tries += 1;
        self.given.push(Given { waiting, way, state: GivenState::Sent, since: self.now });
    }

    pub(super) fn submitted(
        &mut self,
        input: &InputId,
        turn: Option<TurnId>,
        out: &mut Vec<Effect>,
    ) {
        self.reopened = 0;
        let Some(at) = self.given_at(input) else {
            return self.name_ordered_turn(input, turn);
        };
        // A turn that never begins is none of those that we saw.
        let is_seen =
            turn.as_ref().is_some_and(|turn| self.turn() == Some(turn) || self.is_past(turn));
        match turn {
            Some(turn) if is_seen => self.take(at, turn, out),
            turn => self.acknowledge(at, turn),
        }
        self.finish_if_settled(self.now, out);
        self.next(out);
    }

    pub(super) fn steered(&mut self, input: &InputId, out: &mut Vec<Effect>) {
        self.reopened = 0;
        let Some(at) = self.given_at(input) else { return };
        self.acknowledge(at, None);
        self.doubt_orphaned_steers();
        self.next(out);
    }

    fn doubt(&mut self, at: usize) {
        if let Some(given) = self.given.get_mut(at) {
            given.state = GivenState::InDoubt;
        }
    }

    fn acknowledge(&mut self, at: usize, turn: Option<TurnId>) {
        let now = self.now;
        // What was said on a connection that is gone may have been lost with the app-server.
        let state = match self.broken {
            true => GivenState::InDoubt,
            false => GivenState::Acknowledged(turn),
        };
        if let Some(given) = self.given.get_mut(at) {
            given.state = state;
            given.since = now;
        }
    }

    pub(super) fn give_failed(&mut self, input: &InputId, why: GiveFailure, out: &mut Vec<Effect>) {
        let Some(at) = self.given_at(input) else { return };
        match why {
            GiveFailure::NotSent => self.give_back(at, out),
            GiveFailure::InDoubt => {
                self.doubt(at);
                self.look(out);
            }
            GiveFailure::ThreadGone => {
                self.give_back(at, out);
                match (self.link, &self.turn) {
                    (Link::Up, None) => self.reopen_anywhere(out),
                    // The turn cannot run either.
                    (Link::Up, Some(_)) => self.look(out),
                    _ => {}
                }
            }
            GiveFailure::NoSuchTurn => {
                self.give_back(at, out);
                // The turn that we believe to run does not run for Codex.
                self.look(out);
            }
            GiveFailure::NotSteerable => self.give_back(at, out),
            GiveFailure::Refused(failure) => {
                self.reopened = 0;
                let given = self.given.remove(at);
                self.refused(given.waiting.input, failure, out);
            }
        }
        self.finish_if_settled(self.now, out);
        self.next(out);
    }

    /// A turn began: those that Codex said would be answered by it are, and so is what was ordered.
    pub(super) fn take_acknowledged(&mut self, turn: &TurnId, out: &mut Vec<Effect>) {
        let said = GivenState::Acknowledged(Some(turn.clone()));
        while let Some(at) = self.given.iter().position(|given| given.state == said) {
            self.take(at, turn.clone(), out);
        }
        if let Some(at) = self.given.iter().position(Given::is_order) {
            let named = match self.given.get(at).map(|given| &given.state) {
                Some(GivenState::Acknowledged(named)) => named.clone(),
                _ => None,
            };
            self.add_name(named);
            self.take(at, turn.clone(), out);
        }
    }

    /// Codex names a review twice: one id begins, the other is on all that follows. The answer brings the other.
    fn name_ordered_turn(&mut self, input: &InputId, named: Option<TurnId>) {
        if self.turn.as_ref().is_some_and(|turn| turn.inputs.contains(input)) {
            self.add_name(named);
        }
    }

    fn add_name(&mut self, named: Option<TurnId>) {
        if let (Some(turn), Some(named)) = (self.turn.as_mut(), named)
            && turn.id != named
        {
            turn.other_name = Some(named);
        }
    }

    /// Whether something was ordered whose turn has not begun.
    pub(super) fn has_order(&self) -> bool {
        self.given.iter().any(Given::is_order)
    }

    /// A user's message stands among the items of a turn.
    pub(super) fn echoed(&mut self, turn: &TurnId, message: &UserMessage, out: &mut Vec<Effect>) {
        if let (Echo::TextOnly, Some(known)) = (self.echo, self.known_texts(turn)) {
            known.echoed(&message.text);
        }
        let at = match (&message.input, self.echo) {
            (Some(input), _) => self.given_at(input),
            (None, Echo::TextOnly) => {
                self.given.iter().position(|given| given.waiting.reads(&message.text))
            }
            (None, Echo::Ids) => None,
        };
        if let Some(at) = at {
            self.take(at, turn.clone(), out);
        }
    }

    /// Notes who sent a message that stands among the items of the running turn.
    pub(super) fn name_sender(&self, item: &mut Item) {
        if let ItemBody::UserMessage(message) = &mut item.body {
            message.sender = self.sender_of(message);
        }
    }

    fn sender_of(&self, message: &UserMessage) -> Sender {
        let Some(turn) = &self.turn else { return Sender::Task };
        let is_ours = match (&message.input, self.echo) {
            (Some(input), _) => turn.inputs.contains(input) || self.given_at(input).is_some(),
            // What is ordered, such as a review, has words of Codex's own.
            _ if turn.is_ordered => true,
            (None, Echo::Ids) => false,
            (None, Echo::TextOnly) => {
                turn.own_texts.contains(&message.text)
                    || self.given.iter().any(|given| given.waiting.reads(&message.text))
            }
        };
        if is_ours { Sender::Task } else { Sender::Elsewhere }
    }

    /// A user's message in a turn that is over is as good a proof.
    pub(super) fn echoed_late(
        &mut self,
        turn: Option<&TurnId>,
        item: &Item,
        out: &mut Vec<Effect>,
    ) {
        if let (Some(turn), ItemBody::UserMessage(message)) = (turn, &item.body)
            && self.is_past(turn)
        {
            self.echoed(turn, message, out);
            self.next(out);
        }
    }

    /// The turn is over. What Codex accepted and never echoed may have been lost with it: an interrupt drops steers
    /// (0.130.0 to 0.166.0), and we may have missed the echo.
    pub(super) fn doubt_unproven(&mut self, turn: &TurnId) {
        self.doubt_orphaned_steers();
        for given in &mut self.given {
            let is_unproven = match &given.state {
                GivenState::Acknowledged(Some(named)) => given.way == Way::Turn && named != turn,
                GivenState::Acknowledged(None) => given.way == Way::Turn,
                // Now that the turn is over, the thread shows what it took.
                GivenState::LookedFor => true,
                GivenState::Sent | GivenState::InDoubt => false,
            };
            if is_unproven {
                given.state = GivenState::InDoubt;
            }
        }
    }

    /// Steers that were accepted for a turn that is over, and not echoed.
    fn doubt_orphaned_steers(&mut self) {
        let running = self.turn.as_ref().map(|turn| turn.id.clone());
        for given in &mut self.given {
            if let Way::Steer(turn) = &given.way
                && running.as_ref() != Some(turn)
                && matches!(given.state, GivenState::Acknowledged(_))
            {
                given.state = GivenState::InDoubt;
            }
        }
    }

    /// What was acknowledged on a connection that is gone may have been lost with it.
    pub(super) fn doubt_acknowledged(&mut self) {
        for given in &mut self.given {
            if matches!(given.state, GivenState::Acknowledged(_)) {
                given.state = GivenState::InDoubt;
            }
        }
    }

    /// Whether the end of the turn must wait for Codex's answer to an input: it may name this very turn.
    pub(super) fn awaits_acknowledgement(&self) -> bool {
        self.given.iter().any(|given| given.way == Way::Turn && given.state == GivenState::Sent)
    }

    fn give_back(&mut self, at: usize, out: &mut Vec<Effect>) {
        let given = self.given.remove(at);
        self.requeue(given, out);
    }

    pub(super) fn requeue(&mut self, given: Given, out: &mut Vec<Effect>) {
        let waiting = Waiting { wish: Wish::Turn, ..given.waiting };
        if waiting.tries >= TRIES {
            let message = format!("codex did not take it in {TRIES} tries");
            // One whose app-servers died each time was never refused.
            let class = match self.broken {
                true => FailureClass::ServerGone,
                false => FailureClass::Unknown { word: None },
            };
            return self.refused(waiting.input, Failure::new(class, message), out);
        }
        out.push(Effect::Tell(Update::InputQueued { input: waiting.input.clone() }));
        self.queue.push_front(waiting);
    }

    pub(super) fn take(&mut self, at: usize, turn: TurnId, out: &mut Vec<Effect>) {
        let Waiting { input, kind, .. } = self.given.remove(at).waiting;
        if let Some(current) = self.turn.as_mut().filter(|current| current.id == turn) {
            match kind {
                InputKind::Message { text } if self.echo == Echo::TextOnly => {
                    current.own_texts.push(text);
                }
                InputKind::Message { .. } => {}
                InputKind::Order => current.is_ordered = true,
            }
            current.inputs.push(input.clone());
            current.unanswered.push(input.clone());
        }
        out.push(Effect::Tell(Update::InputTaken { input, turn }));
    }

    fn given_at(&self, input: &InputId) -> Option<usize> {
        self.given.iter().position(|given| given.waiting.input == *input)
    }
}
