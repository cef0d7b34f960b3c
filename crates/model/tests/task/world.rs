//! A small world around the machine: a store, a dispatcher, a thread, people, and somebody who kills our process.
//!
//! What the machine wants is first written and then done. A kill loses what was not written, and what was written and
//! not done. What the thread tells is told again from where the written state ends, as it is when a thread is rejoined.

mod checks;
mod moves;
mod thread;

use std::collections::{BTreeMap, HashSet};

use ostler_model::task::machine::{AskedOf, Effect, Loaded, Machine, Owed, Signal, Unsettled};
use ostler_model::task::{IntentState, NotDone, Task, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{AskId, IntentId};

use crate::rig::{START, task};
use thread::Thread;

/// Steps in which everything must come to rest once people answer and nothing fails any more.
const LAST_STEPS: u32 = 4_000;

pub(crate) struct World {
    pub story: Option<Vec<String>>,
    choices: std::vec::IntoIter<u8>,
    now: i64,
    machine: Machine,
    stored: Stored,
    thread: Thread,
    place: Place,
    is_opening: bool,
    given: HashSet<IntentId>,
    /// What the thread lost and waits again: what came later may have been given before that was known.
    lost: HashSet<IntentId>,
    /// What the thread is to be looked through for.
    looked_for: Option<Vec<IntentId>>,
    kill: Kill,
}

/// What is on disk.
struct Stored {
    task: Task,
    /// In the order in which they came.
    intents: Vec<Record>,
    asks: BTreeMap<AskId, AskedOf>,
    /// Somebody is asked whether the task goes on.
    continue_ask: bool,
    /// Times that a limit has parked it, and that it went on for that.
    limits: u32,
    continued: u32,
    /// It has once failed or was cancelled.
    was_given_up: bool,
}

#[derive(Clone)]
struct Record {
    id: IntentId,
    wish: Wish,
    state: IntentState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Send(IfBusy),
    Owed,
    Interrupt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    InLine,
    Running,
}

/// What becomes of the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kill {
    No,
    BeforeWriting,
    BeforeDoing,
}

impl World {
    pub(crate) fn new(
        settings: TaskSettings,
        choices: Vec<u8>,
        story: Option<Vec<String>>,
    ) -> Self {
        let task = task(settings);
        let first =
            Record { id: "a".into(), wish: Wish::Send(IfBusy::Queue), state: IntentState::Pending };
        Self {
            story,
            choices: choices.into_iter(),
            now: START,
            machine: Machine::new(task.clone()),
            stored: Stored {
                task,
                intents: vec![first],
                asks: BTreeMap::new(),
                continue_ask: false,
                limits: 0,
                continued: 0,
                was_given_up: false,
            },
            thread: Thread::default(),
            place: Place::None,
            is_opening: false,
            given: HashSet::new(),
            lost: HashSet::new(),
            looked_for: None,
            kill: Kill::No,
        }
    }

    pub(crate) fn play(&mut self) {
        self.restart();
        while let Some(choice) = self.choices.next() {
            self.random_move(choice);
            self.check();
        }
        for _ in 0..LAST_STEPS {
            if !self.orderly_move() {
                return self.check_end();
            }
            self.check();
        }
        panic!("it does not come to rest: {:?}", self.stored.task);
    }

    /// Our process is gone; another one finds what is on disk.
    fn restart(&mut self) {
        self.say(|| "restart".to_owned());
        self.kill = Kill::No;
        self.place = Place::None;
        self.is_opening = false;
        self.looked_for = None;
        self.thread.disconnect();
        let unsettled = self.stored.intents.iter().filter(|record| record.state.is_open());
        let intents = unsettled.map(|record| match (record.wish, &record.state) {
            (Wish::Interrupt, _) => {
                Unsettled::Interrupt { intent: record.id.clone(), by: "ana".to_owned() }
            }
            (_, IntentState::Sent { .. }) => Unsettled::Sent(record.id.clone()),
            (Wish::Owed, _) => Unsettled::Owed(record.id.clone()),
            (Wish::Send(if_busy), _) => Unsettled::Waiting { intent: record.id.clone(), if_busy },
        });
        let loaded = Loaded { intents: intents.collect(), asks: self.stored.asks.clone() };
        let (machine, effects) = Machine::load(self.now, self.stored.task.clone(), loaded);
        self.machine = machine;
        self.absorb(effects);
    }

    fn step(&mut self, signal: Signal) {
        self.say(|| format!("{signal:?}"));
        let effects = self.machine.step(self.now, signal);
        self.absorb(effects);
    }

