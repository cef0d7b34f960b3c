//! What the host agent needs of the daemon, as it wants it. The door for people joins both ends; tests put their own there.

use futures_util::future::BoxFuture;
use ostler_model::ask::ToolCallAsk;
use ostler_model::task::{AskRecord, DecisionRecord, TaskSettings};
use ostler_model::{
    Ask, AskId, Failure, Input, ItemId, Message, TaskId, ThreadId, TurnId, TurnResult,
};
use tokio::sync::mpsc;

use crate::Activity;
use crate::tool::ToolResult;

/// Why the daemon did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// Surely not done.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(String),
    /// It was asked and did not answer: it may have done it.
    #[error("the daemon may have it or not: {0}")]
    InDoubt(String),
    #[error("{0}")]
    Refused(String),
    #[error("there is no such task: {0}")]
    NotFound(String),
}

impl PortError {
    /// Whether the daemon is away, as it is for seconds while it is replaced.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::InDoubt(_))
    }
}

/// Questions of the host agent's own tools, put to the same rules, programs and people as Codex's.
pub trait Asks: Send + Sync {
    /// Puts a question. `key` names it for good: the same question asked again after a crash is the same ask.
    fn open<'a>(
        &'a self,
        conversation: &'a str,
        key: &'a str,
        cwd: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>>;

    /// Waits until somebody has decided.
    fn decision<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>>;

    /// Nobody needs the answer any more.
    fn withdraw<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, ()>;

    /// Shows a person of this surface that something is asked.
    fn show(&self, activity: Activity);
}

/// Tasks on Codex.
pub trait Tasks: Send + Sync {
    /// With the same key, a second start is the first one.
    fn start<'a>(
        &'a self,
        settings: TaskSettings,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, PortError>>;

    /// Begins the next turn, or waits for the one that runs. With the same key, a second send is the first one.
    fn send<'a>(
        &'a self,
        task: &'a TaskId,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// Into the turn that runs.
    fn steer<'a>(
        &'a self,
        task: &'a TaskId,
        text: String,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// Which turn has what was given under this key.
    fn taken<'a>(
        &'a self,
        task: &'a TaskId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Taken, PortError>>;

    fn interrupt<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>>;

    /// What happens in the task, from the beginning of the turn that answers the input of this key; it may have ended long ago.
    /// The channel closes after [`TaskNews::Ended`], or with [`TaskNews::Lost`].
    fn follow<'a>(
        &'a self,
        task: &'a TaskId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<mpsc::Receiver<TaskNews>, PortError>>;

    /// Takes a call of a tool of ours, or says that it is still being run: whoever is silent for ten seconds is given up.
    fn take_call<'a>(
        &'a self,
        task: &'a TaskId,
        call: &'a ItemId,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// What a call came to that was taken.
    fn finish_call<'a>(
        &'a self,
        task: &'a TaskId,
        call: &'a ItemId,
        result: ToolResult,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// Nothing more is sent for now: its thread is closed and its app-server ended, unless something runs there. A daemon that does
    /// not run has none.
    fn release<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>>;

    /// Ends what runs and forgets the task. Its thread in Codex's home stays.
    fn remove<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>>;
}

/// What became of something that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    By(TurnId),
    NotYet,
    /// It was refused or taken back, or never came.
    Never,
}

/// News of one turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskNews {
    Activity(Activity),
    /// Codex calls a tool of ours.
    Call(ToolCallAsk),
    /// The task waits: in line, for a limit, for its app-server. For people.
    Waits {
        why: String,
    },
    /// The input was given to a turn, or never will be.
    Ended(Box<TaskEnded>),
    /// The daemon does not answer any more.
    Lost {
        why: String,
    },
}

/// How the turn ended that answered the input.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEnded {
    pub thread: Option<ThreadId>,
    /// None if no turn ever took the input.
    pub result: Option<TurnResult>,
    /// Turns that were cut off before that one, by a crash or a limit, and whose work it went on with.
    pub earlier: Vec<TurnResult>,
    /// Somebody took the input back before Codex had it.
    pub was_withdrawn: bool,
    /// Without the user's own message, which the conversation has already.
    pub messages: Vec<Message>,
    pub failure: Option<Failure>,
    pub last_reasoning: Option<String>,
}
