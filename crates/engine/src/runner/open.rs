//! Opening the thread of a task: a new one, or the one that it had, with all that we know of it.

use std::time::Duration;

use ostler_codex::driver::ThreadOptions;
use ostler_codex::thread::open::OpenError;
use ostler_codex::thread::{Agent, Recalled, RecalledAgent, RecalledInput, Thread, ThreadUpdates};
use ostler_model::task::machine::Signal;
use ostler_model::task::{ForkedFrom, Intent, IntentState, Wish};
use ostler_model::thread::{AskEnd, IfBusy, InputState, RecalledTurn, Update};
use ostler_model::{Event, Failure, FailureClass, InputId, Interrupter, Task, TurnId};
use ostler_store::{Store, StoreError};

use super::{Runner, Stage, Work};
use crate::pool::Seat;
use crate::shared::{Shared, now};
use crate::translate;

/// The loop always reads; only a disk that is full for long could hold it up.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// An app-server that dies while a thread is opened in it is replaced, so often.
const TRIES: u32 = 3;

/// Events that are read at once.
const PAGE: usize = 512;

pub(super) struct Opened {
    seat: Seat,
    thread: Thread,
    updates: ThreadUpdates,
}

impl Runner {
    pub(super) fn open(&mut self) {
        let shared = self.shared.clone();
        let task = self.machine.task().clone();
        let mut inputs: Vec<Intent> = self.intents.values().cloned().collect();
        inputs.retain(|intent| matches!(intent.state, IntentState::Sent { .. }));
        inputs.sort_by(|one, other| (one.at, one.id.as_str()).cmp(&(other.at, other.id.as_str())));
        let interrupted_by = self.intents.values().find(|intent| intent.wish == Wish::Interrupt);
        let interrupted_by =
            interrupted_by.map(|intent| Interrupter::Caller { name: intent.by.clone() });
        self.works.spawn(async move {
            let opened = open_somewhere(&shared, &task, &inputs, interrupted_by).await;
            Work::Opened(Box::new(opened))
        });
    }

    pub(super) fn opened(&mut self, opened: Result<Opened, Failure>) {
        match opened {
            Ok(Opened { seat, thread, updates }) => {
                let keeper = seat.keeper();
                let task = self.machine.task_mut();
                task.thread = Some(thread.id().clone());
                task.keeper.clone_from(&keeper);
                task.codex_version = Some(seat.version());
                let placed = Event::Placed {
                    keeper: keeper.unwrap_or_default(),
                    codex_version: seat.version(),
                    thread: thread.id().clone(),
                };
                self.log.event(now(), placed);
                self.note_task();
                self.stage = Some(Stage { thread, updates, seat });
                self.step(Signal::Opened);
            }
            Err(failure) => self.step(Signal::OpenFailed { failure }),
        }
    }
}

