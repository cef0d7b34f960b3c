//! Calls of the model joined with their outputs, for what no event tells the end of.

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{
    Command, FileChange, Item, ItemBody, Outcome, SubAgent, ToolCall, ToolPlace,
};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::exec::{self, Report, State};
use super::line::Response;
use crate::protocol::lenient;

/// A call whose output has not been read yet.
#[derive(Debug, Clone)]
pub(super) struct Call {
    name: String,
    namespace: String,
    /// JSON, or the text given to a custom tool.
    arguments: String,
    id: String,
    /// The folder of its turn.
    cwd: Option<String>,
}

/// What a call came to.
pub(super) enum Outcomes {
    /// The live stream has no item for it.
    Nothing,
    Item(Item),
    /// A command goes on in the background, under this name.
    Background(Item, String),
    /// News of a command in the background.
    News {
        session: String,
        report: Report,
    },
}

#[derive(Default, Deserialize)]
struct KnownArguments {
    #[serde(default, deserialize_with = "lenient::option")]
    input: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    path: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    session_id: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    agent_id: Option<String>,
}

impl Call {
    pub(super) fn of(response: &Response, cwd: Option<&str>) -> Self {
        let action = response.action.as_ref();
        let arguments = match action.filter(|action| !action.command.is_empty()) {
            // `local_shell_call` has its arguments in an action.
            Some(action) => {
                json!({ "command": action.command, "workdir": action.working_directory })
                    .to_string()
            }
            None if response.arguments.is_empty() => response.input.clone(),
            None => response.arguments.clone(),
        };
        let name = match response.kind.as_str() {
            "local_shell_call" => "local_shell".to_owned(),
            _ => response.name.clone(),
        };
        let id = if response.call_id.is_empty() { &response.id } else { &response.call_id };
        Self {
            name,
            namespace: response.namespace.clone(),
            arguments,
            id: id.clone(),
            cwd: cwd.map(str::to_owned),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The call with the text that the model got for it.
    pub(super) fn answered(&self, output: &str) -> Outcomes {
        match self.name.as_str() {
            "exec_command" | "shell" | "local_shell" | "bash" | "container.exec"
            | "shell_command" => self.command(exec::report(output)),
            "write_stdin" => match self.known().session_id {
                Some(session) => {
                    Outcomes::News { session: session.to_string(), report: exec::report(output) }
                }
                None => Outcomes::Nothing,
            },
            // A patch that does not fit is refused before anything is tried, and the live stream has no item for it.
            "apply_patch" if output.starts_with("apply_patch verification failed") => {
                Outcomes::Nothing
            }
            "apply_patch" => self.item(self.patch(patch_outcome(output))),
            "view_image" => match self.known().path {
                Some(path) => self.item(ItemBody::ImageView { path: self.absolute(&path) }),
                None => Outcomes::Nothing,
            },
            // Told by other notifications, or not at all.
            "update_plan" | "request_user_input" | "request_permissions" | "tool_search" => {
                Outcomes::Nothing
            }
            name => match sub_agent_tool(name) {
                Some(tool) => self.item(self.sub_agent(tool, output)),
                None if output.starts_with("unsupported call") => Outcomes::Nothing,
                None => self.item(ItemBody::ToolCall(self.tool(output))),
            },
        }
    }

    /// The call as it stood when its turn ended without an output.
    pub(super) fn unanswered(&self) -> Option<Item> {
        match self.answered("aborted") {
            Outcomes::Item(item) | Outcomes::Background(item, _) => Some(item),
            Outcomes::Nothing | Outcomes::News { .. } => None,
        }
    }

    fn item(&self, body: ItemBody) -> Outcomes {
        Outcomes::Item(Item { id: self.id.as_str().into(), body })
    }

    fn command(&self, report: Report) -> Outcomes {
        let arguments = read::<exec::Arguments>(&self.arguments);
        let cwd = match &arguments.workdir {
            Some(workdir) => Some(self.absolute(workdir)),
            None => self.cwd.clone(),
        };
        let mut command = Command { command: arguments.command_line(), cwd, ..Command::default() };
        let session = apply(&mut command, report);
        let item = Item { id: self.id.as_str().into(), body: ItemBody::Command(command) };
        match session {
            Some(session) => Outcomes::Background(item, session),
            None => Outcomes::Item(item),
        }
    }

    fn patch(&self, outcome: Outcome) -> ItemBody {
        // As a function the patch is in an object, as a custom tool it is the text itself.
        let patch = self.known().input.unwrap_or_else(|| self.arguments.clone());
        let mut files: Vec<FileDiff> = Vec::new();
        for line in patch.lines() {
            let begin =
                |prefix: &str| line.strip_prefix(prefix).map(|path| self.absolute(path.trim()));
            let new = |path, change| FileDiff { path, change, diff: String::new() };
            if let Some(path) = begin("*** Add File: ") {
                files.push(new(path, FileChangeKind::Add));
            } else if let Some(path) = begin("*** Delete File: ") {
                files.push(new(path, FileChangeKind::Delete));
            } else if let Some(path) = begin("*** Update File: ") {
                files.push(new(path, FileChangeKind::Update { moved_to: None }));
            } else if let (Some(file), Some(path)) = (files.last_mut(), begin("*** Move to: ")) {
                file.change = FileChangeKind::Update { moved_to: Some(path) };
            } else if let Some(file) = files.last_mut()
                && !line.starts_with("*** ")
            {
                // Of a new file the live stream tells the text, not a diff.
                let text = match &file.change {
                    FileChangeKind::Add => line.strip_prefix('+').unwrap_or(line),
                    _ => line,
                };
                file.diff += text;
                file.diff += "\n";
            }
        }
        ItemBody::FileChange(FileChange { files, outcome })
    }

    fn sub_agent(&self, tool: &str, output: &str) -> ItemBody {
        let started = read::<KnownArguments>(output).agent_id;
        ItemBody::SubAgent(SubAgent {
            tool: tool.to_owned(),
            prompt: self.known().message,
            threads: started.iter().map(|id| id.as_str().into()).collect(),
            states: Vec::new(),
            outcome: match exec::refusal(output) {
                Some(State::Interrupted) => Outcome::Interrupted,
                _ => Outcome::Succeeded,
            },
        })
    }

    /// A tool of an MCP server has the server in its namespace (or, once, in its name); any other is one of ours.
    fn tool(&self, output: &str) -> ToolCall {
        let output = exec::headed(output).map_or(output, |(_, output)| output);
        let refused = exec::refusal(output).is_some_and(|state| state == State::Interrupted);
        let server = self.namespace.strip_prefix("mcp__").map(|name| name.trim_end_matches('_'));
        let split = self.name.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
        let (place, tool) = match (server, split) {
            (Some(server), _) => (ToolPlace::Mcp { server: server.to_owned() }, self.name.as_str()),
            (None, Some((server, tool))) => (ToolPlace::Mcp { server: server.to_owned() }, tool),
            (None, None) => {
                let namespace = Some(self.namespace.clone()).filter(|name| !name.is_empty());
                (ToolPlace::Client { namespace }, self.name.as_str())
            }
        };
        let is_json = serde_json::from_str::<&RawValue>(output).is_ok();
        let result = match place {
            _ if refused => None,
            ToolPlace::Mcp { .. } if is_json => Some(output.to_owned()),
            ToolPlace::Mcp { .. } => Some(json!([{ "type": "text", "text": output }]).to_string()),
            ToolPlace::Client { .. } => {
                Some(json!([{ "type": "inputText", "text": output }]).to_string())
            }
        };
        ToolCall {
            place,
            tool: tool.to_owned(),
            arguments: Some(self.arguments.clone()).filter(|arguments| !arguments.is_empty()),
            result,
            error: None,
            succeeded: None,
            duration_ms: None,
            outcome: if refused { Outcome::Interrupted } else { Outcome::Succeeded },
        }
    }

    fn known(&self) -> KnownArguments {
        read(&self.arguments)
    }

    fn absolute(&self, path: &str) -> String {
        match &self.cwd {
            Some(cwd) if !path.starts_with('/') => {
                format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./"))
            }
            _ => path.to_owned(),
        }
    }
}

/// Brings a command up to date; gives the name of its background process if it goes on.
pub(super) fn apply(command: &mut Command, report: Report) -> Option<String> {
    command.output += &report.output;
    command.outcome = match report.state {
        State::Exited(code) => {
            command.exit_code = Some(code);
            if code == 0 { Outcome::Succeeded } else { Outcome::Failed }
        }
        State::Running(session) => {
            command.outcome = Outcome::Running;
            return Some(session);
        }
        State::Declined => Outcome::Declined,
        State::Interrupted => Outcome::Interrupted,
        State::Failed => Outcome::Failed,
    };
    None
}

fn patch_outcome(output: &str) -> Outcome {
    match exec::report(output).state {
        State::Exited(0) => Outcome::Succeeded,
        State::Declined => Outcome::Declined,
        State::Interrupted => Outcome::Interrupted,
        State::Exited(_) | State::Failed | State::Running(_) => Outcome::Failed,
    }
}

/// The live stream's name for a tool that deals with sub-agents.
fn sub_agent_tool(name: &str) -> Option<&'static str> {
    Some(match name {
        "spawn_agent" => "spawnAgent",
        "send_input" | "send_message" | "followup_task" => "sendInput",
        "resume_agent" => "resumeAgent",
        "wait_agent" | "wait" => "wait",
        "close_agent" | "interrupt_agent" => "closeAgent",
        _ => return None,
    })
}

/// Reads what is an object of ours, else nothing of it.
fn read<T: for<'de> Deserialize<'de> + Default>(text: &str) -> T {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).unwrap_or_default()
    } else {
        T::default()
    }
}
