//! Items: the steps of a turn, in our own words.

use serde::{Deserialize, Serialize};

use crate::ask::FileDiff;
use crate::id::{InputId, ItemId, ThreadId};

/// One step of a turn. The id is unique only together with its thread and turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    pub body: ItemBody,
}

/// What kind of step it is, and what it carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    UserMessage(UserMessage),
    AgentMessage(AgentMessage),
    Reasoning(Reasoning),
    /// A plan written as text.
    Plan {
        text: String,
    },
    Command(Command),
    FileChange(FileChange),
    ToolCall(ToolCall),
    SubAgent(SubAgent),
    WebSearch {
        query: String,
        /// What was done beyond a plain search: the page opened, the pattern looked for.
        detail: Option<String>,
    },
    ImageView {
        path: String,
    },
    ImageGeneration {
        prompt: Option<String>,
        saved_path: Option<String>,
        status: String,
    },
    /// The model waited.
    Sleep {
        duration_ms: Option<u64>,
    },
    /// What a tool without an item of its own gave back.
    ToolOutput {
        name: String,
        output: String,
    },
    /// A hook of the user's put this before the model.
    HookPrompt {
        text: String,
    },
    ReviewBegan {
        review: String,
    },
    ReviewEnded {
        review: String,
    },
    /// The history was summed up to make room.
    Compaction,
    /// A kind this version of ours does not know: Codex's name for it, and its JSON text as it came.
    Other {
        name: String,
        json: String,
    },
}

/// What a person, or a program for them, put into the turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its texts, joined by line breaks.
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// Our own id of it, if Codex knows it.
    pub input: Option<InputId>,
    #[serde(default, skip_serializing_if = "Sender::is_task")]
    pub sender: Sender,
}

/// Who sent a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// Whoever gave it to the task.
    #[default]
    Task,
    /// Ostler, to go on with what was cut off.
    Ostler,
    /// Another client of the same thread, such as Codex's own interface.
    Elsewhere,
}

impl Sender {
    fn is_task(&self) -> bool {
        *self == Self::Task
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// The address, or only that there was an image if it came as `data:`.
    Image {
        url: Option<String>,
    },
    File {
        path: String,
    },
    Skill {
        name: String,
    },
    Mention {
        name: String,
    },
    Other(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessage {
    pub text: String,
    pub phase: MessagePhase,
}

/// Whether a message is the answer, or talk on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePhase {
    /// Codex does not say; the last such message is the answer if none is marked.
    #[default]
    Unmarked,
    Commentary,
    PartialAnswer,
    FinalAnswer,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    pub summary: Vec<String>,
    pub content: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The whole command line.
    pub command: String,
    pub cwd: Option<String>,
    pub output: String,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<u64>,
    pub outcome: Outcome,
    /// A person's own `!command`, not the model's.
    pub by_user: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub files: Vec<FileDiff>,
    pub outcome: Outcome,
}

/// A call of a tool outside Codex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub place: ToolPlace,
    pub tool: String,
    /// JSON text as it came; absent if there was none.
    pub arguments: Option<String>,
    /// JSON text of what it gave back: the structured part where there is one, else the content parts.
    pub result: Option<String>,
    /// Why it failed, where the failure is not in the result.
    pub error: Option<String>,
    /// Whether the tool itself says that it worked.
    pub succeeded: Option<bool>,
    pub duration_ms: Option<u64>,
    pub outcome: Outcome,
}

/// Where a tool lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPlace {
    Mcp {
        server: String,
    },
    /// With us: a tool that our side offered to the model.
    Client {
        namespace: Option<String>,
    },
}

/// A sub-agent was started, addressed or ended, or was at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgent {
    /// Codex's name of the call or of the activity.
    pub tool: String,
    pub prompt: Option<String>,
    /// The threads of the sub-agents it is about.
    pub threads: Vec<ThreadId>,
    /// What each of them said of itself last: thread, state, message.
    pub states: Vec<(ThreadId, String, Option<String>)>,
    pub outcome: Outcome,
}

/// How a step stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Running,
    Succeeded,
    Failed,
    /// A person or a rule said no.
    Declined,
    Interrupted,
    /// Codex did not say.
    #[default]
    Unknown,
    /// A word this version of ours does not know.
    Other(String),
}

/// How we learned that an item is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemEnd {
    /// Codex said so.
    Reported,
    /// Its turn ended and Codex never said so.
    Interrupted,
    /// The model's answer broke off and was asked for again; what came of it does not count.
    Superseded,
}

impl Item {
    /// A step in which something outside the model was done; each counts as one tool iteration.
    pub fn is_tool(&self) -> bool {
        matches!(self.body, ItemBody::Command(_) | ItemBody::FileChange(_) | ItemBody::ToolCall(_))
    }

    /// The outcome of a step that has one.
    pub fn outcome_mut(&mut self) -> Option<&mut Outcome> {
        match &mut self.body {
            ItemBody::Command(command) => Some(&mut command.outcome),
            ItemBody::FileChange(change) => Some(&mut change.outcome),
            ItemBody::ToolCall(call) => Some(&mut call.outcome),
            ItemBody::SubAgent(agent) => Some(&mut agent.outcome),
            _ => None,
        }
    }
}
