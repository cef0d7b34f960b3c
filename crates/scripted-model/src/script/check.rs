//! What no script may say, whether it came from a file or was built in code.

use std::collections::HashSet;
use std::fmt;

use hyper::header::{HeaderName, HeaderValue};

use super::{Answer, Payload, Plays, Script, ScriptError};
use crate::fault::{Fault, Malformed};

/// A part of a script, counted from 0 in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Script,
    Fallback,
    Conversation(usize),
    Answer(usize, usize),
}

/// What is wrong, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
}

/// Refuses a script that cannot be played.
pub(crate) fn check(script: &Script) -> Result<(), ScriptError> {
    problem(script).map_or(Ok(()), |problem| {
        Err(ScriptError::SenselessValue {
            place: problem.place.to_string(),
            message: problem.message,
        })
    })
}

/// The first problem, in the order of the file.
pub(super) fn problem(script: &Script) -> Option<Problem> {
    if script.conversations.is_empty() && script.fallback.is_none() {
        return Some(Problem {
            place: Place::Script,
            message: "nothing to play; add a [[conversation]] or a [fallback]".to_owned(),
        });
    }
    let mut prompts = HashSet::new();
    for (index, conversation) in script.conversations.iter().enumerate() {
        let prompt = conversation.prompt.as_str();
        let message = if prompt.is_empty() {
            Some("`match` is empty and would match everything; use [fallback] for that".to_owned())
        } else if !prompts.insert(prompt) {
            Some(format!(
                "`match = {prompt:?}` stands in an earlier conversation, so this one never plays; join them"
            ))
        } else if conversation.answers.is_empty() {
            Some("no answer; add [[conversation.answer]]".to_owned())
        } else {
            None
        };
        if let Some(message) = message {
            let place = Place::Conversation(index);
            return Some(Problem { place, message });
        }
        let last = conversation.answers.len() - 1;
        let has_until =
            conversation.answers.iter().any(|answer| matches!(answer.plays, Plays::Until(_)));
        for (number, answer) in conversation.answers.iter().enumerate() {
            let message = if number != last && answer.plays == Plays::Forever {
                Some("`repeat = true` hides the answers after it; move it to the last".to_owned())
            } else if has_until && number != last && !matches!(answer.plays, Plays::Until(_)) {
                Some("beside answers with `until` only the last may be without; give this one `until` too".to_owned())
            } else {
                answer_problem(answer)
            };
            if let Some(message) = message {
                let place = Place::Answer(index, number);
                return Some(Problem { place, message });
            }
        }
    }
    let message = script.fallback.as_ref().and_then(answer_problem)?;
    let place = Place::Fallback;
    Some(Problem { place, message })
}

fn answer_problem(answer: &Answer) -> Option<String> {
    let speaks = answer.text.is_some() || answer.deltas > 0;
    let composed = speaks || answer.reasoning.is_some() || !answer.calls.is_empty();
    if !composed && answer.events.is_empty() && answer.fault.is_none() {
        return Some(
            "the answer says nothing; give it `text`, `deltas`, `reasoning`, `calls`, `patch`, `events` or `fault`"
                .to_owned(),
        );
    }
    if answer.text.is_some() && answer.deltas > 0 {
        return Some("`deltas` generates the text; remove `text` or `deltas`".to_owned());
    }
    if !answer.events.is_empty() && (composed || answer.fault.is_some()) {
        return Some("`events` is the whole stream; put the other things into it".to_owned());
    }
    if answer.events.iter().any(|event| event.contains(['\n', '\r'])) {
        return Some(
            "an entry of `events` is one line; write the JSON without line ends".to_owned(),
        );
    }
    if answer.phase.is_some() && !speaks {
        return Some("`phase` describes a message; add `text` or remove `phase`".to_owned());
    }
    if answer.deltas > 0 && answer.delta_bytes == 1 {
        return Some("generated deltas are numbered; use `delta_bytes = 2` or more".to_owned());
    }
    let namespaced_input = answer
        .calls
        .iter()
        .find(|call| call.namespace.is_some() && matches!(call.payload, Payload::Input(_)));
    if let Some(call) = namespaced_input {
        return Some(format!(
            "`{}` has a namespace and `input`, but tools in a namespace are functions; use `arguments`",
            call.tool
        ));
    }
    header_problem(answer).or_else(|| fault_problem(answer))
}

fn header_problem(answer: &Answer) -> Option<String> {
    answer.headers.iter().find_map(|(name, value)| {
        let valid = HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok();
        (!valid).then(|| format!("`{name}: {value}` is no HTTP header; use visible ASCII letters"))
    })
}

fn fault_problem(answer: &Answer) -> Option<String> {
    match answer.fault.as_ref()? {
        Fault::Status { status, .. } if !(400..=599).contains(status) => {
            Some(format!("status {status} is not an error; use 400 to 599, or leave out `fault`"))
        }
        Fault::Malformed { how: Malformed::SplitUtf8, .. }
            if answer.text.as_deref().is_none_or(str::is_ascii) =>
        {
            Some(
                "split_utf8 needs a `text` with characters of several bytes, for example \"Grüße\""
                    .to_owned(),
            )
        }
        _ => None,
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script => write!(formatter, "as a whole"),
            Self::Fallback => write!(formatter, "fallback"),
            Self::Conversation(conversation) => {
                write!(formatter, "conversation {}", conversation + 1)
            }
            Self::Answer(conversation, answer) => {
                write!(formatter, "conversation {}, answer {}", conversation + 1, answer + 1)
            }
        }
    }
}
