//! Who answers an ask, and who comes too late.

use ostler_engine::{Answer, AnswerError};
use ostler_model::task::{AskState, DecidedBy, Unattended};
use ostler_model::{Decision, Event, TaskSettings, TaskState};
use ostler_scripted_model::{Answer as Says, Call};
use ostler_testkit::Workshop;
use rstest::rstest;
use serde_json::json;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text, untrusted};

fn person(name: &str, decision: Decision) -> Answer {
    let by = DecidedBy::Person { name: name.to_owned(), surface: "cli".to_owned() };
    Answer { decision, reason: None, remember: None, by }
}

#[tokio::test]
async fn of_two_answers_one_counts_and_the_other_is_told_whose() {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let wrong = shop.engine.answer(&ask.id, person("eve", Decision::Answers([].into()))).await;
    assert!(matches!(wrong, Err(AnswerError::NotOffered { .. })), "{wrong:?}");

    let (ana, ben) = tokio::join!(
        shop.engine.answer(&ask.id, person("ana", Decision::Once)),
        shop.engine.answer(&ask.id, person("ben", Decision::Once)),
    );
    let (winner, loser) = if ana.is_ok() { ("ana", ben) } else { ("ben", ana) };
    let Err(AnswerError::Decided { by }) = loser else { panic!("{loser:?}") };
    assert_eq!(by, format!("{winner} (cli)"));
    shop.until(&task, TaskState::Completed).await.unwrap();
    let late = shop.engine.answer(&ask.id, person("eve", Decision::Deny)).await;
    assert!(
        matches!(&late, Err(AnswerError::Decided { by }) if by.starts_with(winner)),
        "{late:?}"
    );
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_task_that_does_not_wait_for_people_declines(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done."), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let alone = |settings: &mut TaskSettings| {
        untrusted(settings);
        settings.unattended = Unattended::Decline;
    };
    let task = shop.start_with(&stage, PROMPT, alone).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    let decided = asks[0].decision.clone().unwrap();
    assert_eq!((decided.decision, decided.by), (Decision::Deny, DecidedBy::Nobody));
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    // Nobody said anything, so nothing stands in the conversation as if the user had.
    let prompts = crate::prompts(&shop, &task).await;
    assert_eq!(prompts, [(ostler_model::item::Sender::Task, PROMPT.to_owned())]);
    let requests = stage.model().requests();
    let said = requests.last().map(|request| request.json().to_string()).unwrap();
    assert!(!said.contains("nobody watches"), "{said}");
    shop.close().await.unwrap();
}

#[tokio::test]
async fn people_are_told_again_once() {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let patient = |settings: &mut TaskSettings| {
        untrusted(settings);
        settings.escalate_after_ms = Some(300);
    };
    let task = shop.start_with(&stage, PROMPT, patient).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let told = Event::AskEscalated { ask: ask.id.clone() };
    let mut news = shop.engine.watch(&task);
    while !shop.log(&task).await.unwrap().contains(&told) {
        drop(tokio::time::timeout(std::time::Duration::from_secs(30), news.recv()).await.unwrap());
    }
    // Neither later nor by the next process.
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    shop.until(&task, TaskState::WaitingForApproval).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let log = shop.log(&task).await.unwrap();
    assert_eq!(log.iter().filter(|event| **event == told).count(), 1);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn the_same_command_twice_at_once_is_asked_twice(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    // The first one runs for a while, so that its answer is not used up when the second is asked for.
    let slow = json!({ "cmd": "sh -c 'echo ran >> ran.log; sleep 2'" });
    let call = || Call::function("exec_command", slow.clone());
    let both = Says { calls: vec![call(), call()], ..Says::default() };
    let stage = stage(version, vec![both, text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let first = shop.ask(&task).await.unwrap();
    shop.answer(&first, Decision::Once).await.unwrap();
    let second = loop {
        let asks = shop.engine.store().undecided_asks_of(&task).await.unwrap();
        if let Some(ask) = asks.into_iter().find(|ask| ask.id != first.id) {
            break ask;
        }
        let now = shop.task(&task).await.unwrap();
        assert_ne!(now.state, TaskState::Completed, "it was not asked for");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    shop.answer(&second, Decision::Deny).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!(stage.lines("ran.log"), ["ran"]);
    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    assert!(asks.iter().all(|ask| ask.state == AskState::Closed));
    shop.close().await.unwrap();
}
