//! A turn on Codex: the whole of it runs on the thread of an Ostler task, and its messages are spliced into the conversation once.
//!
//! What is sent is kept with the turn before it is sent, under a key by which the daemon knows it again. So whoever dies in
//! between sends exactly the same a second time, and the daemon takes it for the first.

mod follow;
mod meanwhile;
mod serving;
mod submission;

use ostler_model::usage::Usage;
use ostler_model::{Failure, FailureClass, Message, TaskId, TurnEnd, TurnResult};

pub(crate) use follow::Follower;
pub(crate) use meanwhile::{SaidMeanwhile, Words};
pub(crate) use serving::Serving;
pub(crate) use submission::{Said, Submission};

use self::submission::Target;
use crate::activity::Hear;
use crate::api::Entry;
use crate::conversation::{Conversation, KeepError};
use crate::outcome::TurnOutcome;
use crate::ports::{PortError, TaskEnded};
use crate::state::{Binding, ConversationState};
use crate::steering::Controls;

/// As `ostler migrate` registers `ostler tools-mcp`.
const OWN_SERVER: &str = "ostler-tools";

/// What a turn on Codex works with.
pub(crate) struct CodexParts<'a> {
    pub(crate) serving: &'a Serving,
    /// For a new task, if the one of the submission is gone.
    pub(crate) anew: &'a (dyn Fn(&Conversation) -> Submission + Send + Sync),
}

/// Whether a turn may have been sent already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    First,
    /// By whoever had it before. That nobody can be reached now says nothing about then.
    Again,
}

/// How it ended.
pub(crate) struct CodexEnd {
    pub(crate) outcome: TurnOutcome,
    /// What the user said meanwhile and Codex has not heard.
    pub(crate) unheard: Vec<Entry>,
    /// The turn may still run: it is not to be closed, and is taken up the next time.
    pub(crate) is_open: bool,
}

/// Names of our own tools that Codex has called, as our own loop knows them. On its own connection they have their plain names; by
/// the MCP server they stand behind its name, and a tool of another server is none of ours whatever it is called.
pub(crate) fn own_tools_used(messages: &[Message]) -> Vec<String> {
    let names = messages.iter().flat_map(|it| &it.tool_calls).map(|call| &call.function.name);
    let own = |name: &String| match name.strip_prefix("mcp.") {
        Some(served) => served.strip_prefix(OWN_SERVER)?.strip_prefix('.').map(str::to_owned),
        None => Some(name.clone()),
    };
    names.filter_map(own).collect()
}

/// Sends what the turn was begun with, follows it to its end, and splices its messages.
pub(crate) async fn run(
    parts: &CodexParts<'_>,
    conversation: &mut Conversation,
    (submission, sending): (Submission, Sending),
    controls: &Controls,
    hear: Hear<'_>,
) -> Result<CodexEnd, KeepError> {
    let (task, key) = match submit(parts, conversation, submission).await? {
        Ok(sent) => sent,
        Err(error @ PortError::InDoubt(_)) => {
            return stays_open(conversation, controls, &error).await;
        }
        Err(error @ PortError::Unreachable(_)) if sending == Sending::Again => {
            return stays_open(conversation, controls, &error).await;
        }
        Err(error) => {
            let said = controls.steering.take().into_iter();
            let unheard = said.map(|text| Entry::plain(Message::user(text))).collect();
            return Ok(CodexEnd { outcome: not_sent(&error), unheard, is_open: false });
        }
    };
    let follower = Follower { serving: parts.serving, task: &task, controls, hear };
    let (ended, unheard) = match follower.follow_all(conversation, &key).await {
        Ok(followed) => followed,
        Err(error) => return stays_open(conversation, controls, &error).await,
    };
    let messages = ended.messages.iter().cloned().map(Entry::plain).collect();
    conversation.splice(messages).await?;
    let told_to = conversation.last_number();
    let knows = |state: &mut ConversationState| {
        if let Some(binding) = &mut state.binding {
            binding.told_to = told_to;
        }
    };
    conversation.update(knows).await?;
    Ok(CodexEnd { outcome: outcome(ended), unheard, is_open: false })
}

/// Codex may have it, or work on it. What was sent is on disk with its key, so the next turn looks for it first.
async fn stays_open(
    conversation: &mut Conversation,
    controls: &Controls,
    error: &PortError,
) -> Result<CodexEnd, KeepError> {
    let unsent = controls.steering.take();
    meanwhile::keep_unsent(conversation, unsent.clone()).await?;
    let failure = Failure::new(FailureClass::ServerGone, error.to_string());
    let advice = "codex may have the message and work on it, so do not send it again: `ostler daemon start`, then say how to \
         go on, and what became of it is told first; or go on without it by `/codex-runtime auto`";
    let mut outcome = TurnOutcome::failed(failure, advice);
    outcome.pending_steer = unsent;
    Ok(CodexEnd { outcome, unheard: Vec::new(), is_open: true })
}

