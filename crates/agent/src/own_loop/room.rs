//! Making room: earlier messages become a summary, by one call of the model or a few.

use ostler_model::FailureClass;
use ostler_model::usage::Tokens;
use tokio_util::sync::CancellationToken;

use super::{Listening, LoopParts};
use crate::api::{Answer, ApiError, Finish, Question};
use crate::compress;
use crate::conversation::{Conversation, KeepError};
use crate::history::{Compression, estimate};

/// One that is cut or too long once may be better the next time; a fourth one will not.
const TRIES: u32 = 3;

/// Of the window, in percent: instructions and the summary itself need the rest.
const QUESTION_PERCENT: u64 = 80;

/// What came of it, and what it cost whether or not anything did.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// There is more of it than before.
    pub(crate) is_made: bool,
    /// Of each call of the model.
    pub(crate) calls: Vec<Tokens>,
    /// Why no summary could be had.
    pub(crate) problem: Option<String>,
}

/// Sums earlier messages up, so that the rest is a small part of this window. Nothing is changed where nothing is worth it, or
/// where no whole summary comes: half of one in place of the messages would lose the other half for good.
pub(crate) async fn make_room(
    parts: &LoopParts<'_>,
    conversation: &mut Conversation,
    window: u64,
    listening: Listening<'_>,
    stop: &CancellationToken,
) -> Result<Room, KeepError> {
    let before = conversation.state().compression.clone();
    let mut room = Room::default();
    let Some(up_to) = compress::cut(conversation.kept(), before.as_ref(), window) else {
        return Ok(room);
    };
    let mut most = match parts.context_window {
        0 => u64::MAX,
        window => window.saturating_mul(QUESTION_PERCENT) / 100,
    };
    for _ in 0..TRIES {
        let history = compress::to_sum_up(conversation.kept(), before.as_ref(), up_to, most);
        let size = estimate(&history);
        let question = Question {
            model: parts.model.to_owned(),
            effort: parts.effort.map(str::to_owned),
            instructions: parts.instructions.to_owned(),
            history,
            tools: Vec::new(),
            session: conversation.id().to_owned(),
            context_tokens: 0,
        };
        let asking = parts.api.ask(&question, &|_| {}, stop);
        match listening.during(asking, conversation).await {
            Ok(answer) => {
                room.calls.push(answer.tokens.unwrap_or_default());
                room.problem = not_whole(&answer);
                if room.problem.is_none() {
                    let summary = compress::with_the_wish(answer.text, conversation.kept(), up_to);
                    let compression = Compression { up_to, summary };
                    conversation.update(|state| state.compression = Some(compression)).await?;
                    return Ok(Room { is_made: true, ..room });
                }
            }
            Err(error) => {
                // Whatever the window is said to be, this was too long for it.
                let is_too_long = matches!(&error, ApiError::Failed { failure, .. }
                    if failure.class == FailureClass::ContextWindow);
                room.problem = Some(error.to_string());
                if !is_too_long {
                    break;
                }
                most = size / 2;
            }
        }
    }
    Ok(room)
}

/// Only an answer that came to its own end is a summary. Why this one is none.
fn not_whole(answer: &Answer) -> Option<String> {
    let why = match &answer.finish {
        Finish::Stop if !answer.text.trim().is_empty() => return None,
        Finish::Stop => "it is empty",
        Finish::ToolCalls => "the model called tools",
        Finish::ContentFilter => "the provider's filter withheld it",
        Finish::Incomplete { reason } => reason,
    };
    Some(format!("the summary is not whole: {why}"))
}
