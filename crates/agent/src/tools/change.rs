//! The one way by which a tool changes a file: judged, asked for where it must be, then written whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_model::ask::{AskKind, FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::task::Approval;
use similar::TextDiff;

use super::ask_first::{ask_first, question};
use super::whole_write;
use crate::disk::read_up_to;
use crate::sandbox::{Boundary, Reach};
use crate::tool::{CallContext, ToolResult};

/// Longer files are for programs to write.
pub(super) const MOST_BYTES: u64 = 10 * 1024 * 1024;

/// After this a diff is still right, only longer than it could be.
const DIFF_DEADLINE: Duration = Duration::from_secs(1);

/// What shall become of a file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) real: PathBuf,
    /// None if there is no such file.
    pub(super) before: Option<String>,
    pub(super) after: String,
}

impl Change {
    pub(super) fn diff(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let name = self.real.to_string_lossy();
        let diff = TextDiff::configure().timeout(DIFF_DEADLINE).diff_lines(before, &self.after);
        diff.unified_diff().header(&name, &name).to_string()
    }

    /// Asks if it must, and writes.
    pub(super) async fn perform(
        self,
        boundary: &Boundary,
        context: &CallContext,
    ) -> Result<(), ToolResult> {
        consent(&self.real, boundary, context, || self.asked()).await?;
        let written = tokio::task::spawn_blocking(move || self.write()).await;
        written.unwrap_or_else(|error| Err(error.to_string())).map_err(ToolResult::failed)
    }

    fn asked(&self) -> FileChangeAsk {
        let (change, diff) = match self.before {
            None => (FileChangeKind::Add, self.after.clone()),
            Some(_) => (FileChangeKind::Update { moved_to: None }, self.diff()),
        };
        let path = self.real.to_string_lossy().into_owned();
        FileChangeAsk { files: vec![FileDiff { path, change, diff }], grant_root: None }
    }

    /// A person may have thought about it for a day, so the file is compared once more.
    fn write(self) -> Result<(), String> {
        if text(&self.real)? != self.before {
            let shown = self.real.display();
            return Err(format!(
                "{shown} has changed meanwhile; read it again. Nothing was written"
            ));
        }
        whole_write::write(&self.real, self.after.as_bytes())
            .map_err(|error| format!("{} was not written: {error}", self.real.display()))
    }
}

/// Whether a file may be written: by the boundary, or by somebody who was asked. Everything else is the result for the model.
pub(super) async fn consent(
    real: &Path,
    boundary: &Boundary,
    context: &CallContext,
    asked: impl FnOnce() -> FileChangeAsk,
) -> Result<(), ToolResult> {
    let Some(why) = why_asked(real, boundary)? else { return Ok(()) };
    if boundary.approval == Approval::Never {
        return Err(ToolResult::failed(format!(
            "declined: nobody is asked here (approval is `never`), and {why}"
        )));
    }
    ask_first(context, "write", question(AskKind::FileChange(asked()), Some(why))).await
}

fn why_asked(real: &Path, boundary: &Boundary) -> Result<Option<String>, ToolResult> {
    let shown = real.display();
    match boundary.reach(real) {
        Reach::Protected => Err(ToolResult::failed(format!(
            "{shown} belongs to Ostler or Codex itself and is not written by this tool: memories are for the \
            `memory` tool, skills for `skill_manage`, settings for the user"
        ))),
        Reach::Outside => Ok(Some(format!("{shown} is outside of what may be written here"))),
        Reach::Guarded(name) => Ok(Some(format!(
            "what is below `{name}` decides what programs do later, outside of every sandbox"
        ))),
        Reach::Inside if boundary.approval == Approval::Untrusted => {
            Ok(Some("every change is asked for here".to_owned()))
        }
        Reach::Inside => Ok(None),
    }
}

/// The text of a file that can be changed here; none if there is no file.
pub(super) fn text(real: &Path) -> Result<Option<String>, String> {
    let shown = real.display();
    let found = match real.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{shown}: {error}")),
    };
    if !found.is_file() {
        return Err(format!("{shown} is no file"));
    }
    if found.len() > MOST_BYTES {
        return Err(format!(
            "{shown} has {} bytes; this tool changes files up to {MOST_BYTES}",
            found.len()
        ));
    }
    let bytes = read_up_to(real, MOST_BYTES).map_err(|error| format!("{shown}: {error}"))?;
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| format!("{shown} is no text in UTF-8; use a command to change it"))
}

/// Lines end as they did in the file: models write `\n` whatever they have read.
pub(super) fn with_line_ends_of(before: &str, new: &str) -> String {
    let windows = before.matches("\r\n").count();
    let all = before.matches('\n').count();
    if windows * 2 > all && !new.contains("\r\n") {
        new.replace('\n', "\r\n")
    } else {
        new.to_owned()
    }
}
