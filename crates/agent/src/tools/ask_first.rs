//! The one way by which a tool asks a person.

use ostler_model::ask::{Ask, AskKind};
use ostler_model::decision::Decision;
use ostler_model::task::{AskClosed, AskRecord, DecisionRecord};

use crate::Activity;
use crate::ports::PortError;
use crate::tool::{CallContext, ToolResult};

/// Asks, and waits for as long as the person needs. `Ok` means allowed; everything else is the result for the model.
///
/// `part` tells the questions of one call apart. The same question of the same call is the same ask after a crash. A person
/// who answers `cancel` stops the turn as well.
pub async fn ask_first(context: &CallContext, part: &str, ask: Ask) -> Result<(), ToolResult> {
    let key = format!("{}/{}/{part}", context.conversation, context.call);
    let cwd = context.cwd.to_string_lossy();
    let record = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Err(stopped()),
        opened = context.asks.open(&context.conversation, &key, &cwd, ask) => {
            opened.map_err(|error| unreachable(&error))?
        }
    };
    let decided = match (&record.decision, &record.closed) {
        (Some(decision), _) => decision.clone(),
        (None, Some(closed)) => return Err(closed_without(closed)),
        (None, None) => wait(context, &record).await?,
    };
    judge(context, &decided)
}

/// The question that the tools ask: no thread and no turn of Codex's stand behind it.
pub(super) fn question(kind: AskKind, reason: Option<String>) -> Ask {
    let offers = vec![Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel];
    Ask { thread: None, turn: None, item: None, reason, kind, offers }
}

async fn wait(context: &CallContext, record: &AskRecord) -> Result<DecisionRecord, ToolResult> {
    let over = |how: String| Activity::AskOver { ask: record.id.clone(), how };
    context.asks.show(Activity::Asked(Box::new(record.clone())));
    tokio::select! {
        biased;
        () = context.stop.cancelled() => {
            context.asks.withdraw(&record.id).await;
            context.asks.show(over("withdrawn: the turn was stopped".to_owned()));
            Err(stopped())
        }
        decided = context.asks.decision(&record.id) => match decided {
            Ok(decided) => {
                let word = if decided.decision.allows() { "allowed" } else { "declined" };
                context.asks.show(over(format!("{word} by {}", decided.by.describe())));
                Ok(decided)
            }
            Err(error) => {
                context.asks.show(over(error.to_string()));
                Err(unreachable(&error))
            }
        },
    }
}

fn judge(context: &CallContext, decided: &DecisionRecord) -> Result<(), ToolResult> {
    if decided.decision.allows() {
        return Ok(());
    }
    let by = decided.by.describe();
    let reason = decided.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    if decided.decision == Decision::Cancel {
        context.stop.cancel();
    }
    Err(ToolResult::failed(format!(
        "declined by {by}{reason}\nIt was not done. Do not try the same in another way."
    )))
}

fn closed_without(closed: &AskClosed) -> ToolResult {
    let why = match closed {
        AskClosed::Declined { reason } => format!("declined: {reason}"),
        other => format!("the question ended without a decision ({other:?})"),
    };
    ToolResult::failed(format!("{why}\nIt was not done."))
}

fn unreachable(error: &PortError) -> ToolResult {
    ToolResult::failed(format!(
        "declined, because nobody could be asked ({error})\nIt was not done. Tell the user."
    ))
}

fn stopped() -> ToolResult {
    ToolResult::failed("the turn was stopped while a person was being asked; it was not done")
}

#[cfg(test)]
mod tests {
    use ostler_model::ask::{AskKind, CommandAsk};
    use ostler_model::decision::Decision;

    use super::{ask_first, question};
    use crate::Activity;
    use crate::tools::fakes::{Answer, FakeAsks, context};

    fn ask() -> ostler_model::Ask {
        question(AskKind::Command(CommandAsk::default()), None)
    }

    #[tokio::test]
    async fn what_a_person_answers_is_what_comes_of_it() {
        let cases = [
            (Answer::of(Decision::Once), ""),
            (Answer::of(Decision::Session), ""),
            (
                Answer::denied("not on a Friday"),
                "declined by ada (test): not on a Friday\nIt was not done. Do not try the same in another way.",
            ),
            (
                Answer::of(Decision::Deny),
                "declined by ada (test)\nIt was not done. Do not try the same in another way.",
            ),
            (
                Answer::Unreachable,
                "declined, because nobody could be asked (the daemon cannot be reached: no socket)\nIt was not done. Tell the user.",
            ),
        ];
        for (answer, wanted) in cases {
            let asks = FakeAsks::answering(answer.clone());
            let result = ask_first(&context(&asks, "/"), "run", ask()).await;
            let said = result.err().map(|result| result.content).unwrap_or_default();
            assert_eq!(said, wanted, "{answer:?}");
        }
    }

    #[tokio::test]
    async fn a_question_is_shown_and_its_end_too_and_its_key_names_conversation_call_and_part() {
        let asks = FakeAsks::answering(Answer::of(Decision::Once));
        ask_first(&context(&asks, "/"), "run", ask()).await.unwrap();

        assert_eq!(asks.keys(), ["conversation/call/run"]);
        let shown = asks.shown();
        assert!(
            matches!(&shown[0], Activity::Asked(record) if record.content == ask()),
            "{shown:?}"
        );
        assert!(
            matches!(&shown[1], Activity::AskOver { how, .. } if how == "allowed by ada (test)"),
            "{shown:?}"
        );
    }

    #[tokio::test]
    async fn one_that_was_decided_before_is_not_asked_again() {
        let asks = FakeAsks::answering(Answer::Before(Decision::Once));
        ask_first(&context(&asks, "/"), "run", ask()).await.unwrap();
        assert_eq!(asks.shown(), []);
    }

    #[tokio::test]
    async fn who_cancels_stops_the_turn() {
        let asks = FakeAsks::answering(Answer::of(Decision::Cancel));
        let context = context(&asks, "/");
        assert!(ask_first(&context, "run", ask()).await.is_err());
        assert!(context.stop.is_cancelled());
    }

    #[tokio::test]
    async fn a_stop_withdraws_the_question() {
        let asks = FakeAsks::answering(Answer::Never);
        let context = context(&asks, "/");
        let stop = context.stop.clone();
        let waiting = ask_first(&context, "run", ask());
        let stopping = async {
            asks.is_asked().await;
            stop.cancel();
        };

        let (result, ()) = tokio::join!(waiting, stopping);

        let said = result.unwrap_err().content;
        assert_eq!(said, "the turn was stopped while a person was being asked; it was not done");
        assert_eq!(asks.withdrawn(), 1);
    }
}
