//! `session_search`: what was said in conversations before this one.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{read, shown};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

const LIMIT: usize = 5;
const MOST: usize = 20;

/// What is shown of one message.
const MESSAGE_CHARACTERS: usize = 1000;

/// Past conversations. Two users: the store of conversations, and tests.
pub trait PastSessions: Send + Sync {
    /// The best first, at most this many conversations, without the one that asks.
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
        without: &'a str,
    ) -> BoxFuture<'a, Result<Vec<SessionHit>, String>>;
}

/// What was found in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHit {
    pub conversation: String,
    pub title: String,
    /// For people: when it was last used.
    pub when: String,
    /// In their order.
    pub excerpts: Vec<Vec<Excerpt>>,
}

/// A message that was found, or one around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    pub text: String,
    pub is_hit: bool,
}

pub struct SessionSearch {
    past: Arc<dyn PastSessions>,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    limit: Option<usize>,
}

impl SessionSearch {
    pub fn new(past: Arc<dyn PastSessions>) -> Self {
        Self { past }
    }
}

fn tell(hits: &[SessionHit]) -> String {
    if hits.is_empty() {
        return "nothing was found in past conversations; try other words".to_owned();
    }
    hits.iter().map(tell_one).collect::<Vec<_>>().join("\n\n")
}

fn tell_one(hit: &SessionHit) -> String {
    let mut lines = vec![format!("## {} ({}, {})", hit.title, hit.when, hit.conversation)];
    for (index, messages) in hit.excerpts.iter().enumerate() {
        if index > 0 {
            lines.push("…".to_owned());
        }
        lines.extend(messages.iter().map(|message| {
            let mark = if message.is_hit { "> " } else { "  " };
            let text: String = message.text.chars().take(MESSAGE_CHARACTERS).collect();
            let end = if text.len() < message.text.len() { " […]" } else { "" };
            format!("{mark}{}: {}{end}", message.role, text.replace('\n', "\n    "))
        }));
    }
    lines.join("\n")
}

impl Tool for SessionSearch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "session_search".to_owned(),
            description: "Searches what you and the user said in earlier conversations. Use it when the user refers to \
                something that is not in this one."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "words that were said then" },
                    "limit": { "type": "integer", "description": "how many conversations, 5 without it, at most 20" },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "query")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: Arguments = match read("session_search", arguments) {
                Ok(arguments) => arguments,
                Err(failed) => return failed,
            };
            if arguments.query.trim().is_empty() {
                return ToolResult::failed("`query` is empty; give words that were said then");
            }
            let limit = arguments.limit.unwrap_or(LIMIT).clamp(1, MOST);
            match self.past.search(&arguments.query, limit, &context.conversation).await {
                Ok(hits) => ToolResult::said(tell(&hits)),
                Err(why) => {
                    ToolResult::failed(format!("past conversations cannot be searched: {why}"))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;
    use ostler_model::Decision;
    use serde_json::json;

    use super::{Excerpt, PastSessions, SessionHit, SessionSearch};
    use crate::tool::Tool;
    use crate::tools::fakes::{Answer, FakeAsks, context};

    struct Past;

    impl PastSessions for Past {
        fn search<'a>(
            &'a self,
            query: &'a str,
            limit: usize,
            without: &'a str,
        ) -> BoxFuture<'a, Result<Vec<SessionHit>, String>> {
            assert_eq!((limit, without), (5, "conversation"));
            let excerpt = |role: &str, text: &str, is_hit| Excerpt {
                role: role.into(),
                text: text.into(),
                is_hit,
            };
            let result = match query {
                "none" => Ok(Vec::new()),
                "broken" => Err("the disk is gone".to_owned()),
                _ => Ok(vec![SessionHit {
                    conversation: "c1".into(),
                    title: "Deploying".into(),
                    when: "2026-05-01".into(),
                    excerpts: vec![
                        vec![
                            excerpt("user", "where to?", false),
                            excerpt("assistant", "to\nBerlin", true),
                        ],
                        vec![excerpt("user", &"x".repeat(1001), true)],
                    ],
                }]),
            };
            Box::pin(async { result })
        }
    }

    #[tokio::test]
    async fn hits_are_grouped_by_conversation_and_marked() {
        let tool = SessionSearch::new(Arc::new(Past));
        let asks = FakeAsks::answering(Answer::of(Decision::Deny));
        let long = format!(
            "## Deploying (2026-05-01, c1)\n  user: where to?\n> assistant: to\n    Berlin\n…\n> user: {} […]",
            "x".repeat(1000)
        );
        let cases = [
            ("berlin", long.as_str()),
            ("none", "nothing was found in past conversations; try other words"),
            ("broken", "past conversations cannot be searched: the disk is gone"),
            (" ", "`query` is empty; give words that were said then"),
        ];
        for (query, wanted) in cases {
            let result = tool.call(json!({ "query": query }), &context(&asks, "/")).await;
            assert_eq!(result.content, wanted);
        }
    }
}
