//! A Codex that holds one thread, with the habits that were seen in 0.130.0, 0.142.5 and 0.166.0.

use std::collections::{BTreeMap, VecDeque};

use ostler_model::failure::{Failure, FailureClass};
use ostler_model::thread::{
    GiveFailure, InputKind, Said, SaidEnd, SeenInput, SeenState, SeenTurn, Signal, View, What,
};
use ostler_model::{AskId, InputId, ItemId, TurnId};

use super::Choices;
use super::log::Truth;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Echoes text alone; a busy `turn/start` is answered with a turn that never begins.
    V130,
    /// Echoes ids, and else like 0.130.0.
    V142,
    /// A busy `turn/start` is answered with the running turn.
    V166,
}

/// What arrives at Codex.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Submit { input: InputId, kind: InputKind },
    Steer { input: InputId, kind: InputKind, turn: TurnId },
    Interrupt { turn: TurnId },
    Answer { ask: AskId, cancels: bool },
    Look,
}

pub(crate) struct Codex {
    pub(crate) version: Version,
    pub(crate) is_loaded: bool,
    pub(crate) history: Vec<SeenTurn>,
    pub(crate) running: Option<Running>,
    /// What it says to whoever listens.
    pub(crate) events: VecDeque<Said>,
    /// What it will say of turns that are long over.
    pub(crate) late: Vec<Said>,
    /// The turn that was interrupted last: a second interrupt for it would get no answer.
    pub(crate) interrupted: Option<TurnId>,
    pub(crate) truth: Truth,
    names: u32,
}

pub(crate) struct Running {
    /// On its items and its end.
    pub(crate) id: TurnId,
    /// In `turn/started`; another one for reviews.
    pub(crate) announced: TurnId,
    pub(crate) is_announced: bool,
    pub(crate) is_order: bool,
    /// What it will show, and take, at its next step.
    pub(crate) pending: Vec<Pending>,
    pub(crate) asks: BTreeMap<AskId, What>,
    pub(crate) open: Vec<(ItemId, bool)>,
    pub(crate) steps: u16,
    pub(crate) hangs: bool,
}

pub(crate) struct Pending {
    pub(crate) input: Option<InputId>,
    pub(crate) text: String,
    pub(crate) fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stands in the history.
    Kept,
    /// It gets there even if the turn is interrupted.
    Safe,
    /// An interrupt loses it.
    Frail,
}

impl Codex {
    pub(crate) fn new(version: Version) -> Self {
        Self {
            version,
            is_loaded: true,
            history: Vec::new(),
            running: None,
            events: VecDeque::new(),
            late: Vec::new(),
            interrupted: None,
            truth: Truth::default(),
            names: 0,
        }
    }

    pub(crate) fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    pub(crate) fn say(&mut self, turn: &TurnId, what: What) {
        self.events.push_back(Said { turn: Some(turn.clone()), what });
    }

    /// Begins a turn that takes these inputs at once; Codex has them from now on.
    pub(crate) fn begin(&mut self, inputs: Vec<(Option<InputId>, String)>) -> TurnId {
        let id = TurnId::new(self.name("turn"));
        let seen = SeenTurn { id: id.clone(), end: None, inputs: Vec::new(), items: Vec::new() };
        self.history.push(seen);
        self.truth.name_turn(&id, &id);
        for (input, text) in &inputs {
            self.keep(input.as_ref(), text);
        }
        let kept = |(input, text)| Pending { input, text, fate: Fate::Kept };
        let pending = inputs.into_iter().map(kept).collect();
        self.running = Some(Running::new(id.clone(), id.clone(), pending));
        id
    }

    /// A review: announced by one name, and known by another from then on.
    fn begin_review(&mut self, input: &InputId) -> TurnId {
        let (announced, id) = (TurnId::new(self.name("review")), TurnId::new(self.name("turn")));
        let over = Some(SaidEnd::Interrupted);
        self.history.push(SeenTurn {
            id: announced.clone(),
            end: over,
            inputs: Vec::new(),
            items: Vec::new(),
        });
        self.history.push(SeenTurn {
            id: id.clone(),
            end: None,
            inputs: Vec::new(),
            items: Vec::new(),
        });
        self.truth.name_turn(&id, &announced);
        self.truth.keep(input);
        let mut running = Running::new(id.clone(), announced, Vec::new());
        running.is_order = true;
        self.running = Some(running);
        id
    }

    pub(crate) fn view(&self) -> View {
        let state = match &self.running {
            _ if !self.is_loaded => SeenState::NotLoaded,
            Some(running) if !running.asks.is_empty() => SeenState::Waiting,
            Some(_) => SeenState::Active,
            None => SeenState::Idle,
        };
        let skip = self.history.len().saturating_sub(5);
        View { state, turns: self.history.iter().skip(skip).cloned().collect() }
    }

