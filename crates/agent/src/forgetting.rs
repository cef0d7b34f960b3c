//! Conversations that nobody needs any more: those that are old, and those that a person removes.
//!
//! Whoever begins a chat sees to it: chats write the file with the conversations themselves, and the daemon never opens it.

use ostler_store::conversations::{ConversationError, Conversations};

use crate::agent::{AgentError, ListedConversation, conversation_of};
use crate::conversation::KeepError;

/// However many there are of late, they stay.
const ALL: u64 = u64::MAX;

/// What becomes of a conversation whose last turn has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    Stay,
    GoToo,
}

/// Removes what has been silent since then, but for what somebody is in or what was cut off. How many there were.
pub async fn sweep_conversations(
    conversations: &Conversations,
    older_than: i64,
) -> Result<usize, AgentError> {
    let swept = conversations.sweep(older_than, ALL).await.map_err(KeepError::from)?;
    Ok(swept.removed.len())
}

/// Removes these for good, or none of them if one is not there or is not to go. `each` hears of every one that is gone.
pub async fn remove_conversations(
    conversations: &Conversations,
    beginnings: &[String],
    unfinished: Unfinished,
    mut each: impl FnMut(&ListedConversation),
) -> Result<(), AgentError> {
    let mut found: Vec<ListedConversation> = Vec::new();
    for beginning in beginnings {
        let one = conversation_of(conversations, beginning).await?;
        if !found.contains(&one) {
            found.push(one);
        }
    }
    if unfinished == Unfinished::Stay {
        let open = conversations.unfinished_turns().await.map_err(KeepError::from)?;
        let is_wanted = |id: &String| found.iter().any(|one| one.id == *id);
        if let Some(turn) = open.into_iter().find(|turn| is_wanted(&turn.conversation)) {
            return Err(AgentError::OpenTurn(turn.conversation));
        }
    }
    for one in found {
        let removed = match unfinished {
            Unfinished::Stay => conversations.remove_finished(&one.id).await,
            Unfinished::GoToo => conversations.remove(&one.id).await,
        };
        removed.map_err(|error| match error {
            ConversationError::OpenTurn(id) => AgentError::OpenTurn(id),
            error => KeepError::from(error).into(),
        })?;
        each(&one);
    }
    Ok(())
}
