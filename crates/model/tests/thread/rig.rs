//! A machine at hand, and short words for what is fed to it.

use std::time::Duration;

use ostler_model::ask::{Ask, AskKind, CommandAsk};
use ostler_model::failure::{Failure, FailureClass};
use ostler_model::item::{AgentMessage, Command, Item, ItemBody, MessagePhase, UserMessage};
use ostler_model::thread::{
    Deciders, Echo, Effect, IfBusy, InputKind, Limits, Machine, Said, SaidEnd, SeenInput,
    SeenState, SeenTurn, Signal, Update, View, What,
};
use ostler_model::{AskId, Decision, InputId, ItemId, Moment, TurnEnd, TurnId, TurnResult};

#[derive(Clone)]
pub(crate) struct Rig {
    machine: Machine,
    now: Moment,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default(), Echo::Ids)
    }

    /// Somebody decides asks.
    pub(crate) fn with(limits: Limits, echo: Echo) -> Self {
        let mut rig = Self { machine: Machine::new(limits, echo), now: Moment::default() };
        rig.feed(Signal::Deciders(Deciders::Present));
        rig
    }

    /// A turn `t1` that answers the input `i1` runs.
    pub(crate) fn running(mut self) -> Self {
        self.feed(send("i1", IfBusy::Queue));
        self.feed(submitted("i1", "t1"));
        self.feed(started("t1"));
        self.feed(echo("t1", "i1"));
        self
    }

    pub(crate) fn feed(&mut self, signal: Signal) -> Vec<Effect> {
        self.machine.step(self.now, signal)
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    /// Time passes until the machine wants to be woken.
    pub(crate) fn wake(&mut self) -> Vec<Effect> {
        let wake_at = self.machine.wake_at();
        assert_ne!(wake_at, None, "it does not want to be woken");
        self.now = wake_at.unwrap_or_default();
        let effects = self.feed(Signal::Tick);
        assert!(self.machine.wake_at().is_none_or(|at| at > self.now), "it is woken again at once");
        effects
    }

    /// In how many seconds it wants to be woken.
    pub(crate) fn sleeps(&self) -> Option<u64> {
        self.machine.wake_at().map(|at| at.since(self.now).as_secs())
    }
}

pub(crate) fn send(input: &str, if_busy: IfBusy) -> Signal {
    let kind = InputKind::Message { text: format!("text of {input}") };
    Signal::Send { input: input.into(), kind, if_busy }
}

pub(crate) fn order(input: &str) -> Signal {
    Signal::Send { input: input.into(), kind: InputKind::Order, if_busy: IfBusy::Queue }
}

pub(crate) fn submitted(input: &str, turn: &str) -> Signal {
    Signal::Submitted { input: input.into(), turn: Some(turn.into()) }
}

pub(crate) fn interrupt() -> Signal {
    Signal::Interrupt { by: "ann".into() }
}

pub(crate) fn says(turn: &str, what: What) -> Signal {
    Signal::Codex(Said { turn: Some(turn.into()), what })
}

pub(crate) fn started(turn: &str) -> Signal {
    says(turn, What::TurnStarted)
}

pub(crate) fn completed(turn: &str) -> Signal {
    says(turn, What::TurnCompleted(SaidEnd::Completed))
}

pub(crate) fn interrupted(turn: &str) -> Signal {
    says(turn, What::TurnCompleted(SaidEnd::Interrupted))
}

pub(crate) fn begins(turn: &str, item: Item) -> Signal {
    says(turn, What::ItemStarted(item))
}

pub(crate) fn ends(turn: &str, item: Item) -> Signal {
    says(turn, What::ItemCompleted(item))
}

pub(crate) fn echo(turn: &str, input: &str) -> Signal {
    ends(turn, echo_item(input))
}

pub(crate) fn echo_item(input: &str) -> Item {
    let text = format!("text of {input}");
    let message = UserMessage {
        text,
        attachments: Vec::new(),
        input: Some(input.into()),
        ..UserMessage::default()
    };
    Item { id: ItemId::new(format!("echo of {input}")), body: ItemBody::UserMessage(message) }
}

pub(crate) fn message(id: &str, text: &str, phase: MessagePhase) -> Item {
    let message = AgentMessage { text: text.into(), phase };
    Item { id: id.into(), body: ItemBody::AgentMessage(message) }
}

pub(crate) fn command(id: &str) -> Item {
    Item { id: id.into(), body: ItemBody::Command(Command::default()) }
}

pub(crate) fn command_ask(turn: &str) -> Ask {
    Ask {
        thread: None,
        turn: Some(turn.into()),
        item: None,
        reason: None,
        kind: AskKind::Command(CommandAsk::default()),
        offers: vec![Decision::Once, Decision::Deny, Decision::Cancel],
    }
}

pub(crate) fn asks(ask: &str, content: Ask) -> Signal {
    let turn = content.turn.clone();
    let what = What::Asked { ask: ask.into(), content: Box::new(content) };
    Signal::Codex(Said { turn, what })
}

pub(crate) fn view(state: SeenState, turns: Vec<SeenTurn>) -> View {
    View { state, turns }
}

pub(crate) fn seen(turn: &str, end: Option<SaidEnd>, inputs: &[&str]) -> SeenTurn {
    let seen = |input: &&str| SeenInput {
        input: Some(InputId::new(*input)),
        text: format!("text of {input}"),
    };
    SeenTurn { id: turn.into(), end, inputs: inputs.iter().map(seen).collect(), items: Vec::new() }
}

pub(crate) fn failure(class: FailureClass, message: &str) -> Failure {
    Failure::new(class, message)
}

pub(crate) fn submit(input: &str) -> Effect {
    Effect::Submit { input: input.into() }
}

pub(crate) fn began(turn: &str) -> Effect {
    Effect::Tell(Update::TurnBegan { turn: turn.into() })
}

pub(crate) fn queued(input: &str) -> Effect {
    Effect::Tell(Update::InputQueued { input: input.into() })
}

pub(crate) fn taken(input: &str, turn: &str) -> Effect {
    Effect::Tell(Update::InputTaken { input: input.into(), turn: turn.into() })
}

pub(crate) fn refused(input: &str, failure: Failure) -> Effect {
    Effect::Tell(Update::InputRefused { input: input.into(), failure, may_have_run: false })
}

/// The same of an input that Codex may have.
pub(crate) fn refused_in_doubt(input: &str, failure: Failure) -> Effect {
    Effect::Tell(Update::InputRefused { input: input.into(), failure, may_have_run: true })
}

pub(crate) fn stops(turn: &str) -> Effect {
    Effect::Interrupt { turn: TurnId::new(turn) }
}

pub(crate) fn id(ask: &str) -> AskId {
    AskId::new(ask)
}

/// How the turn ended that ends here, and whether the app-server is to be retired.
pub(crate) fn end(effects: &[Effect]) -> Option<(TurnEnd, bool)> {
    result(effects).map(|result| (result.end, result.retire))
}

pub(crate) fn result(effects: &[Effect]) -> Option<TurnResult> {
    effects.iter().find_map(|effect| match effect {
        Effect::Tell(Update::TurnEnded { result }) => Some((**result).clone()),
        _ => None,
    })
}

/// The effects without the end of a turn, which carries too much to be written out each time.
pub(crate) fn besides_end(effects: Vec<Effect>) -> Vec<Effect> {
    let is_end = |effect: &Effect| matches!(effect, Effect::Tell(Update::TurnEnded { .. }));
    effects.into_iter().filter(|effect| !is_end(effect)).collect()
}
