//! `search_files`: lines by their content, or files by their name.

mod walk;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{path, read, shown};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use walk::Search;

const LIMIT: usize = 100;
const MOST: usize = 1000;

/// A large repository takes a few seconds; who searches a whole disk should say what for.
const DEADLINE: Duration = Duration::from_secs(30);

pub struct SearchFiles;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    Name,
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    mode: Mode,
    limit: Option<usize>,
}

impl Arguments {
    fn search(self, context: &CallContext) -> Result<String, String> {
        let root: PathBuf = path::real(self.path.as_deref().unwrap_or("."), &context.cwd)?;
        if !root.exists() {
            return Err(format!("{} does not exist", root.display()));
        }
        let search = Search {
            root,
            matcher: match self.mode {
                Mode::Content => walk::Matcher::content(&self.pattern)?,
                Mode::Name => walk::Matcher::name(&self.pattern)?,
            },
            glob: self.glob.as_deref().map(walk::glob).transpose()?,
            limit: self.limit.unwrap_or(LIMIT).clamp(1, MOST),
            deadline: Instant::now() + DEADLINE,
        };
        Ok(search.run(&context.stop))
    }
}

impl Tool for SearchFiles {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "search_files".to_owned(),
            description: "Searches files below a folder: their lines by a regular expression (mode `content`), or their \
                names by a glob or a part of the name (mode `name`). What .gitignore leaves out is left out."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "description": "a regular expression; with mode `name` a glob or a part of the name" },
                    "path": { "type": "string", "description": "the folder or file; the workspace without it" },
                    "glob": { "type": "string", "description": "only files like this, as *.rs or src/**/*.ts" },
                    "mode": { "type": "string", "enum": ["content", "name"], "description": "`content` without it" },
                    "limit": { "type": "integer", "description": "how many results, 100 without it, at most 1000" },
                },
                "required": ["pattern"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "pattern")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: Arguments = match read("search_files", arguments) {
                Ok(arguments) => arguments,
                Err(failed) => return failed,
            };
            let context = context.clone();
            let searching = tokio::task::spawn_blocking(move || arguments.search(&context));
            match searching.await.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(text) => ToolResult::said(text),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}

#[cfg(test)]
mod tests;
