//! What the user says while a turn on Codex is open: written down, given to Codex, and looked for when the turn is over.
//!
//! The daemon takes words for the turn that runs at once, and Codex may be done before it gets them. Then they begin a turn of
//! their own, which belongs to ours. What no turn has taken is told to the next one.

use ostler_model::{Message, TurnEnd, TurnId};
use serde::{Deserialize, Serialize};

use super::follow::Follower;
use crate::activity::Activity;
use crate::api::Entry;
use crate::conversation::{Conversation, KeepError};
use crate::own_loop::not_said;
use crate::ports::{PortError, Taken, TaskEnded};

/// Kept with the conversation until the turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SaidMeanwhile {
    /// Under which Codex was given it; none if it was not.
    pub(crate) key: Option<String>,
    pub(crate) entry: Entry,
}

impl SaidMeanwhile {
    pub(crate) fn unsent(entry: Entry) -> Self {
        Self { key: None, entry }
    }
}

/// Who hears what is said meanwhile.
pub(crate) enum Words<'a> {
    /// Nobody: it waits.
    Wait,
    /// The turn of this key.
    Into { conversation: &'a mut Conversation, key: &'a str },
}

impl Words<'_> {
    pub(super) fn are_heard(&self) -> bool {
        matches!(self, Self::Into { .. })
    }
}

impl Follower<'_> {
    /// How the turn ended, with all that came of what was said meanwhile, and what of that nobody has heard.
    pub(crate) async fn follow_all(
        &self,
        conversation: &mut Conversation,
        key: &str,
    ) -> Result<(TaskEnded, Vec<Entry>), PortError> {
        let mut words = Words::Into { conversation: &mut *conversation, key };
        let mut ended = self.follow(key, &mut words).await?;
        let mut unheard = Vec::new();
        let mut looked_at = 0;
        while let Some(said) = conversation.state().said.get(looked_at).cloned() {
            looked_at += 1;
            let taken = match &said.key {
                Some(key) => self.serving.tasks.taken(self.task, key).await?,
                None => Taken::Never,
            };
            let (Taken::By(_) | Taken::NotYet, Some(steer)) = (&taken, &said.key) else {
                unheard.push(said.entry);
                continue;
            };
            if matches!(&taken, Taken::By(turn) if has(&ended, turn)) {
                continue;
            }
            let mut words = Words::Into { conversation: &mut *conversation, key };
            let further = self.follow(steer, &mut words).await?;
            match &further.result {
                None => unheard.push(said.entry),
                Some(result) if has(&ended, &result.turn) => {}
                Some(_) => ended = joined(ended, said.entry.message, further),
            }
        }
        unheard.extend(self.controls.steering.take().into_iter().map(entry));
        Ok((ended, unheard))
    }

    /// Written down first, so that whoever takes the turn up after a kill looks for it, too.
    pub(super) async fn pass_on(&self, words: &mut Words<'_>) {
        let Words::Into { conversation, key } = words else { return };
        for text in self.controls.steering.take() {
            let number = conversation.state().said.len() + 1;
            let steer = format!("{key}/steer/{number}");
            let said = SaidMeanwhile { key: Some(steer.clone()), entry: entry(text.clone()) };
            if let Err(error) = conversation.update(|state| state.said.push(said)).await {
                (self.hear)(Activity::Note(not_said(&text, &error)));
                continue;
            }
            (self.hear)(Activity::Steered(text.clone()));
            let given = self.serving.tasks.steer(self.task, text, &steer).await;
            let note = match given {
                Ok(()) => continue,
                Err(PortError::InDoubt(why)) => {
                    format!("it is not known whether codex has it, which is looked for: {why}")
                }
                Err(error) => format!("codex did not take it, it waits for the next turn: {error}"),
            };
            (self.hear)(Activity::Note(note));
        }
    }
}

/// What was said to a turn that cannot be followed now. Gives it as it is kept.
pub(super) async fn keep_unsent(
    conversation: &mut Conversation,
    texts: Vec<String>,
) -> Result<(), KeepError> {
    if texts.is_empty() {
        return Ok(());
    }
    let said = texts.into_iter().map(|text| SaidMeanwhile::unsent(entry(text)));
    conversation.update(|state| state.said.extend(said)).await
}

fn entry(text: String) -> Entry {
    Entry::plain(Message::user(text))
}

fn has(ended: &TaskEnded, turn: &TurnId) -> bool {
    ended.earlier.iter().chain(&ended.result).any(|result| result.turn == *turn)
}

/// The turn, and the one that what was said in it began. A first one that did not come to its end is not mended by a second.
fn joined(first: TaskEnded, said: Message, further: TaskEnded) -> TaskEnded {
    let mut ended = further;
    let was_interrupted = first.result.as_ref().map(|it| it.end.clone());
    let was_interrupted = was_interrupted.filter(|end| matches!(end, TurnEnd::Interrupted { .. }));
    if let (Some(end), Some(result)) = (was_interrupted, &mut ended.result) {
        result.end = end;
    }
    let messages = first.messages.into_iter().chain([said]);
    ended.messages = messages.chain(std::mem::take(&mut ended.messages)).collect();
    let earlier = first.earlier.into_iter().chain(first.result);
    ended.earlier = earlier.chain(std::mem::take(&mut ended.earlier)).collect();
    ended.failure = first.failure.or(ended.failure);
    ended.last_reasoning = ended.last_reasoning.or(first.last_reasoning);
    ended
}
