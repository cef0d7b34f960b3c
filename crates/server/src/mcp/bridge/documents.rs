//! Logs and diffs by address: `ostler://tasks/ID/log`, `ostler://tasks/ID/diff`.

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::Bridge;
use super::look::{Diff, List, Log};
use crate::mcp::library::{Document, Library, Shelf, Template};
use crate::problem::{Problem, Trouble};

/// A whole log in one document; past it the tool reads on page by page.
const PAGES: usize = 20;
const PAGE: usize = 200;

const LOG: Template = Template {
    uri: "ostler://tasks/{task_id}/log",
    name: "task log",
    description: "what a task was told, said and did",
    media_type: "text/plain",
};
const DIFF: Template = Template {
    uri: "ostler://tasks/{task_id}/diff",
    name: "task diff",
    description: "all that a task has changed, as a unified diff",
    media_type: "text/x-diff",
};

impl Library for Bridge {
    fn templates(&self) -> Vec<Template> {
        vec![LOG, DIFF]
    }

    fn list<'a>(&'a self, client: &'a str) -> BoxFuture<'a, Result<Vec<Shelf>, String>> {
        Box::pin(async move {
            let found = Bridge::list(self, List::default(), client).await;
            let found = found.map_err(|problem| problem.detail)?;
            let tasks = found.get("tasks").and_then(Value::as_array).into_iter().flatten();
            let shelves = tasks.flat_map(|task| {
                let text = |key: &str| {
                    task.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                [("log", LOG), ("diff", DIFF)].map(|(key, kind)| Shelf {
                    uri: text(key),
                    name: format!("{} of {}", key, text("task_id")),
                    description: format!("{}: {}", text("status"), text("prompt_summary")),
                    media_type: kind.media_type,
                })
            });
            Ok(shelves.collect())
        })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        client: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, String>> {
        Box::pin(async move {
            let Some((task, what)) = parts(uri) else { return Ok(None) };
            let text = match what {
                "log" => self.whole_log(task, client).await,
                "diff" => {
                    let wish = Diff { task_id: task.to_owned(), turns: None };
                    self.diff(wish, client).await.map(|found| whole_diff(&found))
                }
                _ => return Ok(None),
            };
            let media_type = if what == "log" { LOG.media_type } else { DIFF.media_type };
            match text {
                Ok(text) => Ok(Some(Document { text, media_type })),
                Err(problem) if problem.is(Trouble::NotFound) => Ok(None),
                Err(problem) => Err(problem.detail),
            }
        })
    }
}

impl Bridge {
    async fn whole_log(&self, task: &str, client: &str) -> Result<String, Problem> {
        let (mut text, mut after) = (String::new(), 0);
        for _ in 0..PAGES {
            let wish = Log { task_id: task.to_owned(), after, limit: Some(PAGE) };
            let page = self.log(wish, client).await?;
            text.push_str(&text_of(&page, "log"));
            match page.get("next_after").and_then(Value::as_i64) {
                Some(next) => after = next,
                None => return Ok(text),
            }
            text.push_str("\n\n");
        }
        text.push_str("[the log goes on: read it with codex_logs]");
        Ok(text)
    }
}

fn parts(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix("ostler://tasks/")?.split_once('/')
}

/// What is not known must not read as nothing; lines before the first file are no part of a diff.
fn whole_diff(found: &Value) -> String {
    let diff = text_of(found, "diff");
    match found.pointer("/from/why").and_then(Value::as_str) {
        Some(why) => format!("# what changed on disk is not known: {why}\n{diff}"),
        None => diff,
    }
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
