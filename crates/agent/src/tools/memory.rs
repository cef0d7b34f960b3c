//! `memory`: what the agent remembers beyond this conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use ostler_model::ask::{FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::{Ask, AskKind, Decision};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Activity;
use crate::memory::{Book, Change, ChangeError, Changed, Memory, MemoryError, Planned};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// After so many changes that did not fit, a turn has spent enough on making room.
const MOST_FAILED: u32 = 3;

/// Whether a person is asked before something is remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteApproval {
    #[default]
    NotNeeded,
    Asked,
}

/// One for each conversation, and one for each review.
pub struct MemoryTool {
    memory: Arc<Memory>,
    approval: WriteApproval,
    /// Changes of this turn that did not fit.
    failed: AtomicU32,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    old_text: Option<String>,
    #[serde(default)]
    operations: Vec<Operation>,
}

#[derive(Deserialize)]
struct Operation {
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    old_text: Option<String>,
}

impl MemoryTool {
    pub fn new(memory: Arc<Memory>, approval: WriteApproval) -> Self {
        Self { memory, approval, failed: AtomicU32::new(0) }
    }

    /// A new turn may try again to make room.
    pub fn begin_turn(&self) {
        self.failed.store(0, Ordering::Relaxed);
    }

    async fn run(&self, arguments: Value, context: &CallContext) -> ToolResult {
        let (book, changes) = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(why) => return ToolResult::failed(why),
        };
        if self.failed.load(Ordering::Relaxed) >= MOST_FAILED {
            return skipped();
        }
        let done = match self.approval {
            WriteApproval::NotNeeded => {
                self.blocking(move |memory| memory.change(book, &changes)).await
            }
            WriteApproval::Asked => match self.plan_and_ask(book, changes, context).await {
                Ok(planned) => self.blocking(move |memory| memory.carry_out(book, &planned)).await,
                Err(result) => return result,
            },
        };
        self.told(book, done)
    }

    /// The plan, if a person allows it; otherwise what the model is told.
    async fn plan_and_ask(
        &self,
        book: Book,
        changes: Vec<Change>,
        context: &CallContext,
    ) -> Result<Planned, ToolResult> {
        let planned = self.blocking(move |memory| memory.plan(book, &changes)).await;
        let planned = planned.map_err(|error| self.told(book, Err(error)))?;
        if planned.is_empty() {
            return Ok(planned);
        }
        match decision(&self.memory, book, &planned, context).await {
            Ok(decision) if decision.allows() => Ok(planned),
            Ok(_) => Err(ToolResult::failed(
                "the user does not want this to be remembered; do not try it again in other words",
            )),
            Err(why) => Err(ToolResult::failed(why)),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Memory) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let memory = Arc::clone(&self.memory);
        match tokio::task::spawn_blocking(move || work(&memory)).await {
            Ok(done) => done,
            Err(error) => Err(MemoryError::File {
                path: self.memory.path(Book::Memory),
                source: std::io::Error::other(error),
            }),
        }
    }

    fn told(&self, book: Book, done: Result<Changed, MemoryError>) -> ToolResult {
        match done {
            Ok(changed) => ToolResult::said(told(book, &changed)),
            Err(error @ MemoryError::Change(ChangeError::TooLarge { .. })) => {
                if self.failed.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_FAILED {
                    return skipped();
                }
                ToolResult::failed(error.to_string())
            }
            Err(error) => ToolResult::failed(error.to_string()),
        }
    }
}

