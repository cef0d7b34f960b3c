//! What a turn is asked for.

use ostler_model::input::ContextPart;
use ostler_model::thread::InputKind;
use serde_json::Value;
use thiserror::Error;

use crate::protocol::request::turn::{Mode, ReviewTarget, TurnStart};
use crate::protocol::user_input::UserInput;

/// Codex's own limit, summed over all texts of an input (0.130.0 to 0.166.0).
const MOST_CHARACTERS: usize = 1024 * 1024;

/// One input, with what holds for its turn alone.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnInput {
    pub content: TurnContent,
    /// From this turn on: Codex keeps it for later turns.
    pub model: Option<String>,
    /// From this turn on: Codex keeps it for later turns.
    pub effort: Option<String>,
    /// From this turn on the model has its own effort again, whatever a turn before was given.
    pub resets_effort: bool,
    /// From this turn on: Codex keeps it for later turns, until the thread is opened again.
    pub mode: Option<Mode>,
    /// The JSON schema that the final answer must fit, for this turn only.
    pub output_schema: Option<Value>,
    /// What the model is given to know before it, in this order.
    pub context: Vec<ContextPart>,
}

/// What Codex shall do.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnContent {
    /// Answer this.
    Message(Vec<UserInput>),
    /// Review code.
    Review(ReviewTarget),
    /// Sum the history up, to make room.
    Compaction,
}

/// An input that Codex would not take, or would take and lose.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InputError {
    #[error("the input is empty; give it some text, an image or a file")]
    Empty,
    #[error(
        "the input has {characters} characters, codex takes {MOST_CHARACTERS}; put the text into a file and name the file"
    )]
    TooLong { characters: usize },
    #[error("a part of the context is empty; leave it out")]
    EmptyContext,
    #[error(
        "the context has {characters} characters, at most {MOST_CHARACTERS} are taken; put the text into a file and name the file"
    )]
    LongContext { characters: usize },
}

impl TurnInput {
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(vec![UserInput::Text(text.into())])
    }

    pub fn message(parts: Vec<UserInput>) -> Self {
        Self::new(TurnContent::Message(parts))
    }

    pub fn new(content: TurnContent) -> Self {
        let context = Vec::new();
        Self {
            content,
            model: None,
            effort: None,
            resets_effort: false,
            mode: None,
            output_schema: None,
            context,
        }
    }

    /// Codex 0.130.0 takes an empty input and then neither begins nor ends a turn.
    pub fn check(&self) -> Result<(), InputError> {
        self.check_context()?;
        let TurnContent::Message(parts) = &self.content else { return Ok(()) };
        let is_blank = |part: &UserInput| match part {
            UserInput::Text(text) => text.trim().is_empty(),
            _ => false,
        };
        if parts.iter().all(is_blank) {
            return Err(InputError::Empty);
        }
        let characters =
            parts.iter().filter_map(UserInput::as_text).map(|text| text.chars().count()).sum();
        if characters > MOST_CHARACTERS {
            return Err(InputError::TooLong { characters });
        }
        Ok(())
    }

    /// The model's API refuses a message without text for as long as it is in the thread.
    fn check_context(&self) -> Result<(), InputError> {
        if self.context.iter().any(|part| part.text.trim().is_empty()) {
            return Err(InputError::EmptyContext);
        }
        let characters = self.context.iter().map(|part| part.text.chars().count()).sum();
        match characters > MOST_CHARACTERS {
            true => Err(InputError::LongContext { characters }),
            false => Ok(()),
        }
    }

    pub(crate) fn kind(&self) -> InputKind {
        match &self.content {
            TurnContent::Message(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(UserInput::as_text).collect();
                InputKind::Message { text: texts.join("\n") }
            }
            TurnContent::Review(_) | TurnContent::Compaction => InputKind::Order,
        }
    }

    /// The text by which an echo of it is known.
    pub(crate) fn prompt(&self) -> Option<String> {
        match self.kind() {
            InputKind::Message { text } => Some(text),
            InputKind::Order => None,
        }
    }

    /// Puts what holds for this turn over the settings of the thread.
    pub(crate) fn apply(&self, start: TurnStart) -> TurnStart {
        TurnStart {
            model: self.model.clone().or(start.model),
            effort: self.effort.clone().or(start.effort),
            output_schema: self.output_schema.clone(),
            ..start
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InputError, TurnInput};

    #[test]
    fn what_codex_would_lose_is_refused_at_the_door() {
        let long = "ä".repeat(super::MOST_CHARACTERS + 1);
        let checked = ["", " \n\t", "go", &long].map(|text| TurnInput::text(text).check());

        assert_eq!(
            checked,
            [
                Err(InputError::Empty),
                Err(InputError::Empty),
                Ok(()),
                Err(InputError::TooLong { characters: super::MOST_CHARACTERS + 1 })
            ]
        );
    }
}
