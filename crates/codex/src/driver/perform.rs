//! What the machine of a thread wants done. Nothing here waits.

use std::time::Duration;

use ostler_model::thread::{Effect, GiveFailure, Signal, Update};
use ostler_model::{Failure, FailureClass, GoalChange, InputId, ThreadId, TurnEnd, TurnId};
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, Done};
use super::context::{Context, give};
use super::entry::StderrShare;
use super::goal::change_goal;
use super::look::look;
use crate::app_server::CallError;
use crate::peer::{RequestError, RpcError};
use crate::protocol::request::command::BackgroundTerminalsClean;
use crate::protocol::request::thread::ThreadCompact;
use crate::protocol::request::turn::{ReviewStart, TurnInterrupt, TurnStart, TurnSteer};
use crate::start_fault::StartFault;
use crate::thread::{Told, TurnContent, TurnInput};

/// Codex answers an interrupt within 20 ms, and one of a turn that was interrupted before not until the end of the next.
const INTERRUPT_DEADLINE: Duration = Duration::from_secs(10);

impl Actor {
    pub(super) fn perform(&mut self, thread: &ThreadId, effect: Effect) {
        match effect {
            Effect::Submit { input } => self.submit(thread, input),
            Effect::Steer { input, turn } => self.steer(thread, input, turn),
            Effect::Interrupt { turn } => self.interrupt(thread, turn),
            Effect::CleanTerminals => self.clean_terminals(thread),
            Effect::Put { ask } => self.put(thread, &ask),
            Effect::Serve { ask } => self.serve(thread, &ask),
            Effect::Answer { ask, decision } => self.answer(thread, ask, &decision),
            Effect::Refuse { ask } => self.refuse(thread, &ask),
            Effect::Look => self.look(thread),
            Effect::Reopen { server } => self.reopen(thread, server),
            Effect::Tell(update) => self.tell_update(thread, update),
        }
    }

    fn submit(&mut self, thread: &ThreadId, input: InputId) {
        let Some(root) = self.threads.get(thread).and_then(|entry| entry.as_root()) else { return };
        let Some(content) = root.inputs.get(&input).cloned() else { return };
        let settings = root.settings.clone();
        let used = root.used.with(&content);
        let Some(server) = self.server().cloned() else {
            return self.not_sent_now(thread, input);
        };
        let mode = content.mode.or_else(|| used.mode_of_reset(&content));
        if content.mode.is_some() && used.model.is_none() {
            let text = "codex did not say which model the thread uses, and a mode needs one; name the model";
            let why = GiveFailure::Refused(Failure::new(FailureClass::BadRequest, text));
            let done = Done::Signal(thread.clone(), Signal::GiveFailed { input, why });
            self.spawn(async { done });
            return;
        }
        if let Some(root) = self.root_mut(thread) {
            root.used = used.clone();
        }
        let (thread, epoch) = (thread.clone(), self.epoch);
        let context = self.context(&thread, &input, &content);
        self.spawn(async move {
            if let Err(why) = give(&server, &thread, &context).await {
                return Done::Signal(thread, Signal::GiveFailed { input, why });
            }
            let given = match content.content.clone() {
                TurnContent::Message(parts) => {
                    let start = settings.turn_start(thread.clone(), parts);
                    let start = TurnStart {
                        client_user_message_id: Some(input.to_string()),
                        collaboration_mode: mode.and_then(|mode| used.mode(mode)),
                        ..content.apply(start)
                    };
                    server.call(&start).await.map(|started| started.turn.id)
                }
                TurnContent::Review(target) => {
                    let start = ReviewStart { thread_id: thread.clone(), target };
                    server.call(&start).await.map(|started| started.turn.id)
                }
                TurnContent::Compaction => {
                    let start = ThreadCompact { thread_id: thread.clone() };
                    server.call(&start).await.map(|_| None)
                }
            };
            let signal = match given {
                Ok(turn) => Signal::Submitted { input: input.clone(), turn },
                Err(error) => Signal::GiveFailed { input: input.clone(), why: give_failure(error) },
            };
            Done::Given(thread, epoch, input, Box::new(signal))
        });
    }

    fn context(&self, thread: &ThreadId, input: &InputId, content: &TurnInput) -> Context {
        let root = self.threads.get(thread).and_then(|entry| entry.as_root());
        let is_given = root.is_some_and(|root| root.confirmed.has(thread, self.epoch, input));
        Context { parts: content.context.clone(), is_given }
    }

