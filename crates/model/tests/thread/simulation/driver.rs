//! The driver between the machine and the simulated Codex. Events keep their order; answers come whenever they come.

use std::collections::{BTreeMap, VecDeque};

use ostler_model::failure::{Failure, FailureClass};
use ostler_model::thread::{
    Echo, Effect, GiveFailure, IfBusy, InputKind, Limits, Machine, Said, SaidEnd, ServerWanted,
    Signal, Update,
};
use ostler_model::{AskId, Decision, InputId, Moment};

use super::Choices;
use super::codex::{Codex, Request, Version};
use super::log::Log;
use super::restart::settles_interrupt;

pub(crate) struct World {
    pub(crate) choices: Choices,
    pub(crate) codex: Codex,
    pub(crate) machine: Machine,
    pub(crate) log: Log,
    pub(crate) now: u64,
    pub(crate) inputs: BTreeMap<InputId, InputKind>,
    /// What was handed over, in order.
    pub(crate) sent: Vec<Sent>,
    /// Somebody asked for an interrupt, and no turn has ended since.
    pub(crate) is_interrupt_wanted: bool,
    /// Asks that were brought to whoever decides.
    pub(crate) put: Vec<AskId>,
    requests: VecDeque<Request>,
    heard: VecDeque<Heard>,
    answers: Vec<Signal>,
    wanted: Option<ServerWanted>,
    is_connected: bool,
    server_lives: bool,
    /// What watchers were told.
    pub(crate) told: Vec<Update>,
    /// The whole story, if somebody wants to read it.
    pub(crate) story: Option<Vec<String>>,
}

/// An input that was handed over.
pub(crate) struct Sent {
    pub(crate) input: InputId,
    pub(crate) if_busy: IfBusy,
    /// How many updates had been told by then.
    pub(crate) at: usize,
}

enum Heard {
    Said(Box<Said>),
    Closed,
}

impl World {
    pub(crate) fn new(version: Version, limits: Limits, choices: Choices) -> Self {
        Self {
            choices,
            codex: Codex::new(version),
            machine: Machine::new(limits, echo(version)),
            log: Log::default(),
            now: 0,
            inputs: BTreeMap::new(),
            sent: Vec::new(),
            is_interrupt_wanted: false,
            put: Vec::new(),
            requests: VecDeque::new(),
            heard: VecDeque::new(),
            answers: Vec::new(),
            wanted: None,
            is_connected: true,
            server_lives: true,
            told: Vec::new(),
            story: None,
        }
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.is_empty()
            && self.heard.is_empty()
            && self.answers.is_empty()
            && self.wanted.is_none()
            && self.put.is_empty()
    }

    pub(crate) fn feed(&mut self, signal: Signal) {
        let now = self.now;
        self.tell(|| format!("{now:>7} > {signal:?}"));
        let is_closed = matches!(signal, Signal::Closed { .. });
        match &signal {
            Signal::Submitted { input, .. } | Signal::GiveFailed { input, .. } => {
                self.log.submit_answered(input);
            }
            Signal::Reopened(_) | Signal::ReopenFailed { .. } => self.log.reopen_answered(),
            _ => {}
        }
        let is_tick = signal == Signal::Tick;
        self.is_interrupt_wanted |= matches!(signal, Signal::Interrupt { .. });
        let effects = self.machine.step(Moment::from_ms(self.now), signal);
        self.is_interrupt_wanted &= !effects.iter().any(settles_interrupt);
        let submits = effects.iter().any(|effect| matches!(effect, Effect::Submit { .. }));
        for effect in effects {
            self.effect(effect);
        }
        if is_closed {
            self.log.disconnected();
        }
        self.log.stepped(now, submits);
        let is_awake = self.machine.wake_at().is_none_or(|at| at > Moment::from_ms(self.now));
        assert!(!is_tick || is_awake, "woken again at once");
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.tell(|| format!("          {effect:?}"));
        self.log.effect(self.now, &effect, &self.codex.truth);
        if let Effect::Tell(update) = &effect {
            self.told.push(update.clone());
        }
        self.perform(effect);
    }

    pub(crate) fn echo(&self) -> Echo {
        echo(self.codex.version)
    }

