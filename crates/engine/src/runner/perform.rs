//! What the machine wants: first what is written of it, then what is done once that is on disk.

use ostler_model::ask::{Ask, AskKind};
use ostler_model::failure::FailureClass;
use ostler_model::input::Content;
use ostler_model::task::machine::{Effect, Owed, Signal, WhyAsk};
use ostler_model::task::{Edge, Intent, IntentState, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, Event, Failure, Goal, GoalChange, Input, InputId, IntentId, TurnId};
use ostler_store::Write;
use uuid::Uuid;

use super::missing::{check_folder, check_writable, question};
use super::model_choice::{self, TurnChoice};
use super::{Runner, Work};
use crate::dispatcher::{FromRunner, Waiting};
use crate::runner::asks::Delivery;
use crate::shared::now;
use crate::translate;

/// Something to do as soon as all that led to it is written.
#[derive(Debug)]
pub(super) enum Todo {
    Open,
    Give {
        intent: IntentId,
        if_busy: IfBusy,
        /// For a turn of its own.
        choice: Option<TurnChoice>,
    },
    Interrupt {
        by: String,
    },
    ChangeGoal {
        intent: Option<IntentId>,
        change: GoalChange,
        /// It may have been made before our process ended.
        may_be_made: bool,
    },
    ReadGoal,
    LookFor {
        turn: TurnId,
        inputs: Vec<IntentId>,
    },
    Deliver(Box<Delivery>),
    Approve {
        ask: ostler_model::AskId,
    },
    /// Look whether the server that it is about is our own.
    Verify {
        driver: ostler_model::AskId,
    },
    Tell(FromRunner),
    /// Leave the app-server to those who work there.
    Retire,
    Leave,
    Release {
        done: tokio::sync::oneshot::Sender<bool>,
    },
}

impl Runner {
    /// Writes down what the machine decided, and notes what is to be done after.
    pub(super) fn absorb(&mut self, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        for effect in effects {
            match effect {
                Effect::Moved { from, to, cause } => {
                    self.tell_moved(to, &cause);
                    self.log.event(now(), Event::State { from, to, cause });
                    self.todo
                        .push(Todo::Tell(FromRunner::Moved { task: self.id.clone(), state: to }));
                }
                Effect::Settle { intent, to } => self.settle_intent(&intent, to),
                Effect::Give { intent, if_busy } => {
                    let after = self.notes.last_turn().cloned();
                    self.move_intent(&intent, IntentState::Sent { after });
                    let choice = self.choose(&intent, if_busy);
                    self.todo.push(Todo::Give { intent, if_busy, choice });
                }
                Effect::Owe(owed) => self.owe(owed),
                Effect::AskToContinue(why) => self.ask_to_continue(&why),
                Effect::WantPlace => {
                    let waiting = Waiting::of(self.machine.task());
                    let wants = FromRunner::WantPlace(waiting, self.machine.wants());
                    self.todo.push(Todo::Tell(wants));
                }
                Effect::KeepPlace => {
                    let keeps = FromRunner::KeepPlace(Waiting::of(self.machine.task()));
                    self.todo.push(Todo::Tell(keeps));
                }
                Effect::LeavePlace => {
                    self.todo.push(Todo::Tell(FromRunner::LeavePlace { task: self.id.clone() }));
                }
                Effect::Open => self.todo.push(Todo::Open),
                Effect::Interrupt { by } => self.todo.push(Todo::Interrupt { by }),
                Effect::ChangeGoal { intent, change } => self.goal_is_to_change(intent, change),
                Effect::ReadGoal => self.todo.push(Todo::ReadGoal),
                Effect::LookFor { turn, inputs } => self.todo.push(Todo::LookFor { turn, inputs }),
                Effect::Retire => self.note_refused_login(),
                Effect::GiveBack { intent } => self.move_intent(&intent, IntentState::Pending),
            }
        }
        self.note_task();
    }