    fn steer(&mut self, thread: &ThreadId, input: InputId, turn: TurnId) {
        let root = self.threads.get(thread).and_then(|entry| entry.as_root());
        let content = root.and_then(|root| root.inputs.get(&input)).cloned();
        let Some((server, content)) = self.server().cloned().zip(content) else {
            return self.not_sent_now(thread, input);
        };
        let context = self.context(thread, &input, &content);
        let TurnContent::Message(parts) = content.content else {
            return self.not_sent_now(thread, input);
        };
        let steer = TurnSteer {
            thread_id: thread.clone(),
            expected_turn_id: turn,
            input: parts,
            client_user_message_id: Some(input.to_string()),
        };
        let told = self.root_mut(thread).and_then(|root| root.reasons.remove(&input));
        let told = told.map(CancellationToken::drop_guard);
        let (thread, epoch) = (thread.clone(), self.epoch);
        self.spawn(async move {
            if let Err(why) = give(&server, &thread, &context).await {
                return Done::Signal(thread, Signal::GiveFailed { input, why });
            }
            let steered = server.call(&steer).await;
            drop(told);
            let signal = match steered {
                Ok(_) => Signal::Steered { input: input.clone() },
                Err(error) => Signal::GiveFailed { input: input.clone(), why: give_failure(error) },
            };
            Done::Given(thread, epoch, input, Box::new(signal))
        });
    }

    /// An input that never left us. While the end of the connection is still to be told, giving it again would fail again.
    pub(super) fn not_sent(&mut self, thread: ThreadId, input: InputId) {
        let thread = self.now_called(thread);
        let is_gone = self.server().is_some_and(|server| server.peer().closed().is_some());
        if is_gone {
            return self.unsent.push((thread, input));
        }
        self.step(&thread, Signal::GiveFailed { input, why: GiveFailure::NotSent });
    }

    fn not_sent_now(&mut self, thread: &ThreadId, input: InputId) {
        let failed = Signal::GiveFailed { input, why: GiveFailure::NotSent };
        let done = Done::Signal(thread.clone(), failed);
        self.spawn(async { done });
    }

    fn interrupt(&mut self, thread: &ThreadId, turn: TurnId) {
        let Some(server) = self.server().cloned() else { return };
        let has_goal = self.threads.get(thread).is_some_and(|it| it.machine.has_open_goal());
        let thread = thread.clone();
        let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn.clone() };
        self.spawn(async move {
            // Else Codex may start the next turn by itself, if this one ends before the interrupt arrives.
            if has_goal && let Err(error) = change_goal(&server, &thread, &GoalChange::Pause).await
            {
                tracing::warn!(%error, %thread, "the goal of an interrupted turn is not paused");
            }
            match server.call_within(&interrupt, INTERRUPT_DEADLINE).await {
                Ok(_) => Done::Nothing,
                Err(_) => Done::Signal(thread, Signal::InterruptFailed { turn }),
            }
        });
    }

    fn clean_terminals(&mut self, thread: &ThreadId) {
        let Some(server) = self.server().cloned() else { return };
        let clean = BackgroundTerminalsClean { thread_id: thread.clone() };
        self.spawn(async move {
            if let Err(error) = server.call(&clean).await {
                tracing::warn!(%error, "commands of an interrupted turn may still run");
            }
            Done::Nothing
        });
    }

    fn look(&mut self, thread: &ThreadId) {
        let thread = thread.clone();
        let Some(server) = self.server().cloned() else {
            let looked = Signal::Looked(Err("there is no connection".to_owned()));
            self.spawn(async { Done::Signal(thread, looked) });
            return;
        };
        self.spawn(async move {
            let view = look(&server, &thread).await;
            Done::Signal(thread, Signal::Looked(view))
        });
    }

    /// From where on the app-server's stderr may be about the turn of this thread.
    fn note_stderr(&mut self, thread: &ThreadId) {
        let mark = self.connector.evidence_mark();
        let roots = self.threads.values().filter(|entry| entry.as_root().is_some()).count();
        if let Some(entry) = self.threads.get_mut(thread) {
            entry.stderr = StderrShare { mark, is_shared: roots > 1 };
        }
    }

    /// What the app-server wrote to its stderr that is about this turn, or what was gathered of it before.
    fn evidence(
        &self,
        thread: &ThreadId,
        turn: &TurnId,
        gathered: Option<String>,
    ) -> Option<String> {
        let share = self.threads.get(thread).map(|entry| entry.stderr).unwrap_or_default();
        let said = gathered.or_else(|| match share.mark {
            Some(mark) => self.connector.evidence_since(mark),
            None => self.connector.evidence(),
        })?;
        share.cut(&said, &[thread.as_str(), turn.as_str()])
    }

    /// Passes an update on, after taking from it what callers wait for.
    fn tell_update(&mut self, thread: &ThreadId, mut update: Update) {
        if let Update::TurnEnded { result } = &mut update
            && let TurnEnd::Failed { failure } = &mut result.end
        {
            failure.evidence = self.evidence(thread, &result.turn, failure.evidence.take());
        }
        if let Update::TurnBegan { .. } = &update {
            self.note_stderr(thread);
        }
        let plain = self.root_mut(thread).and_then(|root| root.plain.as_mut()?.note(&update));
        let Some((update, asked)) = self.without_secrets(thread, update) else { return };
        if let Some(entry) = self.threads.get_mut(thread) {
            entry.told.note(&update);
        }
        let messages = self.root_mut(thread).and_then(|root| root.messages.note(&update));
        match &update {
            Update::TurnEnded { result } => {
                if let Some(root) = self.root_mut(thread) {
                    root.conclude(thread, result, messages.unwrap_or_default(), plain);
                    root.note_end();
                }
            }
            Update::InputTaken { input, turn } => {
                if let Some(root) = self.root_mut(thread) {
                    root.taken(input, turn);
                }
            }
            Update::InputRefused { input, failure, .. } => {
                if let Some(root) = self.root_mut(thread) {
                    root.settle(input, Err(failure.clone()));
                }
            }
            Update::AskClosed { ask, .. } => self.forget_ask(thread, ask),
            _ => {}
        }
        self.tell_asked(thread, Told::Update(update), asked);
    }
}

