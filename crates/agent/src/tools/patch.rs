//! `patch`: one text in a file replaced by another.

mod near;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{self, Change};
use super::{path, read, shown};
use crate::sandbox::Boundary;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// More places than this are only counted.
const PLACES_SHOWN: usize = 10;

pub struct Patch {
    boundary: Arc<Boundary>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl Patch {
    pub fn new(boundary: Arc<Boundary>) -> Self {
        Self { boundary }
    }

    async fn patch(
        &self,
        arguments: Arguments,
        context: &CallContext,
    ) -> Result<ToolResult, ToolResult> {
        let real = path::real(&arguments.path, &context.cwd).map_err(ToolResult::failed)?;
        let before = change::text(&real).map_err(ToolResult::failed)?.ok_or_else(|| {
            ToolResult::failed(format!(
                "{} does not exist; `write_file` makes files",
                real.display()
            ))
        })?;
        let (after, count) = replaced(&before, &arguments).map_err(ToolResult::failed)?;
        let change = Change { real, before: Some(before), after };
        let diff = change.diff();
        change.perform(&self.boundary, context).await?;
        let places = if count == 1 { "place".to_owned() } else { format!("{count} places") };
        Ok(ToolResult::said(format!("changed in {places}:\n{diff}")))
    }
}

/// The new text, and how many places were changed.
fn replaced(before: &str, arguments: &Arguments) -> Result<(String, usize), String> {
    let Arguments { old_text, new_text, replace_all, .. } = arguments;
    if old_text.is_empty() {
        return Err("`old_text` is empty; give the text that is to be replaced".to_owned());
    }
    if old_text == new_text {
        return Err("`old_text` and `new_text` are the same".to_owned());
    }
    let as_is = before.contains(old_text.as_str());
    let old = if as_is { old_text.clone() } else { change::with_line_ends_of(before, old_text) };
    let new = change::with_line_ends_of(before, new_text);
    let places: Vec<_> =
        before.match_indices(old.as_str()).map(|(at, _)| line_at(before, at)).collect();
    match places.len() {
        0 => Err(near::misses(before, &old)),
        1 => Ok((before.replacen(&old, &new, 1), 1)),
        count if *replace_all => Ok((before.replace(&old, &new), count)),
        count => {
            let lines: Vec<_> = places.iter().take(PLACES_SHOWN).map(usize::to_string).collect();
            Err(format!(
                "`old_text` is there {count} times (lines {}); give more of what stands around it, or `replace_all`. \
                Nothing was changed",
                lines.join(", ")
            ))
        }
    }
}

fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

impl Tool for Patch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "patch".to_owned(),
            description: "Replaces a text in a file by another. `old_text` must be there exactly once, with every \
                blank, unless `replace_all` is set. Outside of the workspace a person is asked first."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "absolute, or below the workspace" },
                    "old_text": { "type": "string", "description": "as it stands in the file, without line numbers" },
                    "new_text": { "type": "string" },
                    "replace_all": { "type": "boolean", "description": "in every place" },
                },
                "required": ["path", "old_text", "new_text"],
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
            match read("patch", arguments) {
                Ok(arguments) => {
                    self.patch(arguments, context).await.unwrap_or_else(|failed| failed)
                }
                Err(failed) => failed,
            }
        })
    }
}
