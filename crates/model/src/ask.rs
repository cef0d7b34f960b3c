//! What Codex asks a person, with everything the person must see to answer.

use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::form::FormField;
use crate::id::{ItemId, QuestionId, ThreadId, TurnId};

/// One question of Codex, as it is put to a person or to the policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Absent where the question concerns the whole app-server.
    pub thread: Option<ThreadId>,
    pub turn: Option<TurnId>,
    pub item: Option<ItemId>,
    /// Why Codex asks, in its own or the model's words.
    pub reason: Option<String>,
    pub kind: AskKind,
    /// The plain decisions this ask takes. Asks that want data (answers, a grant, a tool's result) take those besides.
    pub offers: Vec<Decision>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AskKind {
    Command(CommandAsk),
    FileChange(FileChangeAsk),
    Permissions(PermissionsAsk),
    UserInput(UserInputAsk),
    Elicitation(ElicitationAsk),
    ToolCall(ToolCallAsk),
    /// Codex wants fresh account tokens; a program that holds them answers, never a person.
    TokenRefresh {
        cause: Option<String>,
        account: Option<String>,
    },
    /// Ostler itself asks whether a task shall go on; this is why it stopped.
    Continue {
        why: String,
    },
    /// A question this version of ours does not know; the name is Codex's.
    Other {
        name: String,
    },
}

impl AskKind {
    /// Whether a person decides it. The others are for programs of ours.
    pub fn is_for_people(&self) -> bool {
        match self {
            Self::Command(_)
            | Self::FileChange(_)
            | Self::Permissions(_)
            | Self::UserInput(_)
            | Self::Elicitation(_)
            | Self::Continue { .. } => true,
            Self::ToolCall(_) | Self::TokenRefresh { .. } | Self::Other { .. } => false,
        }
    }

    /// What is asked, in one line.
    pub fn summary(&self) -> String {
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::Command(ask) => match (&ask.command, &ask.network) {
                (Some(command), None) if ask.sandboxing == Sandboxing::Outside => {
                    format!("run outside of the sandbox: {}", line(command))
                }
                (Some(command), None) if ask.sandboxing == Sandboxing::Unknown => {
                    format!("run in or outside of the sandbox: {}", line(command))
                }
                (Some(command), _) => format!("run {}", line(command)),
                (None, Some(target)) => format!("connect to {}", target.host),
                (None, None) => "run a command".to_owned(),
            },
            Self::FileChange(ask) => {
                let paths: Vec<&str> = ask.files.iter().map(|file| file.path.as_str()).collect();
                format!("change {}", paths.join(", "))
            }
            Self::Permissions(_) => "widen the sandbox".to_owned(),
            Self::UserInput(ask) => {
                let first = ask.questions.first().map(|question| line(&question.text));
                format!("answer: {}", first.unwrap_or_default())
            }
            Self::Elicitation(ask) => format!("{}: {}", ask.server, line(&ask.message)),
            Self::ToolCall(ask) => format!("call {}", ask.tool),
            Self::TokenRefresh { .. } => "fetch tokens".to_owned(),
            Self::Continue { why } => format!("go on? {}", line(why)),
            Self::Other { name } => name.clone(),
        }
    }
}

/// May this command run?
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandAsk {
    /// The whole command line as it will run. Absent when only a network connection is asked for.
    pub command: Option<String>,
    pub cwd: Option<String>,
    /// True if text is written to a command that already runs, instead of a new command.
    pub writes_to_running: bool,
    /// The connection the command wants to open.
    pub network: Option<NetworkTarget>,
    /// What the command may do beyond its sandbox if it is allowed.
    pub extra: Option<Permissions>,
    /// Where it runs if it is allowed.
    #[serde(default)]
    pub sandboxing: Sandboxing,
}

/// Where an allowed command runs. Ordered by what it can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandboxing {
    /// In the sandbox of its task.
    Inside,
    /// In the sandbox; what the sandbox stops, Codex may run again outside of it without asking.
    InsideFirst,
    /// Outside of the sandbox, or there is none.
    Outside,
    /// Codex does not say.
    #[default]
    Unknown,
}

impl Sandboxing {
    /// Whether somebody who allowed this much has allowed that.
    pub fn covers(self, asked: Self) -> bool {
        asked.min(Self::Outside) <= self
    }

    /// In words, for whoever decides.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Inside => "in the sandbox",
            Self::InsideFirst => {
                "in the sandbox; what the sandbox stops, Codex may run again outside without asking"
            }
            Self::Outside => "outside of the sandbox",
            Self::Unknown => "in or outside of the sandbox: Codex does not say",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkTarget {
    pub host: String,
    pub protocol: Option<String>,
}

/// May these files be changed?
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChangeAsk {
    /// Empty until the item that carries the diff is known; the ask itself does not bring it.
    pub files: Vec<FileDiff>,
    /// A folder that becomes writable for the rest of the session if this is allowed.
    pub grant_root: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: String,
    pub change: FileChangeKind,
    /// A unified diff, or the whole text of a new or removed file.
    pub diff: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileChangeKind {
    Add,
    Delete,
    Update { moved_to: Option<String> },
    Other(String),
}

/// May the sandbox be widened?
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PermissionsAsk {
    pub cwd: Option<String>,
    pub wanted: Permissions,
}

/// A widening of the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    pub network: Option<bool>,
    pub read: Vec<String>,
    pub write: Vec<String>,
    /// Finer rules, as canonical JSON text each, because their vocabulary belongs to Codex.
    pub rules: Vec<String>,
}

/// Questions of the model to the person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInputAsk {
    pub questions: Vec<Question>,
    /// Codex answers by itself after this time.
    pub resolves_itself_after_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    pub header: String,
    pub text: String,
    pub options: Vec<QuestionOption>,
    /// Free text is allowed beside the options.
    pub allows_other: bool,
    /// The answer must not be shown or logged.
    pub is_secret: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    pub label: String,
    pub description: String,
}

/// A question of an MCP server, or Codex's own question whether an MCP tool may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationAsk {
    pub server: String,
    pub message: String,
    pub want: ElicitationWant,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ElicitationWant {
    /// Codex asks whether it may call a tool of the server.
    ToolApproval {
        /// Absent where the question does not name it in the way we know.
        tool: Option<String>,
        description: Option<String>,
        /// JSON text.
        arguments: Option<String>,
    },
    /// The server wants a form filled in.
    Form(Vec<FormField>),
    /// The server wants the person to open this address.
    Url(String),
    /// A mode this version of ours does not know; the name is Codex's.
    Other(String),
}

/// Run a tool that our side offered to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallAsk {
    pub call: ItemId,
    pub namespace: Option<String>,
    pub tool: String,
    /// JSON text.
    pub arguments: String,
}
