//! A machine that is stepped by hand, and short words for what goes in and comes out.

use ostler_model::task::machine::{Effect, Loaded, Machine, Signal, Unsettled};
use ostler_model::task::{Cause, IntentState, Spent, Task, TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::usage::{Tokens, Usage};
use ostler_model::{Failure, FailureClass, IntentId, Interrupter, TurnEnd, TurnResult};

/// Unix milliseconds at which every story begins.
pub(crate) const START: i64 = 1_000_000;

pub(crate) struct Rig {
    pub machine: Machine,
    pub now: i64,
}

/// A task that waits for its first input, `a`.
pub(crate) fn task(settings: TaskSettings) -> Task {
    Task {
        id: "task".into(),
        state: TaskState::Queued,
        cause: Cause::Submitted { intent: "a".into() },
        title: String::new(),
        budget: settings.budget,
        settings,
        started_by: "ana".to_owned(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: START,
        updated_at: START,
        ended_at: None,
        last_seq: 0,
        forked_from: None,
    }
}

pub(crate) fn waiting(intent: &str) -> Unsettled {
    Unsettled::Waiting { intent: intent.into(), if_busy: IfBusy::Queue }
}

pub(crate) fn result(turn: &str, end: TurnEnd) -> TurnResult {
    TurnResult {
        turn: turn.into(),
        inputs: Vec::new(),
        unanswered: Vec::new(),
        end,
        final_answer: None,
        tool_iterations: 0,
        usage: Usage::default(),
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 0,
    }
}

pub(crate) fn failed(class: FailureClass) -> TurnEnd {
    TurnEnd::Failed { failure: Failure::new(class, "it failed") }
}

pub(crate) fn interrupted(name: &str) -> TurnEnd {
    TurnEnd::Interrupted { by: Interrupter::Caller { name: name.to_owned() } }
}

pub(crate) fn tokens(total: u64) -> Usage {
    let turn = Tokens { input: total, ..Tokens::default() };
    Usage { turn, ..Usage::default() }
}

impl Rig {
    /// A task whose thread is open and whose first input has been given.
    pub(crate) fn given(settings: TaskSettings) -> Self {
        let loaded = Loaded { intents: vec![waiting("a")], ..Loaded::default() };
        let (machine, effects) = Machine::load(START, task(settings), loaded);
        assert_eq!(effects, [Effect::WantPlace]);
        let mut rig = Self { machine, now: START };
        let starting = Effect::Moved {
            from: TaskState::Queued,
            to: TaskState::Starting,
            cause: Cause::Placed,
        };
        assert_eq!(rig.placed(), [starting, Effect::Open]);
        assert_eq!(rig.step(Signal::Opened), [give("a", IfBusy::Queue)]);
        rig
    }

    /// The same, and its first turn `t1` runs.
    pub(crate) fn working(settings: TaskSettings) -> Self {
        let mut rig = Self::given(settings);
        rig.begin("t1", "a");
        rig
    }

    pub(crate) fn step(&mut self, signal: Signal) -> Vec<Effect> {
        let before = self.state();
        let effects = self.machine.step(self.now, signal);
        let mut state = before;
        for effect in &effects {
            if let Effect::Moved { from, to, .. } = effect {
                assert_eq!(*from, state, "{effects:?}");
                state = *to;
            }
        }
        assert_eq!(state, self.state(), "{effects:?}");
        effects
    }

    /// There is room for what it wants.
    pub(crate) fn placed(&mut self) -> Vec<Effect> {
        let want = self.machine.wants();
        self.step(Signal::Placed { want })
    }

    pub(crate) fn tell(&mut self, update: Update) -> Vec<Effect> {
        self.step(Signal::Told(Box::new(update)))
    }

    pub(crate) fn begin(&mut self, turn: &str, input: &str) -> Vec<Effect> {
        let mut effects = self.tell(Update::TurnBegan { turn: turn.into() });
        effects.extend(self.tell(taken(input, turn)));
        effects
    }

    pub(crate) fn end(&mut self, turn: &str, end: TurnEnd) -> Vec<Effect> {
        self.tell(Update::TurnEnded { result: Box::new(result(turn, end)) })
    }

    pub(crate) fn submit(&mut self, intent: &str, if_busy: IfBusy) -> Vec<Effect> {
        self.step(Signal::Submit { intent: intent.into(), if_busy })
    }

    pub(crate) fn interrupt(&mut self, intent: &str) -> Vec<Effect> {
        self.step(Signal::Interrupt { intent: intent.into(), by: "ana".to_owned() })
    }

    pub(crate) fn owe(&mut self, intent: &str) -> Vec<Effect> {
        self.machine.owe(self.now, intent.into())
    }

    pub(crate) fn state(&self) -> TaskState {
        self.machine.task().state
    }

    /// As if our process had ended: all that is left is what was written.
    pub(crate) fn restart(&mut self, intents: Vec<Unsettled>) -> Vec<Effect> {
        let task = self.machine.task().clone();
        let (machine, effects) =
            Machine::load(self.now, task, Loaded { intents, ..Loaded::default() });
        self.machine = machine;
        effects
    }
}

pub(crate) fn taken(input: &str, turn: &str) -> Update {
    Update::InputTaken { input: input.into(), turn: turn.into() }
}

pub(crate) fn refused(input: &str, failure: Failure) -> Update {
    Update::InputRefused { input: input.into(), failure, may_have_run: false }
}

pub(crate) fn give(intent: &str, if_busy: IfBusy) -> Effect {
    Effect::Give { intent: intent.into(), if_busy }
}

/// The states that a task goes to in these effects.
pub(crate) fn moves(effects: &[Effect]) -> Vec<TaskState> {
    let moves = effects.iter().filter_map(|effect| match effect {
        Effect::Moved { to, .. } => Some(*to),
        _ => None,
    });
    moves.collect()
}

/// What is settled in these effects.
pub(crate) fn settled(effects: &[Effect]) -> Vec<(IntentId, IntentState)> {
    let settled = effects.iter().filter_map(|effect| match effect {
        Effect::Settle { intent, to } => Some((intent.clone(), to.clone())),
        _ => None,
    });
    settled.collect()
}

/// What is to be done, without what is only told.
pub(crate) fn deeds(effects: Vec<Effect>) -> Vec<Effect> {
    let is_deed = |effect: &Effect| !matches!(effect, Effect::Moved { .. } | Effect::Settle { .. });
    effects.into_iter().filter(is_deed).collect()
}