    pub(super) async fn perform(&mut self, todo: Todo) {
        match todo {
            Todo::Open => {
                // One that could not be used any more is let go of first.
                self.close_thread().await;
                self.open();
            }
            Todo::Give { intent, if_busy, choice } => self.give(&intent, if_busy, choice).await,
            Todo::Interrupt { by } => self.interrupt_turn(by),
            Todo::ChangeGoal { intent, change, may_be_made } => {
                self.change_goal(intent, change, may_be_made);
            }
            Todo::ReadGoal => self.read_goal(),
            Todo::LookFor { turn, inputs } => self.look_for(&turn, &inputs).await,
            Todo::Deliver(delivery) => self.deliver(*delivery).await,
            Todo::Approve { ask } => self.ask_approver(&ask),
            Todo::Verify { driver } => self.verify(driver),
            Todo::Tell(word) => {
                if let FromRunner::Moved { task, state } = &word {
                    self.shared.hub.tell_changed(task, *state);
                }
                // A dispatcher that has ended needs to know nothing.
                drop(self.shared.dispatcher.send(word).await);
            }
            Todo::Retire => {
                if let Some(stage) = &self.stage {
                    stage.seat.retire_for_login();
                }
                self.close_thread().await;
                self.look_at_login();
            }
            Todo::Leave => self.leave_if_at_rest().await,
            Todo::Release { done } => {
                self.leave_if_at_rest().await;
                let is_closed = self.stage.is_none() && self.works.is_empty();
                if done.send(is_closed).is_err() {
                    tracing::debug!(task = %self.id, "whoever released it has gone");
                }
            }
        }
    }

    /// Nothing is done any more: the thread is closed, and the dispatcher may let go of us.
    async fn leave_if_at_rest(&mut self) {
        if !self.machine.is_at_rest() || !self.works.is_empty() {
            return;
        }
        self.leave().await;
        self.has_left = true;
        drop(self.shared.dispatcher.send(FromRunner::AtRest { task: self.id.clone() }).await);
    }

    /// For an input that begins a turn.
    fn choose(&mut self, id: &IntentId, if_busy: IfBusy) -> Option<TurnChoice> {
        let Some(Intent { wish: Wish::Send { input, .. }, by, .. }) = self.intents.get(id) else {
            return None;
        };
        let is_turn = if_busy == IfBusy::Queue && matches!(input.content, Content::Message(_));
        is_turn.then(|| model_choice::choose(self.machine.task_mut(), input, by))
    }

    async fn give(&mut self, id: &IntentId, if_busy: IfBusy, choice: Option<TurnChoice>) {
        let Some(Intent { wish: Wish::Send { input, .. }, .. }) = self.intents.get(id) else {
            return;
        };
        let mut content = translate::turn_input(input).map_err(|error| error.to_string());
        if let (Ok(content), Some(choice)) = (&mut content, choice) {
            choice.put_into(content);
        }
        if self.stage.is_none() {
            return;
        }
        let task = self.machine.task();
        if task.turn.is_none() {
            if let Err(failure) = check_writable(&self.shared.live().allowed.homes, task) {
                content = Err(failure.message);
            }
            // Codex would begin a turn in which every command fails. One that runs already may still be told something.
            if let Err(failure) = check_folder(task) {
                let intent = id.clone();
                return self.step(Signal::CannotGive { intent, failure });
            }
            self.shared.on_disk.begin(task).await;
        }
        let Some(stage) = &self.stage else { return };
        let input = InputId::new(id.as_str());
        let sent = match content {
            Ok(content) => {
                let ticket = stage.thread.send_as(input.clone(), content, if_busy).await;
                ticket.map(drop).map_err(|error| error.to_string())
            }
            Err(error) => Err(error),
        };
        if let Err(message) = sent {
            let failure = Failure::new(FailureClass::BadRequest, message);
            let update =
                ostler_model::thread::Update::InputRefused { input, failure, may_have_run: false };
            self.step(Signal::Told(Box::new(update)));
        }
    }

