//! What a turn came to, for scripts. Pure.

use ostler_agent::{Activity, TurnOutcome};
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::tasks::ending::exit_of;

/// What was declined because there was nobody to ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unasked {
    pub(crate) count: usize,
    /// A tool succeeded after the last of them.
    pub(crate) found_another_way: bool,
}

/// The table of `docs/exit-codes.md`.
pub(crate) fn exit(outcome: &TurnOutcome, unasked: Unasked) -> u8 {
    if outcome.interrupted {
        return Exit::Interrupted as u8;
    }
    if let Some(failure) = &outcome.failure {
        return exit_of(failure) as u8;
    }
    if outcome.failed {
        return Exit::Failed as u8;
    }
    if unasked.count > 0 && !unasked.found_another_way {
        return Exit::WaitingOnPerson as u8;
    }
    if outcome.completed { 0 } else { Exit::Failed as u8 }
}

/// The outcome as one object, with the conversation and the exit code.
pub(crate) fn outcome_json(outcome: &TurnOutcome, conversation: &str, unasked: Unasked) -> Value {
    let mut value = serde_json::to_value(outcome).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("conversation".to_owned(), json!(conversation));
        fields.insert("failure_reason".to_owned(), json!(outcome.failure_reason()));
        fields.insert("declined".to_owned(), json!(unasked.count));
        fields.insert("exit".to_owned(), json!(exit(outcome, unasked)));
    }
    value
}

/// One line of a stream. Fields are added, never renamed.
pub(crate) fn activity_json(activity: &Activity) -> Value {
    match activity {
        Activity::Text(text) => json!({ "event": "text", "delta": text }),
        Activity::TextVoid => json!({ "event": "text_void" }),
        Activity::Reasoning(text) => json!({ "event": "reasoning", "delta": text }),
        Activity::Commentary(text) => json!({ "event": "commentary", "text": text }),
        Activity::ToolBegan { call, tool, preview } => {
            json!({ "event": "tool_began", "call": call, "tool": tool, "preview": preview })
        }
        Activity::ToolEnded { call, tool, elapsed_ms, is_error, summary } => json!({
            "event": "tool_ended", "call": call, "tool": tool, "elapsed_ms": elapsed_ms, "is_error": is_error,
            "summary": summary,
        }),
        Activity::Asked(ask) => json!({ "event": "asked", "ask": ask }),
        Activity::AskOver { ask, how } => json!({ "event": "ask_over", "ask": ask, "how": how }),
        Activity::Steered(text) => json!({ "event": "steered", "text": text }),
        Activity::Note(text) => json!({ "event": "note", "text": text }),
        Activity::Usage { turn, last_call, context_window } => json!({
            "event": "usage", "turn": turn, "last_call": last_call, "context_window": context_window,
        }),
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::{Failure, FailureClass};

    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_table() {
        let good = TurnOutcome { completed: true, ..TurnOutcome::default() };
        let failed = |class| TurnOutcome {
            partial: true,
            failed: true,
            failure: Some(Failure::new(class, "no")),
            ..TurnOutcome::default()
        };
        let unasked = Unasked { count: 1, found_another_way: false };
        let table = [
            (good.clone(), Unasked::default(), 0),
            (good.clone(), unasked, 4),
            (good, Unasked { found_another_way: true, ..unasked }, 0),
            (failed(FailureClass::Auth), Unasked::default(), 1),
            (failed(FailureClass::UsageLimit { resets_at: None }), Unasked::default(), 5),
            (failed(FailureClass::RateLimit { retry_after_ms: None }), Unasked::default(), 75),
            (TurnOutcome { failed: true, ..TurnOutcome::default() }, Unasked::default(), 1),
            (TurnOutcome { partial: true, ..TurnOutcome::default() }, Unasked::default(), 1),
            (
                TurnOutcome { interrupted: true, partial: true, ..TurnOutcome::default() },
                unasked,
                7,
            ),
        ];
        for (outcome, unasked, code) in table {
            assert_eq!(exit(&outcome, unasked), code, "{outcome:?}");
        }
    }

    #[test]
    fn a_program_gets_the_whole_outcome_in_one_object() {
        let outcome = TurnOutcome {
            final_response: "hi".to_owned(),
            completed: true,
            ..TurnOutcome::default()
        };
        let value = outcome_json(&outcome, "c1", Unasked::default());
        let own = ["conversation", "failure_reason", "declined", "exit"];
        assert_eq!(
            own.map(|key| value[key].clone()),
            [json!("c1"), json!(null), json!(0), json!(0)]
        );
        let mut rest = value;
        own.iter().for_each(|key| drop(rest.as_object_mut().unwrap().remove(*key)));
        assert_eq!(serde_json::from_value::<TurnOutcome>(rest).unwrap(), outcome);
    }
}
