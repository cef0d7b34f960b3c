//! The handle: one conversation, turn after turn, on either runtime.

mod opening;
mod reviewing;
mod turning;

use std::path::PathBuf;
use std::sync::Arc;

use ostler_model::message::Role;
use ostler_model::task::TaskSettings;
use ostler_model::usage::Tokens;
use ostler_model::{Input, Message};
use ostler_store::conversations::Conversations;

pub(crate) use self::opening::conversation_of;
pub use self::opening::{ListedConversation, folder_of, list_conversations};
use self::reviewing::Reviewing;
use crate::activity::{Activity, Hear};
use crate::api::ModelApi;
use crate::clock::Clock;
use crate::codex_turn::{Follower, Serving, Words};
use crate::compress::is_full;
use crate::conversation::{Conversation, KeepError};
use crate::counters::Intervals;
use crate::input::{InputError, UserInput};
use crate::kit::Kit;
use crate::memory_sync::MemorySync;
use crate::outcome::TurnOutcome;
use crate::own_loop::{Compresses, Listening, LoopParts, make_room};
use crate::ports::{Asks, PortError, Tasks};
use crate::prompt::PromptParts;
use crate::runtime::Runtime;
use crate::skills::SkillError;
use crate::state::{ConversationState, ConversationUsage};
use crate::steering::Controls;

/// What an agent is made of.
pub struct Parts {
    pub api: Arc<dyn ModelApi>,
    /// Whom reviews ask; the error says what is missing.
    pub review_api: Result<Arc<dyn ModelApi>, String>,
    pub tasks: Arc<dyn Tasks>,
    pub asks: Arc<dyn Asks>,
    pub conversations: Conversations,
    /// What comes between turns: the one line of a review.
    pub later: Arc<dyn Fn(Activity) + Send + Sync>,
    pub clock: Clock,
}

/// How it works. A conversation that is taken up keeps its own runtime, model and effort unless others are named.
#[derive(Debug, Clone)]
pub struct Settings {
    pub runtime: Option<Runtime>,
    pub model: Option<String>,
    pub default_model: String,
    pub effort: Option<String>,
    /// Of a new conversation.
    pub default_effort: Option<String>,
    /// Absolute.
    pub cwd: PathBuf,
    /// Of the model, in tokens.
    pub context_window: u64,
    /// Calls of the model in one turn.
    pub iterations: u32,
    /// How full the context may get, in percent, before earlier messages are summed up.
    pub full_percent: u64,
    pub intervals: Intervals,
    /// The conversation's own without one.
    pub review_model: Option<String>,
    pub review_telling: ReviewTelling,
    pub codex_compaction: CodexCompaction,
    pub codex_tools: CodexTools,
    /// What a task of the Codex runtime is started with.
    pub codex: TaskSettings,
    /// A program that is told of every good turn.
    pub memory_sync: Option<Vec<String>>,
    /// The user's own words about who the agent is.
    pub identity: Option<String>,
    /// Such as `2026-11-16`, for the prompt.
    pub day: String,
    /// For a new conversation; else one that nobody has.
    pub new_id: Option<String>,
}

/// What a person is told of a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewTelling {
    Nothing,
    #[default]
    OneLine,
    /// A line for each change.
    Everything,
}

/// When Codex sums its thread up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CodexCompaction {
    /// When Codex thinks so.
    #[default]
    Native,
    /// When our own threshold is reached, too.
    Host,
    /// Only when the user wants it.
    Off,
}

/// How a thread of Codex gets the agent's own tools. One that was begun keeps what it was begun with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CodexTools {
    /// By the MCP server, where it is registered.
    #[default]
    Mcp,
    /// Codex calls us on its own connection.
    Dynamic,
    Nothing,
}

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    New,
    /// By its id or the beginning of it.
    Resume(String),
    /// The one that was used last.
    Last,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error("there is no conversation {0}; `ostler chat --list` shows them")]
    NoConversation(String),
    #[error("{0} is the beginning of several conversations: {1}")]
    Ambiguous(String, String),
    #[error("there is no conversation yet")]
    NoneYet,
    #[error(
        "the last turn of conversation {0} has no end, because it was cut off or codex is still at work on it; nothing was removed"
    )]
    OpenTurn(String),
    #[error("the model could not be asked: {0}")]
    Api(String),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Input(#[from] InputError),
}