impl Tool for MemoryTool {
    fn definition(&self) -> ToolDefinition {
        let text = |what: &str| json!({ "type": "string", "description": what });
        let action = json!({ "type": "string", "enum": ["add", "replace", "remove"] });
        let content = text("The entry: one short fact, in your own words. For add and replace.");
        let old = text(
            "Words that only one entry has. For replace, which puts `content` in its place, and remove.",
        );
        ToolDefinition {
            name: "memory".to_owned(),
            description: format!(
                "Remember durable facts for later conversations. Two lists: `user` (who the user is, what they like and expect; \
                 at most {} characters) and `memory` (the machine, projects, conventions, what was learned; at most {}). Save \
                 what will still matter in weeks; no progress reports, no secrets, nothing that is easy to look up. What you \
                 save shows in your prompt from the next conversation on. With `operations` several changes are made together \
                 or not at all, and only the size at the end counts: merge entries that way when a list is full.",
                Book::User.most_characters(),
                Book::Memory.most_characters(),
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "target": { "type": "string", "enum": ["memory", "user"], "description": "Which list." },
                    "action": action.clone(),
                    "content": content.clone(),
                    "old_text": old.clone(),
                    "operations": {
                        "type": "array",
                        "description": "Several changes at once, instead of action, content and old_text.",
                        "items": {
                            "type": "object",
                            "properties": { "action": action, "content": content, "old_text": old },
                            "required": ["action"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["target"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        let word = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let many = arguments.get("operations").and_then(Value::as_array).map_or(0, Vec::len);
        let what = match (many, word("content")) {
            (0, "") => word("old_text").to_owned(),
            (0, content) => content.to_owned(),
            (many, _) => format!("{many} changes"),
        };
        let short: String =
            what.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
        format!("{} {}: {short}", word("action"), word("target")).trim_start().to_owned()
    }

    fn only_reads(&self, _: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(self.run(arguments, context))
    }
}

fn parse(arguments: Value) -> Result<(Book, Vec<Change>), String> {
    let arguments: Arguments = serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments of memory are not right: {error}"))?;
    let Arguments { target, action, content, old_text, mut operations } = arguments;
    let book = target.as_deref().and_then(Book::named);
    let book = book.ok_or("`target` must be \"memory\" or \"user\"")?;
    match (action, operations.is_empty()) {
        (Some(_), false) => {
            return Err("give either `action` or `operations`, not both".to_owned());
        }
        (None, true) => {
            return Err("`action` must be \"add\", \"replace\" or \"remove\"".to_owned());
        }
        (None, false) => {}
        (action, true) => operations.push(Operation { action, content, old_text }),
    }
    let changes = operations.into_iter().map(change).collect::<Result<_, _>>()?;
    Ok((book, changes))
}

fn change(operation: Operation) -> Result<Change, String> {
    let Operation { action, content, old_text } = operation;
    let content = content.ok_or("`content` is missing: the text of the entry");
    let old =
        old_text.ok_or("`old_text` is missing: some words that only the entry in question has");
    match action.as_deref() {
        Some("add") => Ok(Change::Add { text: content? }),
        Some("replace") => Ok(Change::Replace { old: old?, text: content? }),
        Some("remove") => Ok(Change::Remove { old: old? }),
        _ => Err("`action` must be \"add\", \"replace\" or \"remove\"".to_owned()),
    }
}

async fn decision(
    memory: &Memory,
    book: Book,
    planned: &Planned,
    context: &CallContext,
) -> Result<Decision, String> {
    let path = memory.path(book).display().to_string();
    let change = FileChangeKind::Update { moved_to: None };
    let files = vec![FileDiff { path, change, diff: planned.diff.clone() }];
    let ask = Ask {
        thread: None,
        turn: None,
        item: None,
        reason: Some("to remember this for later conversations".to_owned()),
        kind: AskKind::FileChange(FileChangeAsk { files, grant_root: None }),
        offers: vec![Decision::Once, Decision::Deny],
    };
    let key = format!("memory:{}", context.call);
    let cwd = context.cwd.display().to_string();
    let unasked = |error| format!("nobody could be asked, so nothing was remembered: {error}");
    let record =
        context.asks.open(&context.conversation, &key, &cwd, ask).await.map_err(unasked)?;
    if let Some(decided) = record.decision {
        return Ok(decided.decision);
    }
    let id = record.id.clone();
    context.asks.show(Activity::Asked(Box::new(record)));
    tokio::select! {
        decided = context.asks.decision(&id) => decided.map(|decided| decided.decision).map_err(unasked),
        () = context.stop.cancelled() => {
            context.asks.withdraw(&id).await;
            Err("the turn was stopped before the user had decided; nothing was remembered".to_owned())
        }
    }
}

fn told(book: Book, changed: &Changed) -> String {
    let head = if changed.is_written { "Saved" } else { "Nothing to do: it is remembered already" };
    let others = if changed.was_changed_by_others {
        " Somebody else has changed the list since you read it; these are its entries now."
    } else {
        ""
    };
    let entries: Vec<String> = changed.entries.iter().map(|entry| format!("- {entry}")).collect();
    format!("{head}. {} [{}].{others}\n{}", book.file_name(), changed.usage, entries.join("\n"))
}

fn skipped() -> ToolResult {
    ToolResult::said(format!(
        "Skipped: {MOST_FAILED} changes of this turn did not fit. Do not call memory again in this turn; go on with the work."
    ))
}

#[cfg(test)]
mod tests;
