//! The tools, one file each, and the box that holds them.

mod ask_first;
mod browser;
mod cap;
mod change;
mod delegate_task;
mod harmless;
mod media;
mod memory;
mod outside;
mod patch;
mod path;
mod read_file;
mod schema;
mod search_files;
mod session_search;
mod skills;
mod terminal;
mod todo;
mod toolbox;
mod web;
mod whole_write;
mod write_file;

#[cfg(test)]
mod fakes;
#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod testing;

pub use ask_first::ask_first;
pub use browser::{BrowserSettings, BrowserTool, BrowserVision, Browsers, browser_tools};
pub use cap::{Cap, cut};
pub use delegate_task::DelegateTask;
pub use media::{
    Connect, Endpoint, ImageGenerate, ImageSettings, ImageSource, MediaFolder, SpeechSettings,
    TextToSpeech, Vision, VisionAnalyze,
};
pub use memory::{MemoryTool, WriteApproval};
pub use outside::{OutsideSettings, WebSettings, outside_tools};
pub use patch::Patch;
pub use read_file::ReadFile;
pub use search_files::SearchFiles;
pub use session_search::{Excerpt, PastSessions, SessionHit, SessionSearch};
pub use skills::{SkillManage, SkillView, SkillsList, skill_tools};
pub use terminal::{Terminal, TerminalSettings};
pub use todo::{MemoryNotes, Notes, Todo, TodoStatus, TodoTool};
pub use toolbox::Toolbox;
pub use web::{
    FetchError, Fetched, Fetcher, Guard, Lookup, Refused, SearchKind, SearchSettings, WebExtract,
    WebSearch,
};
pub use write_file::WriteFile;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::tool::ToolResult;

/// The arguments as the tool's own type. The toolbox has compared them with the schema before, and says more than this.
fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, ToolResult> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolResult::failed(format!("the arguments of `{tool}` do not fit: {error}"))
    })
}

/// A text argument for a preview: on one line, and not long.
fn shown(arguments: &Value, field: &str) -> String {
    let text = arguments.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // About what a terminal shows beside the tool's name.
    if let Some((end, _)) = line.char_indices().nth(100) {
        line.truncate(end);
        line.push('…');
    }
    line
}
