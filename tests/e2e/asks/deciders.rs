//! Who decides: nobody yet, somebody, somebody else, nobody at all.

use std::time::Duration;

use ostler_codex::driver::ThreadOptions;
use ostler_codex::thread::{Decided, Decider};
use ostler_model::thread::{AskEnd, Limits, Update};
use ostler_model::{Decision, TurnEnd};
use ostler_scripted_model::Answer;
use rstest::rstest;
use tokio::sync::mpsc;

use super::{World, by_ann, decided, send, soon, world};
use crate::{command, text};

async fn asking(version: &str, prompts: &[&'static str]) -> World {
    let run = || vec![command("sh -c 'echo ran >> ran.log'"), text("Went on.")];
    world(version, prompts.iter().map(|prompt| (*prompt, run())).collect()).await
}

fn always(decision: Decision) -> Decider {
    Decider::new(move |_, _| std::future::ready(Ok(decided(decision.clone()))))
}

fn declined(reason: &str) -> AskEnd {
    AskEnd::Declined { reason: reason.to_owned() }
}

#[rstest]
#[tokio::test]
async fn an_ask_waits_for_a_decider_and_goes_from_one_to_the_next(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = asking(version, &["wait for it", "ask on"]).await;
    let mut thread = world.thread().await;
    send(&thread, "wait for it").await;
    let (id, _) = thread.ask().await.unwrap();

    // The first one is asked and thinks; the second one is asked the same, and decides.
    let (shown, mut prompts) = mpsc::unbounded_channel();
    let thinker = Decider::new(move |id, _| {
        drop(shown.send(id));
        std::future::pending::<Result<Decided, String>>()
    });
    thread.thread.decide_with(thinker).await;
    assert_eq!(soon(prompts.recv()).await, Some(id.clone()));
    thread.thread.await_decider().await;
    // The thinker was dismissed, so its side of the channel is gone.
    assert_eq!(soon(prompts.recv()).await, None);
    assert_eq!(world.stage.lines("ran.log").len(), 0);
    thread.thread.decide_with(always(Decision::Once)).await;
    assert_eq!(thread.closed(&id).await.unwrap(), by_ann(Decision::Once));
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(world.stage.lines("ran.log").len(), 1);

    // It decides what comes later, too.
    send(&thread, "ask on").await;
    let (id, _) = thread.ask().await.unwrap();
    assert_eq!(thread.closed(&id).await.unwrap(), by_ann(Decision::Once));
    thread.turn_end().await.unwrap();
    assert_eq!(world.stage.lines("ran.log").len(), 2);
}

/// Whatever goes wrong with a decider is a no, and everybody sees why.
#[rstest]
#[tokio::test]
async fn without_a_decision_the_answer_is_no_and_says_why(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let prompts = ["nobody", "an error", "a panic", "a trip", "nonsense"];
    let world = asking(version, &prompts).await;
    let mut thread = world.thread().await;

    thread.thread.decide_with_nobody().await;
    let error = Decider::new(|_, _| async { Err("the line is dead".to_owned()) });
    let panic = Decider::new(|_, _| async { panic!("oh no") });
    let trip = Decider::new(|_, _| -> std::future::Ready<Result<Decided, String>> {
        panic!("not even a future")
    });
    let nonsense = always(Decision::Form(Default::default()));
    for (prompt, decider, reason) in [
        ("nobody", None, "there is nobody to ask"),
        ("an error", Some(error), "the line is dead"),
        ("a panic", Some(panic), "the decider panicked: oh no"),
        ("a trip", Some(trip), "the decider panicked: not even a future"),
        ("nonsense", Some(nonsense), "the ask does not take the decision of ann"),
    ] {
        if let Some(decider) = decider {
            thread.thread.decide_with(decider).await;
        }
        send(&thread, prompt).await;
        let (id, _) = thread.ask().await.unwrap();
        assert_eq!(thread.closed(&id).await.unwrap(), declined(reason), "{prompt}");
        let result = thread.turn_end().await.unwrap();
        assert_eq!(result.end, TurnEnd::Completed, "{prompt}");
        assert_eq!(result.final_answer.as_deref(), Some("Went on."), "{prompt}");
    }
    assert_eq!(world.stage.lines("ran.log").len(), 0);
}

#[rstest]
#[tokio::test]
async fn an_ask_that_nobody_answers_in_time_is_declined(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = asking(version, &["hurry"]).await;
    let limits = Limits { ask_deadline: Some(Duration::from_millis(50)), ..Limits::default() };
    let mut thread = world.thread_with(ThreadOptions { limits, ..Default::default() }).await;
    let thinker = Decider::new(|_, _| std::future::pending::<Result<Decided, String>>());
    thread.thread.decide_with(thinker).await;
    send(&thread, "hurry").await;
    let (id, _) = thread.ask().await.unwrap();
    assert_eq!(thread.closed(&id).await.unwrap(), declined("nobody answered in time"));
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(world.stage.lines("ran.log").len(), 0);
}

/// One person thinks for ever; another thread streams on meanwhile, and the first one's turn still takes an interrupt.
#[rstest]
#[tokio::test]
async fn a_decider_that_never_returns_holds_up_nobody(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    const DELTAS: u64 = 5_000;
    let flood = Answer { deltas: DELTAS, ..Answer::default() };
    let run = vec![command("sh -c 'echo ran >> ran.log'"), text("Never said.")];
    let world = world(version, vec![("think", run), ("stream", vec![flood])]).await;
    let mut thinking = world.thread().await;
    let thinker = Decider::new(|_, _| std::future::pending::<Result<Decided, String>>());
    thinking.thread.decide_with(thinker).await;
    send(&thinking, "think").await;
    let (id, _) = thinking.ask().await.unwrap();

    let mut streaming = world.thread().await;
    send(&streaming, "stream").await;
    let result = streaming.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Completed);
    let pieces = streaming.updates().filter_map(|it| match it {
        Update::Delta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(Some(pieces.collect::<String>()), result.final_answer);
    let open = thinking.updates().all(|it| !matches!(it, Update::AskClosed { .. }));
    assert!(open, "the ask was closed without a decision");

    thinking.thread.interrupt("ann").await;
    thinking.closed(&id).await.unwrap();
    thinking.turn_end().await.unwrap();
    assert_eq!(world.stage.lines("ran.log").len(), 0);
}