/// One conversation. Only one process has it.
pub struct Agent {
    settings: Settings,
    parts: Parts,
    kit: Kit,
    conversation: Conversation,
    /// Taken once, when the agent is opened.
    prompt: PromptParts,
    instructions: String,
    reviewing: Reviewing,
    sync: Option<MemorySync>,
    /// A turn without an end on disk.
    has_open_turn: bool,
}

/// A conversation, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationShown {
    pub id: String,
    pub title: String,
    pub cwd: String,
    pub created_at: i64,
    pub messages: usize,
    pub runtime: Runtime,
    pub model: String,
    pub effort: Option<String>,
}

impl Agent {
    pub fn shown(&self) -> ConversationShown {
        ConversationShown {
            id: self.conversation.id().to_owned(),
            title: self.conversation.title().to_owned(),
            cwd: self.conversation.cwd().to_owned(),
            created_at: self.conversation.created_at(),
            messages: self.conversation.kept().len(),
            runtime: self.runtime(),
            model: self.model(),
            effort: self.effort(),
        }
    }

    pub fn runtime(&self) -> Runtime {
        self.conversation.state().runtime
    }

    /// Empty if nobody has chosen one.
    pub fn model(&self) -> String {
        let state = self.conversation.state();
        state.model.clone().unwrap_or_else(|| self.settings.default_model.clone())
    }

    pub fn effort(&self) -> Option<String> {
        self.conversation.state().effort.clone()
    }

    pub fn usage(&self) -> ConversationUsage {
        self.conversation.state().usage
    }

    /// What is remembered, as it is now. Blocks.
    pub fn memory_shown(&self) -> String {
        self.kit.memory.snapshot().prompt
    }

    /// The skills there are now, or why they cannot be told. Blocks.
    pub fn skills_shown(&self) -> String {
        self.kit.skills.shown().unwrap_or_else(|error| error.to_string())
    }

    /// The review leaves a pinned skill alone, and nobody deletes it. Blocks.
    pub fn pin_skill(&self, name: &str) -> Result<(), SkillError> {
        self.kit.skills.pin(name)
    }

    pub fn unpin_skill(&self, name: &str) -> Result<(), SkillError> {
        self.kit.skills.unpin(name)
    }

    /// The last messages, oldest first.
    pub fn last_messages(&self, most: usize) -> Vec<Message> {
        let said = self.conversation.kept().iter().map(|it| &it.entry.message);
        let said: Vec<&Message> = said.filter(|it| it.role != Role::Tool).collect();
        said.iter().skip(said.len().saturating_sub(most)).map(|it| (*it).clone()).collect()
    }

    /// Whether a turn was cut off that [`Self::take_up`] can bring to its end.
    pub fn has_open_turn(&self) -> bool {
        self.has_open_turn
    }

    /// From the next turn on.
    pub async fn set_model(&mut self, model: Option<String>) -> Result<(), AgentError> {
        Ok(self.conversation.update(|state| state.model = model).await?)
    }

    /// From the next turn on.
    pub async fn set_effort(&mut self, effort: Option<String>) -> Result<(), AgentError> {
        Ok(self.conversation.update(|state| state.effort = effort).await?)
    }

    /// From the next turn on. What was said on one runtime is told to the other. What Codex has open for the conversation is
    /// closed, unless it is at work there.
    pub async fn set_runtime(&mut self, runtime: Runtime) -> Result<(), AgentError> {
        let was = self.runtime();
        self.conversation.update(|state| state.runtime = runtime).await?;
        if (was, runtime) == (Runtime::CodexAppServer, Runtime::Auto)
            && let Some(binding) = &self.conversation.state().binding
            && let Err(error) = self.parts.tasks.release(&binding.task).await
        {
            // It is closed when it has been idle for a while.
            tracing::warn!(%error, "codex stays open for now");
        }
        Ok(())
    }

