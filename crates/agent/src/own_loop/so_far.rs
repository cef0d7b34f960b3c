//! What a turn had done before whoever ran it was killed, by what is on disk.

use ostler_model::message::Role;
use ostler_model::usage::Usage;

use crate::conversation::Conversation;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct SoFar {
    pub(crate) usage: Usage,
    pub(crate) tool_iterations: u32,
    /// Names of the tools that were called.
    pub(crate) used: Vec<String>,
}

impl SoFar {
    /// Of the turn that runs. Nothing for one that has just begun.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        let mut so_far = Self::default();
        let turn = conversation.turn();
        for it in conversation.kept().iter().filter(|it| it.turn == turn) {
            let message = &it.entry.message;
            if message.role != Role::Assistant {
                continue;
            }
            let tokens = it.entry.tokens.unwrap_or_default();
            let thread = so_far.usage.thread.plus(tokens);
            so_far.usage.add(tokens, thread, None);
            so_far.used.extend(message.tool_calls.iter().map(|call| call.function.name.clone()));
        }
        so_far.tool_iterations = u32::try_from(so_far.used.len()).unwrap_or(u32::MAX);
        so_far
    }
}