async fn open_somewhere(
    shared: &Shared,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Opened, Failure> {
    let mut tries = 1;
    loop {
        let seat = shared.pool.seat(&task.id, &task.settings, task.keeper.as_deref()).await;
        let opened = match seat {
            Ok(seat) => open_in(shared, seat, task, inputs, interrupted_by.clone()).await,
            Err(failure) => Err(failure),
        };
        match opened {
            Err(failure) if failure.class == FailureClass::ServerGone && tries < TRIES => {
                tracing::warn!(task = %task.id, reason = %failure.message, tries, "a thread is opened again");
                tries += 1;
            }
            opened => return opened,
        }
    }
}

async fn open_in(
    shared: &Shared,
    seat: Seat,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Opened, Failure> {
    let bad = |message: String| Failure::new(FailureClass::BadRequest, message);
    let settings =
        translate::thread_settings(&task.settings).map_err(|error| bad(error.to_string()))?;
    let options = ThreadOptions {
        limits: translate::limits(&task.settings),
        patience: PATIENCE,
        ..ThreadOptions::default()
    };
    let driver = seat.driver();
    let opening = match (&task.thread, &task.forked_from) {
        (None, None) => driver.start_thread(settings, options).await,
        (None, Some(ForkedFrom { thread, turn: None, .. })) => {
            driver.fork_thread(thread, settings, options).await
        }
        (None, Some(ForkedFrom { thread, turn: Some(turn), .. })) => {
            driver.fork_thread_at(thread, turn.clone(), settings, options).await
        }
        (Some(thread), _) => {
            let recalled = recall(&shared.store, task, inputs, interrupted_by).await;
            let recalled = recalled.map_err(|error| bad(error.to_string()))?;
            driver.rejoin_thread(thread, settings, options, recalled).await
        }
    };
    let (thread, updates) = opening.map_err(|error| failure(&error))?;
    Ok(Opened { seat, thread, updates })
}

fn failure(error: &OpenError) -> Failure {
    let class = match error {
        OpenError::Connection(_) => FailureClass::ServerGone,
        _ => FailureClass::BadRequest,
    };
    Failure::new(class, error.to_string())
}

/// What our log knows of the thread.
async fn recall(
    store: &Store,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Recalled, StoreError> {
    let turns = store.turns(&task.id).await?;
    let ended = turns.iter().rev().find_map(|row| row.result.as_deref());
    let died = |failure: &Failure| failure.class == FailureClass::ServerGone;
    let has_turns = turns
        .iter()
        .filter_map(|row| row.result.as_deref())
        .any(|result| !result.failure().is_some_and(died));
    let mut story = Story::default();
    if task.turn.is_some() {
        let mut after = 0;
        loop {
            let page = store.events(&task.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for logged in page {
                story.take(logged.event, task.turn.as_ref());
            }
        }
    }
    let elapsed = turns.last().map_or(0, |row| now().saturating_sub(row.began_at));
    let elapsed = Duration::from_millis(u64::try_from(elapsed).unwrap_or(0));
    let turn = task.turn.clone().map(|id| RecalledTurn {
        told: std::mem::take(&mut story.told),
        elapsed,
        worked: elapsed,
        id,
    });
    let inputs = inputs.iter().filter_map(|intent| match &intent.wish {
        Wish::Send { input, if_busy } => Some(RecalledInput {
            id: InputId::new(intent.id.as_str()),
            content: translate::turn_input(input).ok()?,
            if_busy: match if_busy {
                IfBusy::Steer => IfBusy::Steer,
                _ => IfBusy::Queue,
            },
            state: InputState::MaybeSent,
        }),
        _ => None,
    });
    Ok(Recalled {
        inputs: inputs.collect(),
        last_turn: ended.map(|result| result.turn.clone()),
        has_turns,
        thread_usage: story.usage.or(ended.map(|result| result.usage.thread)),
        interrupted_by: interrupted_by.filter(|_| turn.is_some()),
        turn,
        agents: story.agents(),
    })
}

/// The running turn as the log has it.
#[derive(Default)]
struct Story {
    told: Vec<Update>,
    usage: Option<ostler_model::usage::Tokens>,
    agents: Vec<(ostler_model::task::Agent, TurnId, Vec<Update>)>,
}

impl Story {
    fn take(&mut self, event: Event, running: Option<&TurnId>) {
        match event {
            Event::Thread { agent: None, update } => {
                if let Update::TurnBegan { turn } = &*update
                    && Some(turn) == running
                {
                    *self = Self::default();
                    return;
                }
                if let Update::Usage { usage, .. } = &*update {
                    self.usage = Some(usage.thread);
                }
                self.told.push(*update);
            }
            Event::Thread { agent: Some(agent), update } => self.agent(agent, *update),
            Event::AskOpened { agent: None, ask, content, .. } => {
                self.told.push(Update::AskOpened { ask, content });
            }
            Event::AskDecided { ask, decision } => {
                let how =
                    AskEnd::Decided { decision: decision.decision, by: decision.by.describe() };
                self.told.push(Update::AskClosed { ask, how });
            }
            _ => {}
        }
    }

    fn agent(&mut self, agent: ostler_model::task::Agent, update: Update) {
        match &update {
            Update::TurnBegan { turn } => {
                self.agents.retain(|(known, ..)| *known != agent);
                self.agents.push((agent, turn.clone(), Vec::new()));
            }
            Update::TurnEnded { .. } => self.agents.retain(|(known, ..)| *known != agent),
            _ => {
                if let Some((.., told)) = self.agents.iter_mut().find(|(known, ..)| *known == agent)
                {
                    told.push(update);
                }
            }
        }
    }

    fn agents(&mut self) -> Vec<RecalledAgent> {
        let agents = std::mem::take(&mut self.agents).into_iter();
        let recalled = agents.map(|(agent, turn, told)| RecalledAgent {
            agent: Agent { thread: agent.thread, name: agent.name },
            turn: RecalledTurn { told, ..RecalledTurn::new(turn) },
        });
        recalled.collect()
    }
}