    /// Makes room now. What was done, in one line.
    pub async fn compress(
        &mut self,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<String, AgentError> {
        match self.runtime() {
            Runtime::Auto => self.compress_own(controls).await,
            Runtime::CodexAppServer => self.compress_codex(controls, hear).await,
        }
    }

    async fn compress_own(&mut self, controls: &Controls) -> Result<String, AgentError> {
        let (model, effort) = (self.model(), self.effort());
        // Wished for: a quarter of what there is stays, however much room there would be.
        let used = self.used_context();
        let parts = LoopParts {
            api: &*self.parts.api,
            toolbox: &self.kit.toolbox,
            asks: self.parts.asks.clone(),
            model: &model,
            effort: effort.as_deref(),
            instructions: &self.instructions,
            cwd: self.settings.cwd.clone(),
            context_window: self.settings.context_window,
            iterations: 1,
            compresses: Compresses::Yes,
            full_percent: self.settings.full_percent,
        };
        let (conversation, stop) = (&mut self.conversation, &controls.stop);
        let room = make_room(&parts, conversation, used, Listening::NoTurn, stop).await?;
        let change = |state: &mut ConversationState| {
            let used = &mut state.usage;
            used.total = room.calls.iter().fold(used.total, |total, it| total.plus(*it));
            used.api_calls = used.api_calls.saturating_add(room.calls.len() as u64);
            if room.is_made {
                // How full it is now is told with the next turn.
                used.last_call = Tokens::default();
            }
        };
        self.conversation.update(change).await?;
        match (room.is_made, room.problem) {
            (true, _) => Ok("earlier messages were summed up".to_owned()),
            (false, None) => Ok("there is nothing worth summing up".to_owned()),
            (false, Some(problem)) => Err(AgentError::Api(problem)),
        }
    }

    /// Codex sums its own thread up; our messages stay as they are.
    async fn compress_codex(
        &mut self,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<String, AgentError> {
        let Some(binding) = self.conversation.state().binding.clone() else {
            return Ok("codex does not know this conversation yet".to_owned());
        };
        let key = format!("chat/{}/compaction/{}", self.conversation.id(), self.parts.clock.now());
        let mut input = Input::text(String::new());
        input.content = ostler_model::input::Content::Compaction;
        self.parts.tasks.send(&binding.task, input, &key).await?;
        let serving = self.serving();
        let follower = Follower { serving: &serving, task: &binding.task, controls, hear };
        // Codex cannot be spoken to while it does that.
        let ended = follower.follow(&key, &mut Words::Wait).await?;
        match ended.failure {
            None => {
                // How full it is now is told with the next turn.
                let empty =
                    |state: &mut ConversationState| state.usage.last_call = Tokens::default();
                self.conversation.update(empty).await?;
                Ok("codex summed its thread up".to_owned())
            }
            Some(failure) => Err(AgentError::Api(failure.message)),
        }
    }

    /// What Codex may call of ours while it works.
    fn serving(&self) -> Serving {
        Serving {
            tasks: self.parts.tasks.clone(),
            toolbox: self.kit.offered(),
            conversation: self.conversation.id().to_owned(),
            cwd: self.settings.cwd.clone(),
            asks: self.parts.asks.clone(),
        }
    }

    /// Before the next turn on Codex, if that is ours to see to. What cannot be summed up is left to Codex.
    async fn make_room_on_codex(&mut self, controls: &Controls, hear: Hear<'_>) {
        let is_ours = self.settings.codex_compaction == CodexCompaction::Host;
        if !is_ours || self.runtime() != Runtime::CodexAppServer {
            return;
        }
        let usage = self.usage();
        let window = usage.context_window.unwrap_or(self.settings.context_window);
        if !is_full(usage.last_call.total(), window, self.settings.full_percent) {
            return;
        }
        let line = match self.compress_codex(controls, hear).await {
            Ok(line) => line,
            Err(error) => format!("codex could not sum its thread up: {error}"),
        };
        hear(Activity::Note(line));
    }

    fn used_context(&self) -> u64 {
        let state = self.conversation.state();
        let shown = crate::history::shown(self.conversation.kept(), state.compression.as_ref());
        crate::history::estimate(&shown)
    }

    /// Gives the conversation back, then lets a review come to its end, up to a bound.
    pub async fn close(self) {
        let Self { mut conversation, reviewing, sync, settings, .. } = self;
        let sync = async {
            if let Some(sync) = sync {
                sync.close(reviewing::CLOSING_PATIENCE).await;
            }
        };
        // It is kept as long as the review runs: one that comes to nothing is written down as due.
        let review = async move {
            let is_running = reviewing.is_running();
            if let Some(due) = reviewing.close().await {
                let intervals = settings.intervals;
                let owes = conversation.update(|state| state.counters.owes(due, intervals)).await;
                if let Err(error) = owes {
                    tracing::warn!(%error, is_running, "a review that is due was not noted");
                }
            }
        };
        tokio::join!(review, sync);
    }
}

impl UserInput {
    /// For Codex, which reads files by itself.
    pub(crate) fn images_for_codex(&self) -> &[String] {
        &self.images
    }
}

/// What an outcome that cannot be kept says.
pub(crate) fn not_kept(error: KeepError) -> TurnOutcome {
    TurnOutcome::failed(
        error.into_failure(),
        "make room on the disk, or look at `ostler doctor`, then say it again",
    )
}
