//! Taking a conversation: a new one, or one from before.

use std::collections::BTreeMap;

use ostler_model::task::OfferedTool;
use ostler_store::Cursor;
use ostler_store::conversations::{ConversationFilter, Conversations};
use serde_json::{Value, json};

use super::reviewing::Reviewing;
use super::{Agent, AgentError, CodexCompaction, CodexTools, Parts, Settings, Which};
use crate::conversation::{Conversation, KeepError};
use crate::kit::{Kit, KitSettings, skill_lines};
use crate::memory_sync::MemorySync;
use crate::project_files::project_files;
use crate::prompt::{PromptParts, system_prompt};
use crate::state::ConversationState;
use crate::tool::ToolDefinition;

/// Ids that are shown where the beginning of one fits several.
const SHOWN_IDS: usize = 5;

/// The setting of Codex by which a thread gets our own tools, where it does.
const OWN_TOOLS: &str = "mcp_servers.ostler-tools";

impl Agent {
    /// Takes the conversation for this process. What a kill left half done is brought to its end by [`Self::take_up`].
    pub async fn open(
        settings: Settings,
        kit: KitSettings,
        parts: Parts,
        which: Which,
    ) -> Result<Self, AgentError> {
        let conversations = parts.conversations.clone();
        let clock = parts.clock.clone();
        let conversation = match which {
            Which::New => {
                let state = ConversationState {
                    runtime: settings.runtime.unwrap_or_default(),
                    model: settings.model.clone(),
                    effort: settings.effort.clone().or_else(|| settings.default_effort.clone()),
                    ..ConversationState::default()
                };
                let cwd = settings.cwd.display().to_string();
                let id = settings.new_id.clone();
                let id = id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
                Conversation::create(conversations, id, cwd, state, clock).await?
            }
            Which::Resume(beginning) => {
                let id = find(&conversations, &beginning).await?;
                Conversation::load(conversations, &id, clock).await?
            }
            Which::Last => {
                let id = last(&conversations).await?;
                Conversation::load(conversations, &id, clock).await?
            }
        };
        Self::with(settings, kit, parts, conversation).await
    }

    async fn with(
        settings: Settings,
        kit: KitSettings,
        parts: Parts,
        mut conversation: Conversation,
    ) -> Result<Self, AgentError> {
        let wished = (settings.runtime, settings.model.clone(), settings.effort.clone());
        let differs = |state: &ConversationState| {
            let (runtime, model, effort) = &wished;
            runtime.is_some_and(|it| it != state.runtime)
                || (model.is_some() && *model != state.model)
                || (effort.is_some() && *effort != state.effort)
        };
        if differs(conversation.state()) {
            let (runtime, model, effort) = wished;
            let change = |state: &mut ConversationState| {
                state.runtime = runtime.unwrap_or(state.runtime);
                state.model = model.or(state.model.take());
                state.effort = effort.or(state.effort.take());
            };
            conversation.update(change).await?;
        }
        let has_open_turn = conversation.open_turn().await?.is_some();
        let kit = Kit::new(kit, &parts, conversation.state().notes.clone());
        let prompt = prompt(&settings, &kit).await;
        let mut settings = settings;
        if settings.codex_compaction == CodexCompaction::Off {
            let never = ("model_auto_compact_token_limit".to_owned(), i64::MAX.to_string());
            settings.codex.config.extend([never]);
        }
        match settings.codex_tools {
            CodexTools::Mcp => identify(&mut settings.codex.config, conversation.id()),
            CodexTools::Dynamic => {
                settings.codex.config.remove(OWN_TOOLS);
                settings.codex.tools = offered_tools(&kit);
            }
            CodexTools::Nothing => drop(settings.codex.config.remove(OWN_TOOLS)),
        }
        let sync = settings.memory_sync.clone().map(MemorySync::start);
        let instructions = system_prompt(&prompt);
        let reviewing = Reviewing::default();
        Ok(Self {
            settings,
            parts,
            kit,
            conversation,
            prompt,
            instructions,
            reviewing,
            sync,
            has_open_turn,
        })
    }
}

/// Our own tools on Codex learn for whom they work. By the environment they cannot: many conversations share an app-server.
fn identify(config: &mut BTreeMap<String, String>, conversation: &str) {
    let Some(written) = config.get_mut(OWN_TOOLS) else {
        return;
    };
    if let Ok(Value::Object(mut table)) = serde_json::from_str(written) {
        let variables = table.entry("env").or_insert_with(|| json!({}));
        if let Some(variables) = variables.as_object_mut() {
            variables.insert("OSTLER_CONVERSATION".to_owned(), conversation.into());
        }
        *written = Value::Object(table).to_string();
    }
}

