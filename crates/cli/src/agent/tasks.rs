//! Tasks on Codex, for the host agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ostler_agent::ports::{PortError, Taken, TaskNews, Tasks};
use ostler_agent::tool::ToolResult;
use ostler_model::task::{IntentState, Receipt, TaskSettings};
use ostler_model::thread::IfBusy;
use ostler_model::{Input, ItemId, TaskId};
use ostler_server::api::{
    Accepted, FinishToolCall, Released, Removed, SendRequest, StartAnswer, StartRequest,
    TakeToolCall, ToolCallFinished, ToolCallTaken,
};
use tokio::sync::mpsc;

use super::follow::{Follow, Seen, intent};
use super::{Way, port_error, twice};

/// News that a surface may be behind before the reader of the daemon waits for it.
const NEWS: usize = 256;

pub(crate) struct HostTasks {
    way: Arc<Way>,
    /// How far the log of a task was read: the next turn begins behind it.
    seen: Seen,
    /// By which the daemon knows who runs a tool call.
    name: String,
}

impl HostTasks {
    pub(crate) fn new(way: Arc<Way>) -> Self {
        let began = jiff::Timestamp::now().as_nanosecond();
        let name = format!("chat-{}-{began}", std::process::id());
        Self { way, seen: Arc::new(Mutex::new(HashMap::new())), name }
    }

    async fn give(&self, path: &str, request: &SendRequest) -> Result<(), PortError> {
        let given: Result<Accepted, PortError> =
            twice!(self.way, client => client.post(path, request));
        given.map(drop)
    }
}

impl Tasks for HostTasks {
    fn start<'a>(
        &'a self,
        settings: TaskSettings,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, PortError>> {
        Box::pin(async move {
            let request = start_request(settings, input, key);
            let started: StartAnswer =
                twice!(self.way, client => client.post("/v1/tasks", &request))?;
            Ok(started.task.id)
        })
    }

    fn send<'a>(
        &'a self,
        task: &'a TaskId,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let (input, key) = (Some(input), Some(key.to_owned()));
            let request = SendRequest { prompt: None, input, if_busy: IfBusy::Queue, key };
            self.give(&format!("/v1/tasks/{task}/send"), &request).await
        })
    }

    fn steer<'a>(
        &'a self,
        task: &'a TaskId,
        text: String,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let (prompt, key) = (Some(text), Some(key.to_owned()));
            let request = SendRequest { prompt, input: None, if_busy: IfBusy::Steer, key };
            // Words that come too late for the turn begin one of their own, which is followed, too.
            self.give(&format!("/v1/tasks/{task}/send"), &request).await
        })
    }

    fn taken<'a>(
        &'a self,
        task: &'a TaskId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Taken, PortError>> {
        Box::pin(async move {
            let intent = match intent(&self.way, task, key).await {
                Ok(intent) => intent,
                Err(PortError::NotFound(_)) => return Ok(Taken::Never),
                Err(error) => return Err(error),
            };
            Ok(match intent.state {
                IntentState::Pending | IntentState::Sent { .. } => Taken::NotYet,
                IntentState::Done { receipt: Receipt::Taken { turn } } => Taken::By(turn),
                IntentState::Done { .. }
                | IntentState::NotDone { .. }
                | IntentState::Unknown { .. } => Taken::Never,
            })
        })
    }

    fn interrupt<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let path = format!("/v1/tasks/{task}/interrupt");
            let nothing = serde_json::json!({});
            let given: Result<Accepted, PortError> =
                twice!(self.way, client => client.post(&path, &nothing));
            match given {
                // The turn has ended by itself, which is all that was wanted.
                Err(PortError::Refused(why)) => {
                    tracing::debug!(%task, %why, "no turn ran that could be ended");
                    Ok(())
                }
                given => given.map(drop),
            }
        })
    }

    fn follow<'a>(
        &'a self,
        task: &'a TaskId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<mpsc::Receiver<TaskNews>, PortError>> {
        Box::pin(async move {
            let (news, heard) = mpsc::channel(NEWS);
            let follow = Follow::begin(&self.way, task, key, self.seen.clone(), news).await?;
            tokio::spawn(follow.run());
            Ok(heard)
        })
    }

    fn take_call<'a>(
        &'a self,
        task: &'a TaskId,
        call: &'a ItemId,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let path = format!("/v1/tasks/{task}/tool-calls/take");
            let request = TakeToolCall { call: call.to_string(), by: self.name.clone() };
            let taken: Result<ToolCallTaken, PortError> =
                twice!(self.way, client => client.post(&path, &request));
            taken.map(drop)
        })
    }

    fn finish_call<'a>(
        &'a self,
        task: &'a TaskId,
        call: &'a ItemId,
        result: ToolResult,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let path = format!("/v1/tasks/{task}/tool-calls/finish");
            let ToolResult { content, is_error } = result;
            let (call, by) = (call.to_string(), self.name.clone());
            let request = FinishToolCall { call, by, result: content, succeeded: !is_error };
            let finished: Result<ToolCallFinished, PortError> =
                twice!(self.way, client => client.post(&path, &request));
            finished.map(drop)
        })
    }

    fn release<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let Some(mut client) = self.way.open_if_runs().await? else { return Ok(()) };
            let path = format!("/v1/tasks/{task}/release");
            let nothing = serde_json::json!({});
            let released: Result<Released, _> = client.post(&path, &nothing).await;
            released.map(drop).map_err(port_error)
        })
    }

    fn remove<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let path = format!("/v1/tasks/{task}");
            let gone: Result<Removed, PortError> =
                async { twice!(self.way, client => client.delete(&path)) }.await;
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(task);
            match gone {
                // It is gone, whoever removed it.
                Ok(_) | Err(PortError::NotFound(_)) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }
}

/// All of the settings, so that what the daemon has by default counts nowhere.
fn start_request(settings: TaskSettings, input: Input, key: &str) -> StartRequest {
    StartRequest {
        prompt: None,
        input: Some(input),
        cwd: settings.cwd,
        sandbox: Some(settings.sandbox.mode),
        writable_roots: settings.sandbox.writable_roots,
        network: Some(settings.sandbox.network),
        approval: Some(settings.approval),
        model: settings.model,
        model_provider: settings.model_provider,
        effort: settings.effort,
        service_tier: settings.service_tier,
        developer_instructions: settings.developer_instructions,
        config: settings.config,
        codex_version: settings.codex.version,
        codex_home: settings.codex.home,
        isolate: Some(settings.isolate),
        on_crash: Some(settings.on_crash),
        unattended: Some(settings.unattended),
        escalate_after_ms: settings.escalate_after_ms,
        turn_timeout_ms: settings.turn_timeout_ms,
        on_stall: Some(settings.on_stall),
        budget_tokens: settings.budget.tokens,
        budget_work_ms: settings.budget.work_ms,
        budget_turns: settings.budget.turns,
        worktree: Some(false),
        notify: Some(settings.notify),
        tools: settings.tools,
        unset: Vec::new(),
        key: Some(key.to_owned()),
    }
}