/// Texts by which Codex refuses an input; it has no codes for them. Seen on 0.130.0, 0.142.5 and 0.166.0.
const REFUSALS: [(&str, GiveRefusal); 5] = [
    ("thread not found: ", GiveRefusal::ThreadGone),
    ("no active turn to steer", GiveRefusal::NoSuchTurn),
    ("expected active turn id ", GiveRefusal::NoSuchTurn),
    ("cannot steer a ", GiveRefusal::NotSteerable),
    // `turn/start` while a review runs that another client started; 0.166.0.
    ("ActiveTurnNotSteerable", GiveRefusal::NotSteerable),
];

#[derive(Debug, Clone, Copy)]
enum GiveRefusal {
    ThreadGone,
    NoSuchTurn,
    NotSteerable,
}

pub(super) fn give_failure(error: CallError) -> GiveFailure {
    let refused = |error: &dyn std::error::Error| {
        GiveFailure::Refused(Failure::new(FailureClass::BadRequest, error.to_string()))
    };
    match error {
        CallError::Request { source: RequestError::Rpc(error), .. } => rpc_failure(&error),
        CallError::Request {
            source:
                RequestError::TimedOut { may_have_arrived, .. }
                | RequestError::Closed { may_have_arrived, .. },
            ..
        } => {
            if may_have_arrived {
                GiveFailure::InDoubt
            } else {
                GiveFailure::NotSent
            }
        }
        CallError::Request { source: RequestError::AnswerTooLong { .. }, .. }
        | CallError::Unreadable { .. } => GiveFailure::InDoubt,
        error => refused(&error),
    }
}

pub(crate) fn rpc_failure(error: &RpcError) -> GiveFailure {
    let found = REFUSALS.iter().find(|(text, _)| error.message.contains(text));
    match found.map(|(_, refusal)| refusal) {
        Some(GiveRefusal::ThreadGone) => GiveFailure::ThreadGone,
        Some(GiveRefusal::NoSuchTurn) => GiveFailure::NoSuchTurn,
        Some(GiveRefusal::NotSteerable) => GiveFailure::NotSteerable,
        None => {
            let class = match StartFault::of_answer(error) {
                StartFault::Passing => FailureClass::Overload,
                StartFault::NoCodex | StartFault::Lasting => FailureClass::BadRequest,
            };
            GiveFailure::Refused(Failure::new(class, error.message.clone()))
        }
    }
}