/// As a thread of Codex is given them.
fn offered_tools(kit: &Kit) -> Vec<OfferedTool> {
    let definitions = kit.offered().definitions().into_iter();
    let tool = |ToolDefinition { name, description, parameters }| {
        let schema = parameters.to_string();
        OfferedTool { name, description, schema }
    };
    definitions.map(tool).collect()
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConversation {
    pub id: String,
    pub title: String,
    pub cwd: String,
    /// Unix milliseconds.
    pub updated_at: i64,
    pub messages: u64,
}

/// The newest first, at most so many.
pub async fn list_conversations(
    conversations: &Conversations,
    most: usize,
) -> Result<Vec<ListedConversation>, KeepError> {
    let filter = ConversationFilter::default();
    let page = conversations.list(&filter, Cursor::FIRST, most).await?;
    Ok(page.conversations.into_iter().map(listed).collect())
}

/// The one whose id this is, or begins so.
pub(crate) async fn conversation_of(
    conversations: &Conversations,
    beginning: &str,
) -> Result<ListedConversation, AgentError> {
    let id = find(conversations, beginning).await?;
    let found = conversations.get(&id).await.map_err(KeepError::from)?;
    found.map(listed).ok_or(AgentError::NoConversation(id))
}

fn listed(found: ostler_store::conversations::Conversation) -> ListedConversation {
    ListedConversation {
        id: found.id,
        title: found.title,
        cwd: found.cwd,
        updated_at: found.updated_at,
        messages: found.messages,
    }
}

/// Where a conversation was begun; none for a new one.
pub async fn folder_of(
    conversations: &Conversations,
    which: &Which,
) -> Result<Option<String>, AgentError> {
    let id = match which {
        Which::New => return Ok(None),
        Which::Resume(beginning) => find(conversations, beginning).await?,
        Which::Last => last(conversations).await?,
    };
    Ok(conversations.get(&id).await.map_err(KeepError::from)?.map(|it| it.cwd))
}

async fn prompt(settings: &Settings, kit: &Kit) -> PromptParts {
    let cwd = settings.cwd.clone();
    let (memory, skills) = (kit.memory.clone(), kit.skills.clone());
    let read = move || (project_files(&cwd), memory.snapshot(), skill_lines(&skills));
    let (project, snapshot, skills) = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    for problem in &snapshot.problems {
        tracing::warn!("{problem}");
    }
    PromptParts {
        identity: settings.identity.clone(),
        remembered: snapshot.prompt,
        skills,
        project,
        cwd: settings.cwd.display().to_string(),
        day: settings.day.clone(),
    }
}

async fn find(conversations: &Conversations, beginning: &str) -> Result<String, AgentError> {
    let found = conversations.find(beginning, SHOWN_IDS).await.map_err(KeepError::from)?;
    let mut ids: Vec<String> = found.into_iter().map(|it| it.id).collect();
    match (ids.len(), ids.pop()) {
        (1, Some(id)) => Ok(id),
        (_, None) => Err(AgentError::NoConversation(beginning.to_owned())),
        (_, Some(last)) => {
            ids.push(last);
            Err(AgentError::Ambiguous(beginning.to_owned(), ids.join(", ")))
        }
    }
}

async fn last(conversations: &Conversations) -> Result<String, AgentError> {
    let filter = ConversationFilter::default();
    let page = conversations.list(&filter, Cursor::FIRST, 1).await.map_err(KeepError::from)?;
    page.conversations.into_iter().next().map(|it| it.id).ok_or(AgentError::NoneYet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_tools_are_told_the_conversation_and_others_are_not() {
        let server = |text: &str| text.to_owned();
        let mut config = BTreeMap::from([
            (OWN_TOOLS.to_owned(), server(r#"{"command":"ostler","env":{"A":"1"}}"#)),
            ("mcp_servers.hay".to_owned(), server(r#"{"command":"hay"}"#)),
        ]);
        identify(&mut config, "c1");
        let told: Value = serde_json::from_str(&config[OWN_TOOLS]).unwrap();
        let env = json!({ "A": "1", "OSTLER_CONVERSATION": "c1" });
        assert_eq!(told, json!({ "command": "ostler", "env": env }));
        assert_eq!(config["mcp_servers.hay"], r#"{"command":"hay"}"#);
        let mut none = BTreeMap::new();
        identify(&mut none, "c1");
        assert!(none.is_empty());
    }
}