/// The task and the key by which the input is known there.
async fn submit(
    parts: &CodexParts<'_>,
    conversation: &mut Conversation,
    submission: Submission,
) -> Result<Result<(TaskId, String), PortError>, KeepError> {
    let Submission { key, target, input, context } = submission;
    let known = conversation.state().binding.clone();
    let cwd = match &target {
        Target::New(settings) => Some(settings.cwd.clone()),
        Target::Task(_) => known.as_ref().and_then(|binding| binding.cwd.clone()),
    };
    let task = match target {
        Target::Task(task) => match parts.serving.tasks.send(&task, input, &key).await {
            Ok(()) => task,
            Err(PortError::NotFound(_)) => {
                // Somebody removed it: the conversation goes on in a new thread that knows all of it.
                let anew = (parts.anew)(conversation);
                return Box::pin(submit(parts, conversation, anew)).await;
            }
            Err(error) => return Ok(Err(error)),
        },
        Target::New(settings) => match parts.serving.tasks.start(*settings, input, &key).await {
            Ok(task) => task,
            Err(error) => return Ok(Err(error)),
        },
    };
    let is_new = known.is_none_or(|it| it.task != task);
    let binding = Binding { task: task.clone(), cwd, told_to: conversation.last_number(), context };
    let bind = |state: &mut ConversationState| {
        state.binding = Some(binding);
        state.bindings += u64::from(is_new);
    };
    conversation.update(bind).await?;
    Ok(Ok((task, key)))
}

/// Codex surely does not have it.
fn not_sent(error: &PortError) -> TurnOutcome {
    let failure = Failure::new(FailureClass::ServerGone, error.to_string());
    let advice = match error.may_pass() {
        true => {
            "start the daemon with `ostler daemon start` and send the message again, or use `/codex-runtime auto`"
        }
        false => "send the message again when that is mended, or use `/codex-runtime auto`",
    };
    TurnOutcome::failed(failure, advice)
}

fn outcome(ended: TaskEnded) -> TurnOutcome {
    let TaskEnded { thread, result, earlier, messages, failure, last_reasoning, was_withdrawn } =
        ended;
    let interrupted = |answer: Option<String>| TurnOutcome {
        final_response: answer.unwrap_or_default(),
        interrupted: true,
        partial: true,
        ..TurnOutcome::default()
    };
    let mut outcome = match (&result, failure) {
        (_, Some(failure)) => TurnOutcome::failed_on_codex(failure),
        (None, None) if was_withdrawn => interrupted(None),
        (None, None) => {
            let message = "codex never took the message: the task ended before its turn";
            TurnOutcome::failed_on_codex(Failure::new(
                FailureClass::Unknown { word: None },
                message,
            ))
        }
        (Some(result), None) => match &result.end {
            TurnEnd::Completed => TurnOutcome {
                final_response: result.final_answer.clone().unwrap_or_default(),
                completed: true,
                ..TurnOutcome::default()
            },
            TurnEnd::Interrupted { .. } => interrupted(result.final_answer.clone()),
            TurnEnd::Failed { failure } => TurnOutcome::failed_on_codex(failure.clone()),
        },
    };
    outcome.thread = thread;
    outcome.last_reasoning =
        last_reasoning.or_else(|| messages.iter().rev().find_map(|it| it.reasoning.clone()));
    outcome.messages = messages;
    outcome.turn = result.as_ref().map(|result| result.turn.clone());
    let all: Vec<TurnResult> = earlier.into_iter().chain(result).collect();
    outcome.usage = used(&all);
    outcome.api_calls = outcome.usage.calls;
    let iterations = all.iter().map(|result| result.tool_iterations);
    outcome.tool_iterations = iterations.fold(0, u32::saturating_add);
    outcome
}

/// By all turns that worked on it.
fn used(results: &[TurnResult]) -> Usage {
    let add = |sum: Usage, result: &TurnResult| {
        let more = result.usage;
        Usage {
            turn: sum.turn.plus(more.turn),
            last_call: if more.last_call.total() > 0 { more.last_call } else { sum.last_call },
            calls: sum.calls.saturating_add(more.calls),
            thread: if more.thread.total() > 0 { more.thread } else { sum.thread },
            context_window: more.context_window.or(sum.context_window),
        }
    };
    results.iter().fold(Usage::default(), add)
}
