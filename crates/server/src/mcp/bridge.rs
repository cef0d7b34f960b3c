//! Codex for other programs: background tasks, started, watched and steered by tools.
//!
//! [`Bridge`] does the work, each part of it in a file: `start`, `look` (status, list, log, diff), `push` (send, steer, interrupt),
//! `respond`, `wait`, `told` (which tasks have ended). `tools` offers each as a tool of its own, `one_tool` all of them
//! as `codex_bridge`, and `documents` logs and diffs by address.

mod documents;
mod look;
mod one_tool;
mod outputs;
mod push;
mod respond;
mod shown;
mod start;
mod told;
mod tools;
mod wait;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::daemon::{Daemon, Errand, Verb};
use super::table::{Call, ToolAnswer, ToolTable};
use crate::api::TaskDetail;
use crate::problem::{Problem, Trouble};

const INSTRUCTIONS: &str = "\
Codex runs tasks in the background here; they outlive you. Start one with codex_start, then codex_wait for it, and read its answer in \
final_answer. A task that needs a person says so (waiting_for_approval, waiting_for_user_input) and lists what it asks in pending_requests: \
you cannot answer for them unless the operator said so; tell the user to run `ostler answer ID`, and wait again. codex_bridge is the same in \
one tool.";

/// One caller's way to tasks.
pub struct Bridge {
    pub daemon: Arc<dyn Daemon>,
    /// Where a task works that is started without a folder. None if it must be named.
    pub cwd: Option<String>,
}

/// What a tool came to.
type Done = Result<Value, Problem>;

/// All tools of the bridge.
pub fn table(bridge: &Arc<Bridge>, version: &str) -> ToolTable {
    let mut table = ToolTable::new("ostler", version, INSTRUCTIONS);
    table.add(one_tool::tool(bridge));
    for tool in tools::all(bridge) {
        table.add(tool);
    }
    table
}

impl Bridge {
    async fn get<T: DeserializeOwned>(&self, path: String, client: &str) -> Result<T, Problem> {
        let errand = Errand { verb: Verb::Get, path, body: Value::Null, client: client.to_owned() };
        read(self.daemon.run(errand).await.map_err(for_tools)?)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: String,
        body: Value,
        client: &str,
    ) -> Result<T, Problem> {
        let errand = Errand { verb: Verb::Post, path, body, client: client.to_owned() };
        read(self.daemon.run(errand).await.map_err(for_tools)?)
    }

    async fn detail(&self, task: &str, client: &str) -> Result<TaskDetail, Problem> {
        self.get(format!("/v1/tasks/{}", id(task, "task_id")?), client).await
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(|error| {
        Problem::new(Trouble::Internal, format!("the daemon's answer makes no sense: {error}"))
    })
}

/// How the caller calls itself.
fn client(call: &Call) -> String {
    call.client.clone().unwrap_or_else(|| "http".to_owned())
}

/// The arguments of a tool as its own type.
fn arguments<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(given))
        .map_err(|error| bad(format!("the arguments do not fit: {error}")))
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(Trouble::BadRequest, detail)
        .hint("the schema of the tool says what each field takes")
}

/// An optional word. Models fill in all fields there are, with nothing in those that they do not mean.
fn given(mut word: String) -> Option<String> {
    word.truncate(word.trim_end().len());
    word.drain(..word.len() - word.trim_start().len());
    (!word.is_empty()).then_some(word)
}

/// The same for a word that is one of a few, however it is written.
fn choice(word: Option<String>) -> Option<String> {
    word.and_then(given).map(|word| word.to_lowercase())
}

/// What the routes advise their own callers, for callers of tools.
fn for_tools(mut problem: Problem) -> Problem {
    const INSTEAD: [(&str, &str); 6] = [
        ("/openapi.json", "the schema of the tool says what each field takes"),
        ("`ostler ls", "codex_list shows the tasks"),
        ("`ostler asks`", "codex_asks shows what waits for a person"),
        ("`ostler send", "codex_send gives it more to do, in the same conversation"),
        ("`ostler why", "codex_status says what became of it"),
        ("send it as a steer or to the queue", "codex_wait for it, or use if_busy queue or steer"),
    ];
    if let Some(hint) = &problem.hint
        && let Some((_, instead)) = INSTEAD.iter().find(|(words, _)| hint.contains(words))
    {
        problem.hint = Some((*instead).to_owned());
    }
    problem
}

/// An id that can stand in a path. What stands in its place is named by `field`.
fn id<'i>(given: &'i str, field: &str) -> Result<&'i str, Problem> {
    let given = given.trim();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match (given.is_empty(), given.bytes().all(is_plain)) {
        (true, _) => Err(bad(format!("{field} is missing")).hint("codex_list shows the tasks")),
        (false, false) => {
            Err(bad(format!("{given:?} is no id")).hint("codex_list shows the tasks"))
        }
        (false, true) => Ok(given),
    }
}

/// A refusal as a model reads it: what is wrong, and what to do.
fn answer(done: Done) -> ToolAnswer {
    match done {
        Ok(value) => ToolAnswer::object(value),
        Err(problem) => {
            let hint = problem.hint.as_ref().map(|hint| format!("\nWhat to do: {hint}"));
            let text = format!("{}{}", problem.detail, hint.unwrap_or_default());
            let error = json!({
                "status": problem.status(),
                "detail": problem.detail,
                "hint": problem.hint,
                "data": problem.data,
            });
            let structured = Some(json!({ "error": error }));
            ToolAnswer { structured, ..ToolAnswer::failed(text) }
        }
    }
}