    fn interrupt_turn(&mut self, by: String) {
        let Some(stage) = &self.stage else { return };
        let thread = stage.thread.clone();
        let driver = stage.seat.driver().clone();
        let has_goal = self.machine.task().goal.as_ref().is_some_and(Goal::is_open);
        // It waits for the turn's end, which comes through the loop.
        self.works.spawn(async move {
            // Else Codex starts the next turn as soon as this one is over, if there is one.
            if has_goal {
                let outcome = driver.change_goal(thread.id(), &GoalChange::Pause).await;
                thread.interrupt(by).await;
                return Work::Goal { intent: None, outcome: Box::new(outcome) };
            }
            thread.interrupt(by).await;
            Work::Done
        });
    }

    fn owe(&mut self, owed: Owed) {
        let input = Input::text(owed.text());
        let intent = Intent {
            id: IntentId::new(Uuid::now_v7().to_string()),
            task: self.id.clone(),
            wish: Wish::Send { input, if_busy: IfBusy::Queue },
            by: Intent::OURSELVES.to_owned(),
            at: now(),
            state: IntentState::Pending,
        };
        self.log.push(Write::Intent(Box::new(intent.clone())));
        self.log.event(intent.at, Event::Intended { intent: Box::new(intent.clone()) });
        let id = intent.id.clone();
        self.intents.insert(id.clone(), intent);
        let effects = self.machine.owe(now(), id);
        self.absorb(effects);
    }

    pub(super) fn settle_intent(&mut self, id: &IntentId, to: IntentState) {
        self.move_intent(id, to);
        self.intents.remove(id);
        self.known.insert(id.clone());
    }

    pub(super) fn move_intent(&mut self, id: &IntentId, to: IntentState) {
        // Steers of ours that say the reason of a refusal are not intents.
        let Some(intent) = self.intents.get_mut(id) else { return };
        intent.state = to.clone();
        self.log.push(Write::Intent(Box::new(intent.clone())));
        self.log.event(now(), Event::IntentMoved { intent: id.clone(), to });
    }

    fn ask_to_continue(&mut self, why: &WhyAsk) {
        let why = match why {
            WhyAsk::Crash(failure) => {
                format!("its app-server died in the middle of a turn ({})", failure.message)
            }
            WhyAsk::Missing(failure) => question(self.machine.task(), failure),
            WhyAsk::Limit(failure) => {
                format!(
                    "a limit of the account stopped it, and does not say when it passes ({})",
                    failure.message
                )
            }
            WhyAsk::Login(failure) => {
                let home = self.shared.pool.home(&self.machine.task().settings);
                let codex_home =
                    failure.codex_home.clone().or(Some(home.display().to_string().into()));
                let failure = Failure { codex_home, ..failure.clone() };
                format!(
                    "the login was refused ({}); {}. It goes on as soon as there is another login, or when it is allowed to",
                    failure.message,
                    failure.advice()
                )
            }
            WhyAsk::Outage(failure) => format!(
                "the model could not be reached in the middle of a turn ({})",
                failure.message
            ),
            WhyAsk::Budget(Edge::Tokens { used, most }) => {
                format!("its budget of {most} tokens is used up ({used} used)")
            }
            WhyAsk::Budget(Edge::WorkTime { used_ms, most_ms }) => format!(
                "its budget of {} minutes of work is used up ({} used)",
                most_ms / 60_000,
                used_ms / 60_000
            ),
            WhyAsk::Budget(Edge::Turns { used, most }) => {
                format!("its budget of {most} turns is used up ({used} used)")
            }
        };
        let content = Ask {
            thread: self.machine.task().thread.clone(),
            turn: None,
            item: None,
            reason: None,
            kind: AskKind::Continue { why },
            offers: vec![Decision::Once, Decision::Deny],
        };
        self.open_own_ask(content);
    }
}
