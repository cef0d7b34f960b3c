//! `write_file`: a whole file, new or in the place of an old one.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{self, Change};
use super::{path, read, shown};
use crate::sandbox::Boundary;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// A file that begins with it keeps it: some programs read the rest wrongly without.
const BYTE_ORDER_MARK: char = '\u{feff}';

pub struct WriteFile {
    boundary: Arc<Boundary>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    pub fn new(boundary: Arc<Boundary>) -> Self {
        Self { boundary }
    }

    async fn write(
        &self,
        arguments: Arguments,
        context: &CallContext,
    ) -> Result<ToolResult, ToolResult> {
        let real = path::real(&arguments.path, &context.cwd).map_err(ToolResult::failed)?;
        if arguments.content.len() as u64 > change::MOST_BYTES {
            return Err(ToolResult::failed(format!(
                "`content` is longer than {} bytes",
                change::MOST_BYTES
            )));
        }
        let before = change::text(&real).map_err(ToolResult::failed)?;
        let mut after = arguments.content;
        if let Some(before) = &before {
            after = change::with_line_ends_of(before, &after);
            if before.starts_with(BYTE_ORDER_MARK) && !after.starts_with(BYTE_ORDER_MARK) {
                after.insert(0, BYTE_ORDER_MARK);
            }
        }
        if before.as_ref() == Some(&after) {
            return Ok(ToolResult::said(format!("{} has this content already", real.display())));
        }
        let word = if before.is_some() { "overwritten" } else { "made" };
        let said = format!(
            "{} {word}: {} bytes, {} lines",
            real.display(),
            after.len(),
            after.lines().count()
        );
        Change { real, before, after }.perform(&self.boundary, context).await?;
        Ok(ToolResult::said(said))
    }
}

impl Tool for WriteFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "write_file".to_owned(),
            description: "Writes a whole text file and makes the folders above it. To change a part of a file, use \
                `patch`. Outside of the workspace a person is asked first."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "absolute, or below the workspace" },
                    "content": { "type": "string", "description": "all of it" },
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "path")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match read("write_file", arguments) {
                Ok(arguments) => {
                    self.write(arguments, context).await.unwrap_or_else(|failed| failed)
                }
                Err(failed) => failed,
            }
        })
    }
}
