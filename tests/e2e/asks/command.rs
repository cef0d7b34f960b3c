use ostler_model::decision::Remember;
use ostler_model::thread::{AskEnd, DecisionRefusal, Update};
use ostler_model::{AskKind, Decision, Interrupter, TurnEnd};
use ostler_scripted_model::{Answer, Call};
use rstest::rstest;
use serde_json::json;

use super::{by_ann, decide, decided, send, world};
use crate::{command, text};

#[rstest]
#[tokio::test]
async fn a_command_is_decided_in_every_way(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = world(
        version,
        vec![
            ("allow once", vec![command("sh -c 'echo ran >> once.log'"), text("Done.")]),
            ("allow here", vec![command("sh -c 'echo ran >> session.log'"), text("Done.")]),
            ("allow always", vec![command("touch always.txt"), text("Done.")]),
            ("refuse it", vec![command("sh -c 'echo ran >> deny.log'"), text("Done.")]),
            ("stop it", vec![command("sh -c 'echo ran >> cancel.log'"), text("Never said.")]),
        ],
    )
    .await;
    let mut thread = world.thread().await;

    // Once: it runs, and the same is asked again.
    for runs in 1..=2 {
        send(&thread, "allow once").await;
        let (id, ask) = thread.ask().await.unwrap();
        let AskKind::Command(wanted) = &ask.kind else { panic!("{ask:?}") };
        let line = wanted.command.as_deref().unwrap();
        assert!(line.contains("echo ran >> once.log"), "{line}");
        assert_eq!(wanted.cwd.as_deref(), world.stage.workspace().to_str());
        assert_eq!(ask.thread.as_ref(), Some(thread.thread.id()));
        assert!(ask.turn.is_some() && ask.item.is_some(), "{ask:?}");
        assert_eq!(world.stage.lines("once.log").len(), runs - 1, "it ran before it was allowed");
        decide(&mut thread, &id, Decision::Once).await;
        assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
        assert_eq!(world.stage.lines("once.log").len(), runs);
    }

    // For the session: it runs, and is not asked again.
    send(&thread, "allow here").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Session).await;
    thread.turn_end().await.unwrap();
    let told = thread.seen.len();
    send(&thread, "allow here").await;
    thread.turn_end().await.unwrap();
    assert!(!has_asked(&thread.seen[told..]), "it was asked again");
    assert_eq!(world.stage.lines("session.log").len(), 2);

    // Always: what will be remembered is offered word for word, written down, and holds in other threads.
    send(&thread, "allow always").await;
    let (id, ask) = thread.ask().await.unwrap();
    let words = vec!["touch".to_owned(), "always.txt".to_owned()];
    let always = Decision::Always(Remember::CommandPrefix(words));
    assert!(ask.offers.contains(&always), "{:?}", ask.offers);
    decide(&mut thread, &id, always).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert!(world.stage.workspace().join("always.txt").exists());
    let rules = world.stage.codex_home().join("rules/default.rules");
    let rules = std::fs::read_to_string(rules).unwrap();
    assert!(rules.contains(r#"["touch", "always.txt"]"#), "{rules}");
    let mut other = world.thread().await;
    send(&other, "allow always").await;
    assert_eq!(other.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert!(!has_asked(&other.seen), "what is allowed always was asked");

    // Denied: it does not run, the model is told, the turn goes on.
    send(&thread, "refuse it").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Deny).await;
    let result = thread.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(result.final_answer.as_deref(), Some("Done."));
    assert!(world.told("refuse it").contains("rejected by user"));
    assert_eq!(world.stage.lines("deny.log").len(), 0);

    // Cancelled: it does not run, and the turn ends by that person's decision.
    send(&thread, "stop it").await;
    let (id, _) = thread.ask().await.unwrap();
    decide(&mut thread, &id, Decision::Cancel).await;
    let by = Interrupter::Decision { by: "ann".into() };
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Interrupted { by });
    assert_eq!(world.stage.lines("cancel.log").len(), 0);
}

