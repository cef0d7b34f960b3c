//! `todo`: the model's own list of what is to do in a conversation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::read;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// A longer list helps nobody; it is read with every call.
const MOST_TODOS: usize = 100;
const MOST_CHARACTERS: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub id: String,
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// Where a conversation keeps what its tools note down. Two users: the store of conversations, and tests.
pub trait Notes: Send + Sync {
    fn todos<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, String>>;

    /// In the place of those before. Durable when it returns.
    fn keep_todos<'a>(
        &'a self,
        conversation: &'a str,
        todos: Vec<Todo>,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// Notes that end with the process.
#[derive(Debug, Default)]
pub struct MemoryNotes {
    todos: Mutex<BTreeMap<String, Vec<Todo>>>,
}

impl Notes for MemoryNotes {
    fn todos<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, String>> {
        let all = self.todos.lock().unwrap_or_else(PoisonError::into_inner);
        let todos = all.get(conversation).cloned().unwrap_or_default();
        Box::pin(async { Ok(todos) })
    }

    fn keep_todos<'a>(
        &'a self,
        conversation: &'a str,
        todos: Vec<Todo>,
    ) -> BoxFuture<'a, Result<(), String>> {
        let mut all = self.todos.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(conversation.to_owned(), todos);
        Box::pin(async { Ok(()) })
    }
}

pub struct TodoTool {
    notes: Arc<dyn Notes>,
}

#[derive(Deserialize)]
struct Arguments {
    todos: Option<Vec<Todo>>,
    #[serde(default)]
    merge: bool,
}

impl TodoTool {
    pub fn new(notes: Arc<dyn Notes>) -> Self {
        Self { notes }
    }

    async fn keep(&self, arguments: Arguments, conversation: &str) -> Result<String, String> {
        let before = self.notes.todos(conversation).await?;
        let Some(given) = arguments.todos else { return Ok(list(&before)) };
        if let Some(wrong) = given.iter().find(|todo| todo.id.trim().is_empty()) {
            return Err(format!("a todo has no `id`: {:?}; nothing was changed", wrong.content));
        }
        let start = if arguments.merge { before } else { Vec::new() };
        let after = given.into_iter().fold(start, |mut all, mut todo| {
            todo.content = todo.content.chars().take(MOST_CHARACTERS).collect();
            match all.iter_mut().find(|known| known.id == todo.id) {
                Some(known) => *known = todo,
                None => all.push(todo),
            }
            all
        });
        if after.len() > MOST_TODOS {
            return Err(format!("more than {MOST_TODOS} todos; nothing was changed"));
        }
        self.notes.keep_todos(conversation, after.clone()).await?;
        Ok(list(&after))
    }
}

/// The whole list, as the tool takes it.
fn list(todos: &[Todo]) -> String {
    let open = todos
        .iter()
        .filter(|todo| matches!(todo.status, TodoStatus::Pending | TodoStatus::InProgress));
    json!({ "todos": todos, "open": open.count() }).to_string()
}

impl Tool for TodoTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "todo".to_owned(),
            description: "Your list of what is to do in this conversation. Without `todos` it is read. With `todos` it is \
                replaced, or with `merge` changed by id. The whole list is given back. Use it for work of several steps, \
                and keep one todo in progress."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string" },
                                "content": { "type": "string" },
                                "status": {
                                    "type": "string",
                                    "enum": ["pending", "in_progress", "completed", "cancelled"],
                                },
                            },
                            "required": ["id", "content", "status"],
                            "additionalProperties": false,
                        },
                    },
                    "merge": { "type": "boolean", "description": "keep the todos that are not named" },
                },
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        let count = arguments.get("todos").and_then(Value::as_array).map(Vec::len);
        count.map_or_else(|| "read".to_owned(), |count| format!("{count} todos"))
    }

    fn only_reads(&self, arguments: &Value) -> bool {
        arguments.get("todos").is_none()
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments = match read("todo", arguments) {
                Ok(arguments) => arguments,
                Err(failed) => return failed,
            };
            match self.keep(arguments, &context.conversation).await {
                Ok(list) => ToolResult::said(list),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_model::Decision;
    use serde_json::{Value, json};

    use super::{MemoryNotes, TodoTool};
    use crate::tool::Tool;
    use crate::tools::fakes::{Answer, FakeAsks, context};

    #[tokio::test]
    async fn the_list_is_read_replaced_and_merged_by_id() {
        let tool = TodoTool::new(Arc::new(MemoryNotes::default()));
        let asks = FakeAsks::answering(Answer::of(Decision::Deny));
        let todo = |id: &str, status: &str| json!({ "id": id, "content": id, "status": status });
        let steps = [
            (json!({}), json!({ "todos": [], "open": 0 })),
            (
                json!({ "todos": [todo("a", "pending"), todo("b", "pending")] }),
                json!({ "todos": [todo("a", "pending"), todo("b", "pending")], "open": 2 }),
            ),
            (
                json!({ "todos": [todo("a", "completed"), todo("c", "in_progress")], "merge": true }),
                json!({
                    "todos": [todo("a", "completed"), todo("b", "pending"), todo("c", "in_progress")],
                    "open": 2,
                }),
            ),
            (
                json!({ "todos": [todo("d", "cancelled")] }),
                json!({ "todos": [todo("d", "cancelled")], "open": 0 }),
            ),
        ];
        for (arguments, wanted) in steps {
            let result = tool.call(arguments, &context(&asks, "/")).await;
            assert_eq!(serde_json::from_str::<Value>(&result.content).unwrap(), wanted);
        }
        let nameless =
            tool.call(json!({ "todos": [todo(" ", "pending")] }), &context(&asks, "/")).await;
        assert_eq!(nameless.content, "a todo has no `id`: \" \"; nothing was changed");
    }
}
