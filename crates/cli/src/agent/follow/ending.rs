//! What a turn that was followed came to.

use ostler_agent::ports::{PortError, TaskEnded};
use ostler_model::input::{Content, Part};
use ostler_model::message::Role;
use ostler_model::task::Wish;
use ostler_model::{Failure, Input, InputId, Message, TurnId, TurnResult};
use ostler_server::api::{Messages, Receipts, Turns};

use super::{Follow, Over};
use crate::tasks::query;

impl Follow {
    pub(super) async fn ended(
        &mut self,
        result: Option<TurnResult>,
        failure: Option<Failure>,
    ) -> Result<Over, PortError> {
        let thread = self.detail().await?.task.thread;
        let results = self.results().await?;
        let mut messages = Vec::new();
        for turn in &self.turns {
            messages.extend(self.messages(turn, &results).await?);
        }
        let last_reasoning = messages.iter().rev().find_map(|message| message.reasoning.clone());
        let failure = failure.or_else(|| result.as_ref().and_then(|it| it.failure().cloned()));
        let last = result.as_ref().map(|result| &result.turn);
        let is_earlier = |it: &TurnResult| self.turns.contains(&it.turn) && Some(&it.turn) != last;
        let earlier = results.into_iter().filter(is_earlier).collect();
        let was_withdrawn = false;
        Ok(Over::Ended(Box::new(TaskEnded {
            thread,
            result,
            earlier,
            was_withdrawn,
            messages,
            failure,
            last_reasoning,
        })))
    }

    /// Somebody stopped it before Codex had it.
    pub(super) async fn withdrawn(&mut self) -> Result<Over, PortError> {
        let mut over = self.ended(None, None).await?;
        if let Over::Ended(ended) = &mut over {
            ended.was_withdrawn = true;
        }
        Ok(over)
    }

    /// The task is over: whatever came after our turn went on with its work.
    pub(super) async fn last_of(&mut self, ours: &TurnResult) -> Result<TurnResult, PortError> {
        let results = self.results().await?;
        let after: Vec<_> = results.into_iter().skip_while(|it| it.turn != ours.turn).collect();
        self.turns = after.iter().map(|result| result.turn.clone()).collect();
        Ok(after.into_iter().last().unwrap_or_else(|| ours.clone()))
    }

    /// The last turn that Codex started by itself after ours, or after a later one of them.
    pub(super) async fn last_of_goal(&mut self, ours: TurnResult) -> Result<TurnResult, PortError> {
        let results = self.results().await?;
        let first = ours.turn.clone();
        let after = results.into_iter().skip_while(|it| it.turn != first).skip(1);
        let mut last = ours;
        for result in after.take_while(|it| it.inputs.is_empty()) {
            if !self.turns.contains(&result.turn) {
                self.turns.push(result.turn.clone());
            }
            last = result;
        }
        Ok(last)
    }

    /// Of all turns of the task that have ended.
    pub(super) async fn results(&self) -> Result<Vec<TurnResult>, PortError> {
        let turns: Turns = self.get(&format!("/v1/tasks/{}/turns", self.task)).await?;
        Ok(turns.turns.into_iter().filter_map(|known| known.result).collect())
    }

    /// Those of a turn without what began it, which whoever asked has, or which Ostler wrote.
    async fn messages(
        &self,
        turn: &TurnId,
        results: &[TurnResult],
    ) -> Result<Vec<Message>, PortError> {
        let path = format!("/v1/tasks/{}/messages?turn={}", self.task, query(turn.as_str()));
        let Messages { mut messages, .. } = self.get(&path).await?;
        if messages.first().is_none_or(|message| message.role != Role::User) {
            return Ok(messages);
        }
        let first = messages.remove(0).content.unwrap_or_default();
        let inputs = results.iter().find(|it| it.turn == *turn).map(|it| it.inputs.as_slice());
        if let Some([began, _, ..]) = inputs
            && let Some(said) = behind(&first, &self.prompt(began).await?)
        {
            messages.insert(0, Message::user(said.to_owned()));
        }
        Ok(messages)
    }

    async fn prompt(&self, input: &InputId) -> Result<String, PortError> {
        let found: Receipts = self.get(&format!("/v1/tasks/{}/receipts", self.task)).await?;
        let intent = found.intents.into_iter().find(|it| it.id.as_str() == input.as_str());
        Ok(match intent.map(|intent| intent.wish) {
            Some(Wish::Send { input: Input { content: Content::Message(parts), .. }, .. }) => {
                let text = |part| if let Part::Text(text) = part { Some(text) } else { None };
                parts.into_iter().find_map(text).unwrap_or_default()
            }
            _ => String::new(),
        })
    }
}

/// What was said right behind the prompt, before Codex did anything: both are one message then.
fn behind<'a>(message: &'a str, prompt: &str) -> Option<&'a str> {
    let rest = message.strip_prefix(prompt)?;
    rest.split_once("\n\n").map(|(_, said)| said)
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn what_is_said_at_once_stands_behind_the_prompt() {
        let table = [
            ("feed her", None),
            ("feed her\n\nand him", Some("and him")),
            ("feed her\n[image attached]", None),
            ("feed her\n[image attached]\n\nand him\n\nsoon", Some("and him\n\nsoon")),
            ("another prompt\n\nand him", None),
        ];
        for (message, said) in table {
            assert_eq!(behind(message, "feed her"), said, "{message}");
        }
    }
}
