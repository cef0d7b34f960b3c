//! `delegate_task`: work for Codex, in a task of its own.

mod limits;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_model::ask::{AskKind, CommandAsk};
use ostler_model::task::Approval;
use ostler_model::{Input, TaskId, TaskSettings, TurnEnd};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask_first::{ask_first, question};
use super::{read, shown};
use crate::Activity;
use crate::ports::{PortError, TaskEnded, TaskNews, Tasks};
use crate::sandbox::Boundary;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// A turn of an hour is rare; the task works on, and can be looked at.
const WAIT_DEADLINE: Duration = Duration::from_secs(3600);

pub struct DelegateTask {
    tasks: Arc<dyn Tasks>,
    /// No wider than the boundary.
    defaults: TaskSettings,
    boundary: Arc<Boundary>,
}

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
    cwd: Option<PathBuf>,
    model: Option<String>,
    effort: Option<String>,
    #[serde(default)]
    wait: bool,
}

impl DelegateTask {
    /// What every task is started with, as far as the agent itself may do it.
    pub fn new(tasks: Arc<dyn Tasks>, defaults: TaskSettings, boundary: Arc<Boundary>) -> Self {
        let defaults = limits::limited(defaults, &boundary);
        Self { tasks, defaults, boundary }
    }

    async fn delegate(
        &self,
        arguments: Arguments,
        context: &CallContext,
    ) -> Result<ToolResult, ToolResult> {
        if arguments.prompt.trim().is_empty() {
            return Err(ToolResult::failed("`prompt` is empty; say what is to be done"));
        }
        let cwd = context.cwd.join(arguments.cwd.as_deref().unwrap_or(Path::new("")));
        let cwd =
            cwd.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
                ToolResult::failed(format!("`cwd` is no folder: {}", cwd.display()))
            })?;
        self.consent(&arguments.prompt, &cwd, context).await?;
        let mut settings = self.defaults.clone();
        settings.cwd = cwd.to_string_lossy().into_owned();
        settings.model = arguments.model.or(settings.model);
        settings.effort = arguments.effort.or(settings.effort);
        // The same call again, after a crash, is the same task.
        let key = format!("{}/{}", context.conversation, context.call);
        let failed = |error: PortError| ToolResult::failed(format!("no task was started: {error}"));
        let started = self.tasks.start(settings, Input::text(arguments.prompt), &key);
        let task = started.await.map_err(failed)?;
        if !arguments.wait {
            return Ok(ToolResult::said(format!(
                "task {task} was started; `ostler show {task}` and `ostler attach {task}` show it"
            )));
        }
        Ok(self.follow(&task, &key, context).await)
    }

    /// Whether a task may work there: by the boundary, or by somebody who was asked.
    async fn consent(
        &self,
        prompt: &str,
        cwd: &Path,
        context: &CallContext,
    ) -> Result<(), ToolResult> {
        let workspace = context.cwd.canonicalize().unwrap_or_else(|_| context.cwd.clone());
        let sandbox = &self.defaults.sandbox;
        let why = limits::why_asked(cwd, sandbox.mode, &self.boundary, &workspace);
        let Some(why) = why.map_err(ToolResult::failed)? else { return Ok(()) };
        if self.boundary.approval == Approval::Never {
            return Err(ToolResult::failed(format!(
                "declined: nobody is asked here (approval is `never`), and {why}"
            )));
        }
        let cwd = cwd.to_string_lossy().into_owned();
        let kind = AskKind::Command(CommandAsk {
            command: Some(format!("delegate_task {prompt}")),
            extra: Some(limits::permissions(sandbox, &cwd)),
            cwd: Some(cwd),
            ..CommandAsk::default()
        });
        ask_first(context, "delegate", question(kind, Some(why))).await
    }

    async fn follow(&self, task: &TaskId, key: &str, context: &CallContext) -> ToolResult {
        let mut news = match self.tasks.follow(task, key).await {
            Ok(news) => news,
            Err(error) => return lost(task, &error.to_string()),
        };
        let deadline = tokio::time::sleep(WAIT_DEADLINE);
        tokio::pin!(deadline);
        loop {
            let next = tokio::select! {
                biased;
                () = context.stop.cancelled() => return self.stopped(task).await,
                () = &mut deadline => {
                    let hours = WAIT_DEADLINE.as_secs() / 3600;
                    return ToolResult::said(format!(
                        "task {task} still works after {hours} h; `ostler show {task}` shows how it stands"
                    ));
                }
                next = news.recv() => next,
            };
            match next {
                // Only what a person must see: the task's own words are in its log, and its answer comes here.
                Some(TaskNews::Activity(
                    activity @ (Activity::Asked(_) | Activity::AskOver { .. }),
                )) => {
                    context.asks.show(activity);
                }
                Some(TaskNews::Activity(_) | TaskNews::Call(_)) => {}
                Some(TaskNews::Waits { why }) => {
                    context.asks.show(Activity::Note(format!("task {task} waits: {why}")));
                }
                Some(TaskNews::Ended(ended)) => return tell(task, *ended),
                Some(TaskNews::Lost { why }) => return lost(task, &why),
                None => return lost(task, "its news ended"),
            }
        }
    }

    async fn stopped(&self, task: &TaskId) -> ToolResult {
        ToolResult::failed(match self.tasks.interrupt(task).await {
            Ok(()) => format!(
                "the turn was stopped, and so was task {task}; `ostler show {task}` shows how far it came"
            ),
            Err(error) => format!("the turn was stopped; task {task} may still work: {error}"),
        })
    }
}

fn tell(task: &TaskId, ended: TaskEnded) -> ToolResult {
    let failure = ended.failure.map(|failure| failure.message);
    let Some(result) = ended.result else {
        let why = failure.unwrap_or_else(|| "no turn took it".to_owned());
        return ToolResult::failed(format!("task {task} has not done it: {why}"));
    };
    let answer = result.final_answer.unwrap_or_else(|| "(it gave no answer)".to_owned());
    match result.end {
        TurnEnd::Completed => ToolResult::said(format!("task {task} has ended:\n{answer}")),
        TurnEnd::Interrupted { .. } => {
            ToolResult::failed(format!("task {task} was interrupted; its last words:\n{answer}"))
        }
        TurnEnd::Failed { failure } => {
            ToolResult::failed(format!("task {task} has failed: {}\n{answer}", failure.message))
        }
    }
}

fn lost(task: &TaskId, why: &str) -> ToolResult {
    ToolResult::failed(format!(
        "task {task} was started and cannot be followed: {why}. It works on by itself; `ostler show {task}` shows it"
    ))
}

impl Tool for DelegateTask {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "delegate_task".to_owned(),
            description: "Gives work to Codex, which does it by itself in a task of its own, and asks people what it must \
                ask. It may do what you may do, and not more; a person is asked first if it works elsewhere than in the \
                workspace. With `wait` you get its answer; without it the task's id, and it works on."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "prompt": { "type": "string", "description": "all that Codex must know: it sees nothing of this conversation" },
                    "cwd": { "type": "string", "description": "where it works; the workspace without it" },
                    "model": { "type": "string" },
                    "effort": { "type": "string", "description": "how hard the model thinks: low, medium, high" },
                    "wait": { "type": "boolean", "description": "wait for its answer" },
                },
                "required": ["prompt"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "prompt")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match read("delegate_task", arguments) {
                Ok(arguments) => {
                    self.delegate(arguments, context).await.unwrap_or_else(|failed| failed)
                }
                Err(failed) => failed,
            }
        })
    }
}

#[cfg(test)]
mod tests;