    pub(crate) fn kind(&self, input: &InputId) -> InputKind {
        self.inputs.get(input).cloned().unwrap_or(InputKind::Order)
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(line());
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Submit { input } => {
                let kind = self.kind(&input);
                self.request(Request::Submit { input, kind });
            }
            Effect::Steer { input, turn } => {
                let kind = self.kind(&input);
                self.request(Request::Steer { input, kind, turn });
            }
            Effect::Interrupt { turn } => self.request(Request::Interrupt { turn }),
            Effect::Answer { ask, decision } => {
                self.put.retain(|put| *put != ask);
                self.answer(ask, decision == Decision::Cancel);
            }
            Effect::Refuse { ask } => {
                self.put.retain(|put| *put != ask);
                if self.is_connected {
                    self.requests.push_back(Request::Answer { ask, cancels: false });
                }
            }
            Effect::Serve { ask } => match self.choices.pick(3) {
                1 => self.answers.push(Signal::NoHandler { ask }),
                2 => self.answers.push(Signal::DeciderFailed { ask, reason: "broken".into() }),
                _ => self.answer(ask, false),
            },
            Effect::Put { ask } => {
                if !self.put.contains(&ask) {
                    self.put.push(ask);
                }
            }
            Effect::Look => self.request(Request::Look),
            Effect::Reopen { server } => self.wanted = Some(server),
            Effect::CleanTerminals | Effect::Tell(_) => {}
        }
    }

    fn request(&mut self, request: Request) {
        if self.is_connected {
            self.requests.push_back(request);
        } else {
            self.answers.extend(failed(request, GiveFailure::NotSent));
        }
    }

    fn answer(&mut self, ask: AskId, cancels: bool) {
        if self.is_connected {
            self.requests.push_back(Request::Answer { ask: ask.clone(), cancels });
            self.answers.push(Signal::Answered { ask });
        } else {
            self.answers.push(Signal::AnswerLost { ask, reason: "closed".into() });
        }
    }

    /// Brings one thing that is on its way to where it goes; whether there was one.
    pub(crate) fn carry(&mut self) -> bool {
        match self.choices.pick(4) {
            1 => self.carry_answer() || self.carry_heard() || self.carry_request(),
            2 => self.carry_request() || self.carry_answer() || self.carry_heard(),
            3 => self.carry_opening() || self.carry_heard(),
            _ => {
                self.carry_heard()
                    || self.carry_answer()
                    || self.carry_request()
                    || self.carry_opening()
            }
        }
    }

    fn carry_heard(&mut self) -> bool {
        self.listen();
        match self.heard.pop_front() {
            Some(Heard::Said(said)) => {
                if self.choices.one_in(24) {
                    self.feed(Signal::Codex((*said).clone()));
                }
                self.feed(Signal::Codex(*said));
            }
            Some(Heard::Closed) => self.feed(Signal::Closed { reason: "eof".into() }),
            None => return false,
        }
        true
    }

    fn carry_answer(&mut self) -> bool {
        if self.answers.is_empty() {
            return false;
        }
        let count = u16::try_from(self.answers.len()).unwrap_or(1);
        let at = usize::from(self.choices.pick(count));
        let signal = self.answers.remove(at);
        self.feed(signal);
        true
    }

    fn carry_request(&mut self) -> bool {
        let Some(request) = self.requests.pop_front() else { return false };
        match self.choices.pick(16) {
            // It never arrived, and we do not know.
            1 => self.answers.extend(failed(request, GiveFailure::InDoubt)),
            // It arrived, and the answer was lost.
            2 => {
                let _answer = self.codex.take(request.clone(), &mut self.choices);
                self.answers.extend(failed(request, GiveFailure::InDoubt));
            }
            3 => self.answers.extend(failed(request, GiveFailure::NotSent)),
            _ => {
                let answer = self.codex.take(request, &mut self.choices);
                self.answers.extend(answer);
            }
        }
        self.listen();
        true
    }

    /// What Codex said reaches us only while we are connected.
    pub(crate) fn listen(&mut self) {
        let said = std::mem::take(&mut self.codex.events);
        if self.is_connected {
            self.heard.extend(said.into_iter().map(|said| Heard::Said(Box::new(said))));
        }
    }

    fn carry_opening(&mut self) -> bool {
        // The end of a connection is heard before another one is made.
        if self.heard.iter().any(|heard| matches!(heard, Heard::Closed)) {
            return false;
        }
        let Some(wanted) = self.wanted.take() else { return false };
        let fails = self.choices.one_in(5) || (wanted == ServerWanted::Same && !self.server_lives);
        if fails {
            let failure = Failure::new(FailureClass::ServerGone, "cannot connect");
            if self.is_connected && self.choices.one_in(2) {
                self.close();
            }
            self.answers.push(Signal::ReopenFailed { failure });
            return true;
        }
        self.server_lives = true;
        self.codex.is_loaded = true;
        self.is_connected = true;
        self.listen();
        if let Some(running) = &self.codex.running {
            let turn = running.id.clone();
            for asked in running.asks.values() {
                let said = Said { turn: Some(turn.clone()), what: asked.clone() };
                self.heard.push_back(Heard::Said(Box::new(said)));
            }
        }
        self.answers.push(Signal::Reopened(self.codex.view()));
        true
    }

    /// The connection breaks. The turn may die with its app-server, or run on.
    pub(crate) fn break_connection(&mut self) {
        if !self.is_connected {
            return;
        }
        self.listen();
        for _ in 0..self.choices.pick(3) {
            if let Some(request) = self.requests.pop_front() {
                let _answer = self.codex.take(request.clone(), &mut self.choices);
                self.answers.extend(failed(request, GiveFailure::InDoubt));
            }
        }
        if self.choices.one_in(2) {
            let keep = self.choices.pick(4);
            self.heard.truncate(usize::from(keep));
        }
        self.close();
        if self.choices.one_in(2) {
            self.server_lives = false;
            self.codex.die();
        }
    }

    /// The oldest request arrives, and its answer does not.
    pub(crate) fn arrive_unheard(&mut self) {
        if let Some(request) = self.requests.pop_front() {
            let _answer = self.codex.take(request, &mut self.choices);
        }
    }

    /// All that was on its way is gone, and so is the connection. The turn may die with its app-server, or run on.
    pub(crate) fn drop_all(&mut self) {
        self.is_connected = false;
        self.requests.clear();
        self.answers.clear();
        self.heard.clear();
        self.put.clear();
        self.wanted = None;
        self.codex.events.clear();
        if self.choices.one_in(3) {
            self.server_lives = false;
            self.codex.die();
        }
    }

    fn close(&mut self) {
        self.is_connected = false;
        self.codex.events.clear();
        self.heard.push_back(Heard::Closed);
        for request in std::mem::take(&mut self.requests) {
            self.answers.extend(failed(request, GiveFailure::InDoubt));
        }
        // An opening whose connection is gone again has failed.
        for answer in &mut self.answers {
            if matches!(answer, Signal::Reopened(_)) {
                let failure = Failure::new(FailureClass::ServerGone, "closed again");
                *answer = Signal::ReopenFailed { failure };
            }
        }
    }

    /// Time passes; whoever wanted to be woken is.
    pub(crate) fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(at) = self.machine.wake_at().filter(|at| at.as_ms() <= until) {
            self.now = self.now.max(at.as_ms());
            self.feed(Signal::Tick);
        }
        self.now = until;
    }
}

impl Codex {
    /// The app-server ends, and with it the turn: the history says that it was interrupted.
    fn die(&mut self) {
        if self.running.take().is_some()
            && let Some(turn) = self.history.last_mut()
        {
            turn.end = Some(SaidEnd::Interrupted);
        }
        self.events.clear();
    }
}

fn echo(version: Version) -> Echo {
    if version == Version::V130 { Echo::TextOnly } else { Echo::Ids }
}

/// What a driver says of a request that came to nothing.
fn failed(request: Request, why: GiveFailure) -> Option<Signal> {
    match request {
        Request::Submit { input, .. } | Request::Steer { input, .. } => {
            Some(Signal::GiveFailed { input, why })
        }
        Request::Interrupt { turn } => Some(Signal::InterruptFailed { turn }),
        Request::Look => Some(Signal::Looked(Err("no answer".into()))),
        Request::Answer { .. } => None,
    }
}
