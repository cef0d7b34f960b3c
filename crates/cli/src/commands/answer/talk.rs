//! The question, put to the person at the terminal.

use ostler_model::task::AskRecord;
use ostler_server::api::AnswerRequest;

use super::decision::SURFACE;
use crate::asking::Memory;
use crate::conversation::Screen;
use crate::failure::{Exit, Failure};
use crate::turn::{Answers, Asked, Heard};

/// None if the person leaves it open.
pub(super) async fn with_person(
    ask: &AskRecord,
    screen: &mut Screen,
) -> Result<Option<AnswerRequest>, Failure> {
    if !ask.content.kind.is_for_people() {
        return Err(Failure::new(Exit::Usage, "a program answers that question"));
    }
    let mut asked = Asked::new(Answers::person(true), Memory::Rule);
    drop(asked.opened(&ask.id, &ask.content, screen));
    loop {
        // Whoever types no more has gone, which is no answer.
        let Some(line) = asked.line().await else { return Ok(None) };
        match asked.typed(Some(line), screen) {
            Heard::Nothing => {}
            Heard::Later => return Ok(None),
            Heard::Decided(_, decided) => {
                return Ok(Some(AnswerRequest {
                    decision: decided.decision,
                    reason: decided.reason,
                    remember: None,
                    surface: Some(SURFACE.to_owned()),
                }));
            }
        }
    }
}