    fn seen(&self, input: Option<&InputId>, text: &str) -> SeenInput {
        let input = input.filter(|_| self.version != Version::V130).cloned();
        SeenInput { input, text: text.to_owned() }
    }

    /// Puts an input into the running turn for good.
    pub(crate) fn keep(&mut self, input: Option<&InputId>, text: &str) {
        let seen = self.seen(input, text);
        if let Some(input) = input {
            self.truth.keep(input);
        }
        if let Some(turn) = self.history.last_mut() {
            turn.inputs.push(seen);
        }
    }

    /// Takes a request; what it answers, if it answers at all.
    pub(crate) fn take(&mut self, request: Request, choices: &mut Choices) -> Option<Signal> {
        match request {
            Request::Submit { input, kind } => Some(self.submit(input, kind)),
            Request::Steer { input, kind, turn } => Some(self.steer(input, &kind, &turn, choices)),
            Request::Interrupt { turn } => self.interrupt(turn, choices),
            Request::Answer { ask, cancels } => {
                self.resolve(&ask, cancels);
                None
            }
            Request::Look => Some(Signal::Looked(Ok(self.view()))),
        }
    }

    fn submit(&mut self, input: InputId, kind: InputKind) -> Signal {
        if !self.is_loaded {
            return Signal::GiveFailed { input, why: GiveFailure::ThreadGone };
        }
        let refused = |input, message: &str| {
            let failure = Failure::new(FailureClass::BadRequest, message);
            Signal::GiveFailed { input, why: GiveFailure::Refused(failure) }
        };
        let phantom = TurnId::new(self.name("phantom"));
        let version = self.version;
        let turn = match (self.running.as_mut(), kind) {
            (None, InputKind::Order) => self.begin_review(&input),
            (None, InputKind::Message { text }) => self.begin(vec![(Some(input.clone()), text)]),
            (Some(_), InputKind::Order) => return refused(input, "a turn runs"),
            (Some(running), _) if running.is_order && version == Version::V166 => {
                return refused(input, "active turn not steerable");
            }
            // The input is lost, and nobody says so.
            (Some(running), _) if running.is_order => phantom,
            (Some(running), InputKind::Message { text }) if version == Version::V166 => {
                let id = running.id.clone();
                running.pending.push(Pending::new(&input, text.clone(), Fate::Kept));
                self.keep(Some(&input), &text);
                id
            }
            (Some(running), InputKind::Message { text }) => {
                running.pending.push(Pending::new(&input, text, Fate::Frail));
                phantom
            }
        };
        Signal::Submitted { input, turn: Some(turn) }
    }

    fn steer(
        &mut self,
        input: InputId,
        kind: &InputKind,
        turn: &TurnId,
        choices: &mut Choices,
    ) -> Signal {
        let InputKind::Message { text } = kind else { unreachable!("orders are not steered") };
        let fails = |why| Signal::GiveFailed { input: input.clone(), why };
        match self.running.as_mut() {
            Some(running) if running.is_order => fails(GiveFailure::NotSteerable),
            Some(running) if running.id == *turn && running.is_announced => {
                let fate = if choices.one_in(3) { Fate::Safe } else { Fate::Frail };
                running.pending.push(Pending::new(&input, text.clone(), fate));
                Signal::Steered { input }
            }
            _ => fails(GiveFailure::NoSuchTurn),
        }
    }

    fn interrupt(&mut self, turn: TurnId, choices: &mut Choices) -> Option<Signal> {
        assert_ne!(self.interrupted.as_ref(), Some(&turn), "codex does not answer this interrupt");
        let obeys = match &self.running {
            Some(running) => running.is_announced && running.announced == turn,
            None => false,
        };
        if !obeys {
            return Some(Signal::InterruptFailed { turn });
        }
        // It says yes and goes on.
        if !choices.one_in(8) {
            self.interrupted = Some(turn);
            self.end(SaidEnd::Interrupted, choices);
        }
        None
    }
}

impl Pending {
    fn new(input: &InputId, text: String, fate: Fate) -> Self {
        Self { input: Some(input.clone()), text, fate }
    }
}

impl Running {
    fn new(id: TurnId, announced: TurnId, pending: Vec<Pending>) -> Self {
        Self {
            id,
            announced,
            is_announced: false,
            is_order: false,
            pending,
            asks: BTreeMap::new(),
            open: Vec::new(),
            steps: 0,
            hangs: false,
        }
    }
}