#[rstest]
#[tokio::test]
async fn two_asks_are_answered_in_the_other_order(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = world(
        version,
        vec![
            ("the first", vec![command("sh -c 'echo ran >> first.log'"), text("First.")]),
            ("the second", vec![command("sh -c 'echo ran >> second.log'"), text("Second.")]),
        ],
    )
    .await;
    let (mut first, mut second) = (world.thread().await, world.thread().await);
    send(&first, "the first").await;
    let (first_ask, _) = first.ask().await.unwrap();
    send(&second, "the second").await;
    let (second_ask, _) = second.ask().await.unwrap();

    // Nobody answers for another thread.
    second.thread.answer(first_ask.clone(), decided(Decision::Once)).await;
    let refused = refusal(&mut second).await;
    assert_eq!(refused, (first_ask.clone(), "ann".to_owned(), DecisionRefusal::Closed));

    decide(&mut second, &second_ask, Decision::Once).await;
    assert_eq!(second.turn_end().await.unwrap().final_answer.as_deref(), Some("Second."));
    assert_eq!(world.stage.lines("first.log").len(), 0);
    decide(&mut first, &first_ask, Decision::Once).await;
    assert_eq!(first.turn_end().await.unwrap().final_answer.as_deref(), Some("First."));
    assert_eq!(
        [world.stage.lines("first.log").len(), world.stage.lines("second.log").len()],
        [1, 1]
    );
}

/// The model calls two tools at once, and Codex asks for both at once.
#[rstest]
#[tokio::test]
async fn two_commands_of_one_answer_are_decided_in_the_other_order(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let run = |name: &str| {
        Call::function("exec_command", json!({ "cmd": format!("sh -c 'echo ran >> {name}.log'") }))
    };
    let both = Answer { calls: vec![run("left"), run("right")], ..Answer::default() };
    let world = world(version, vec![("both", vec![both, text("Both.")])]).await;
    let mut thread = world.thread().await;
    send(&thread, "both").await;
    let mut asks = [thread.ask().await.unwrap(), thread.ask().await.unwrap()];
    asks.reverse();
    for (id, ask) in asks {
        let AskKind::Command(wanted) = &ask.kind else { panic!("{ask:?}") };
        let is_left = wanted.command.as_ref().unwrap().contains("left.log");
        decide(&mut thread, &id, if is_left { Decision::Deny } else { Decision::Once }).await;
    }
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!([world.stage.lines("left.log").len(), world.stage.lines("right.log").len()], [0, 1]);
}

#[rstest]
#[tokio::test]
async fn a_decision_that_does_not_count_leaves_the_ask_open(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversation = vec![command("sh -c 'echo ran >> ran.log'"), text("Done.")];
    let world = world(version, vec![("try it", conversation)]).await;
    let mut thread = world.thread().await;
    send(&thread, "try it").await;
    let (id, _) = thread.ask().await.unwrap();

    let prefix = Remember::CommandPrefix(vec!["rm".to_owned()]);
    thread.thread.answer(id.clone(), decided(Decision::Always(prefix))).await;
    let refused = (id.clone(), "ann".to_owned(), DecisionRefusal::NotOffered);
    assert_eq!(refusal(&mut thread).await, refused);
    assert_eq!(world.stage.lines("ran.log").len(), 0);

    // The first one counts; the other person learns who was first, or that it is over.
    thread.thread.answer(id.clone(), decided(Decision::Once)).await;
    let late = ostler_codex::thread::Decided { by: "bob".into(), ..decided(Decision::Deny) };
    thread.thread.answer(id.clone(), late).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(world.stage.lines("ran.log").len(), 1);
    let ends: Vec<&AskEnd> = thread
        .updates()
        .filter_map(|update| match update {
            Update::AskClosed { how, .. } => Some(how),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [&by_ann(Decision::Once)]);
    let late = thread.updates().find_map(|update| match update {
        Update::DecisionRefused { by, why, .. } if by == "bob" => Some(why.clone()),
        _ => None,
    });
    let first = DecisionRefusal::Decided { by: "ann".into() };
    assert!(late == Some(first) || late == Some(DecisionRefusal::Closed), "{late:?}");
}

async fn refusal(
    thread: &mut ostler_testkit::DrivenThread,
) -> (ostler_model::AskId, String, DecisionRefusal) {
    thread
        .until("the refusal of a decision", |update| match update {
            Update::DecisionRefused { ask, by, why } => {
                Some((ask.clone(), by.clone(), why.clone()))
            }
            _ => None,
        })
        .await
        .unwrap()
}

fn has_asked(told: &[ostler_codex::thread::ThreadUpdate]) -> bool {
    use ostler_codex::thread::Told;
    told.iter().any(|told| matches!(told.what, Told::Update(Update::AskOpened { .. })))
}
