//! What is put before the model together with an input: behind the thread's history, before the input itself.
//!
//! Codex tells nobody of it, so whether it arrived is known by its answer alone, and after a broken connection by the thread's
//! file. It never comes twice where that can be told, and is never left out.

use std::path::PathBuf;

use ostler_model::input::{ContextPart, ContextRole};
use ostler_model::thread::GiveFailure;
use ostler_model::{InputId, ThreadId};
use serde_json::{Value, json};

use super::look::LOOK_DEADLINE;
use super::perform::give_failure;
use crate::app_server::AppServer;
use crate::protocol::request::thread::ThreadInjectItems;
use crate::protocol::request::thread_history::ThreadRead;
use crate::rollout::context_given;

/// The context of one input on its way.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) parts: Vec<ContextPart>,
    /// Codex has said on this connection that it has it.
    pub(super) is_given: bool,
}

/// Which inputs' contexts Codex has confirmed, and on which connection: on another one it may have lost them.
#[derive(Debug, Default)]
pub(super) struct Confirmed(Vec<(ThreadId, u64, InputId)>);

impl Confirmed {
    pub(super) fn has(&self, thread: &ThreadId, epoch: u64, input: &InputId) -> bool {
        self.0.iter().any(|known| (&known.0, known.1, &known.2) == (thread, epoch, input))
    }

    pub(super) fn add(&mut self, thread: ThreadId, epoch: u64, input: InputId) {
        self.forget(&input);
        self.0.push((thread, epoch, input));
    }

    pub(super) fn forget(&mut self, input: &InputId) {
        self.0.retain(|known| known.2 != *input);
    }
}

/// Puts it before the model, unless it is there. A failure is one of the input that it belongs to, which has not been sent.
pub(super) async fn give(
    server: &AppServer,
    thread: &ThreadId,
    context: &Context,
) -> Result<(), GiveFailure> {
    if context.is_given || context.parts.is_empty() {
        return Ok(());
    }
    let given = found(server, thread, &context.parts).await;
    let missing = context.parts.get(given..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    let items = missing.iter().map(item).collect();
    let inject = ThreadInjectItems { thread_id: thread.clone(), items };
    match server.call(&inject).await.map_err(give_failure) {
        Ok(_) => Ok(()),
        // The context may have arrived; the input itself has not left us.
        Err(GiveFailure::InDoubt) => Err(GiveFailure::NotSent),
        Err(why) => Err(why),
    }
}

/// How many of them the thread has already, from an attempt of which we have not heard.
async fn found(server: &AppServer, thread: &ThreadId, parts: &[ContextPart]) -> usize {
    let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
    let file = match server.call_within(&read, LOOK_DEADLINE).await {
        Ok(answer) => answer.thread.path.map(PathBuf::from),
        Err(error) => {
            tracing::warn!(%error, %thread, "the thread's file is not known; its context is given anew");
            None
        }
    };
    let Some(file) = file else { return 0 };
    let parts = parts.to_vec();
    match tokio::task::spawn_blocking(move || context_given(&file, &parts)).await {
        Ok(Ok(given)) => given,
        Ok(Err(error)) => {
            tracing::warn!(%error, %thread, "a rollout could not be read; the context is given anew");
            0
        }
        Err(error) => {
            tracing::warn!(%error, %thread, "a rollout could not be read; the context is given anew");
            0
        }
    }
}

/// As the Responses API has it.
fn item(part: &ContextPart) -> Value {
    let kind = match part.role {
        ContextRole::Assistant => "output_text",
        ContextRole::Developer | ContextRole::User => "input_text",
    };
    let content = [json!({ "type": kind, "text": part.text })];
    json!({ "type": "message", "role": part.role.name(), "content": content })
}