    fn absorb(&mut self, effects: Vec<Effect>) {
        match std::mem::replace(&mut self.kill, Kill::No) {
            Kill::BeforeWriting => return self.restart(),
            Kill::BeforeDoing => {
                self.write(effects);
                self.thread.note_written();
                return self.restart();
            }
            Kill::No => {}
        }
        let effects = self.write(effects);
        self.thread.note_written();
        for effect in effects {
            self.perform(effect);
        }
    }

    /// Gives back all effects, with those that followed from writing.
    fn write(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let all = self.note(effects);
        self.stored.task = self.machine.task().clone();
        all
    }

    fn note(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut all = Vec::new();
        for effect in effects {
            self.say(|| format!("    {effect:?}"));
            let mut then = Vec::new();
            match &effect {
                Effect::Moved { from, to, .. } => {
                    assert_eq!(*from, self.stored.task.state, "a hole in the states");
                    self.stored.task.state = *to;
                    self.stored.was_given_up |=
                        matches!(to, TaskState::Failed | TaskState::Cancelled);
                    self.moved(*to);
                }
                Effect::Settle { intent, to } => self.settle(intent, to),
                Effect::GiveBack { intent } => {
                    let record = self.record(intent);
                    assert_ne!(record.state, IntentState::Pending, "{intent} waits already");
                    record.state = IntentState::Pending;
                    self.given.remove(intent);
                    self.lost.insert(intent.clone());
                    self.thread.unknow(intent);
                }
                Effect::Give { intent, .. } => {
                    self.check_is_held(intent);
                    self.record(intent).state = IntentState::Sent { after: None };
                }
                Effect::AskToContinue(_) => {
                    assert!(!self.stored.continue_ask, "asked twice whether it goes on");
                    self.stored.continue_ask = true;
                }
                Effect::Owe(owed) => {
                    let id = self.add(Wish::Owed);
                    let waited = matches!(owed, Owed::AfterLimit | Owed::AfterOutage);
                    self.stored.continued += u32::from(waited);
                    then = self.machine.owe(self.now, id);
                }
                _ => {}
            }
            all.push(effect);
            all.extend(self.note(then));
        }
        all
    }

    fn moved(&mut self, to: TaskState) {
        if to != TaskState::Parked {
            self.stored.continue_ask = false;
        }
        if to.is_over() {
            self.stored.asks.clear();
        }
    }

    fn settle(&mut self, intent: &IntentId, to: &IntentState) {
        let record = self.record(intent);
        assert!(record.state.is_open(), "{intent} is settled twice");
        assert!(!to.is_open(), "{intent} is settled as open");
        if let IntentState::NotDone { why: NotDone::Withdrawn { .. } } = to {
            assert_eq!(record.state, IntentState::Pending, "taken back after it was given");
        }
        record.state = to.clone();
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::WantPlace => {
                assert_eq!(self.place, Place::None, "wants a place that it has");
                self.place = Place::InLine;
            }
            Effect::KeepPlace => {
                assert_ne!(self.place, Place::Running, "keeps a place twice");
                self.place = Place::Running;
            }
            Effect::LeavePlace => {
                assert_ne!(self.place, Place::None, "leaves a place that it has not");
                self.place = Place::None;
            }
            Effect::Open => {
                assert!(!self.is_opening && !self.thread.is_open(), "opened twice");
                self.is_opening = true;
            }
            Effect::Give { intent, if_busy } => {
                assert!(self.given.insert(intent.clone()), "{intent} is given twice");
                self.thread.give(intent, if_busy);
            }
            Effect::Interrupt { by } => self.thread.interrupt(by),
            Effect::ChangeGoal { .. } | Effect::ReadGoal => panic!("no goal in this world"),
            Effect::LookFor { inputs, .. } => {
                assert_eq!(self.looked_for.replace(inputs), None, "looked for twice");
            }
            Effect::GiveBack { .. }
            | Effect::Moved { .. }
            | Effect::Settle { .. }
            | Effect::Owe(_)
            | Effect::AskToContinue(_) => {}
            Effect::Retire => {
                self.looked_for = None;
                self.thread.disconnect();
            }
        }
    }

    fn add(&mut self, wish: Wish) -> IntentId {
        let id = IntentId::new(format!("i{}", self.stored.intents.len()));
        let record = Record { id: id.clone(), wish, state: IntentState::Pending };
        self.stored.intents.push(record);
        id
    }

    fn record(&mut self, intent: &IntentId) -> &mut Record {
        let found = self.stored.intents.iter_mut().find(|record| record.id == *intent);
        found.unwrap_or_else(|| panic!("no intent {intent}"))
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(what());
        }
    }
}
