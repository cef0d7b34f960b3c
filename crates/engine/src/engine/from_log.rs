//! A first input that brings along what was said in a task before, taken from our own log: for a task whose thread or folder is gone.

use ostler_model::input::{ContextPart, ContextRole};
use ostler_model::message::Role;
use ostler_model::{Input, Message, Task};

use super::Engine;
use crate::messages::messages;
use crate::refusal::Refusal;

/// Some 30,000 tokens: the end of a conversation, with room for much more in any model's context.
const MOST_BYTES: usize = 120_000;

impl Engine {
    /// The prompt, with what was said in this task before it. Steps are not repeated: only what people and the model said.
    pub async fn input_from_log(&self, task: &Task, prompt: String) -> Result<Input, Refusal> {
        let turns = messages(&self.shared.store, &task.id).await?;
        let said: Vec<ContextPart> =
            turns.into_iter().flat_map(|turn| turn.messages).filter_map(part).collect();
        let mut context = vec![ContextPart { role: ContextRole::Developer, text: note(task) }];
        context.extend(newest(said));
        Ok(Input { context, ..Input::text(prompt) })
    }
}

fn note(task: &Task) -> String {
    format!(
        "What follows was said in an earlier conversation, whose own record is lost. It comes from the log of Ostler's task {} and has \
         the messages only, not the commands, their output or the changes of files. That work was done in the folder {}; files \
         may be other than they were then, so look before you rely on them.",
        task.id, task.settings.cwd
    )
}

fn part(message: Message) -> Option<ContextPart> {
    let role = match message.role {
        Role::User => ContextRole::User,
        Role::Assistant => ContextRole::Assistant,
        Role::Tool => return None,
    };
    let text = message.content.filter(|text| !text.trim().is_empty())?;
    Some(ContextPart { role, text })
}

/// The last ones that fit, in their order.
fn newest(mut said: Vec<ContextPart>) -> Vec<ContextPart> {
    let mut bytes = 0_usize;
    let fits = said.iter().rev().take_while(|part| {
        bytes = bytes.saturating_add(part.text.len());
        bytes <= MOST_BYTES
    });
    let left_out = said.len().saturating_sub(fits.count());
    if left_out == 0 {
        return said;
    }
    let text = format!("{left_out} earlier messages are left out here.");
    let mut kept = vec![ContextPart { role: ContextRole::Developer, text }];
    kept.extend(said.drain(left_out..));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_conversation_the_end_is_kept() {
        let part =
            |length: usize| ContextPart { role: ContextRole::User, text: "x".repeat(length) };
        assert_eq!(newest(vec![part(10), part(20)]), [part(10), part(20)]);
        let kept = newest(vec![part(10), part(MOST_BYTES - 5), part(5)]);
        let lengths: Vec<_> = kept.iter().skip(1).map(|part| part.text.len()).collect();
        assert_eq!(lengths, [MOST_BYTES - 5, 5]);
        assert_eq!(kept[0].text, "1 earlier messages are left out here.");
    }
}
