use std::collections::BTreeMap;

use ostler_codex::protocol::request::turn::Mode;
use ostler_codex::thread::TurnInput;
use ostler_model::ask::{Question, QuestionOption};
use ostler_model::thread::{AskEnd, DecisionRefusal, IfBusy, Update};
use ostler_model::{AskKind, Decision, QuestionId, TurnEnd};
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, decided, send, world};
use crate::text;

const SECRET: &str = "open-sesame-4711";

fn questions() -> Value {
    json!({ "questions": [
        {
            "id": "colour", "header": "Colour", "question": "Which colour?",
            "options": [
                { "label": "Bay", "description": "brown with black" },
                { "label": "Grey", "description": "white in the end" },
            ],
        },
        {
            "id": "lock", "header": "Lock", "question": "What opens the lock?", "isSecret": true,
            "options": [{ "label": "A key", "description": "iron" }, { "label": "A word", "description": "said" }],
        },
    ] })
}

fn answers(given: &[(&str, &[&str])]) -> Decision {
    let entry = |(id, texts): &(&str, &[&str])| {
        (QuestionId::new(*id), texts.iter().map(|text| (*text).to_owned()).collect())
    };
    Decision::Answers(given.iter().map(entry).collect::<BTreeMap<_, Vec<String>>>())
}

/// In the mode in which the model may ask.
async fn plan(thread: &DrivenThread, prompt: &str) {
    let input = TurnInput { mode: Some(Mode::Plan), ..TurnInput::text(prompt) };
    thread.thread.send(input, IfBusy::Fail).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn questions_of_the_model_are_answered_by_a_person(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let asking = || vec![call("request_user_input", questions()), text("Understood.")];
    let conversations = ["ask me", "ask in vain", "ask again", "do not ask"];
    let world = world(version, conversations.map(|prompt| (prompt, asking())).to_vec()).await;
    let mut thread = world.thread().await;

    plan(&thread, "ask me").await;
    let (id, ask) = thread.ask().await.unwrap();
    let AskKind::UserInput(wanted) = &ask.kind else { panic!("{ask:?}") };
    let option = |label: &str, description: &str| QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let colour = Question {
        id: QuestionId::new("colour"),
        header: "Colour".to_owned(),
        text: "Which colour?".to_owned(),
        options: vec![option("Bay", "brown with black"), option("Grey", "white in the end")],
        allows_other: true,
        is_secret: false,
    };
    assert_eq!(wanted.questions.first(), Some(&colour));
    let lock = wanted.questions.get(1).unwrap();
    assert_eq!((lock.id.as_str(), lock.is_secret), ("lock", true));

    // A question that nobody asked is a mistake, and the ask stays open.
    thread.thread.answer(id.clone(), decided(answers(&[("size", &["16 hands"])]))).await;
    let refused = thread.until("a refusal", |update| match update {
        Update::DecisionRefused { why, .. } => Some(why.clone()),
        _ => None,
    });
    assert_eq!(refused.await.unwrap(), DecisionRefusal::NotOffered);

    let given = answers(&[("colour", &["Bay", "user_note: not too dark"]), ("lock", &[SECRET])]);
    thread.thread.answer(id.clone(), decided(given)).await;
    let shown =
        answers(&[("colour", &["Bay", "user_note: not too dark"]), ("lock", &["(hidden)"])]);
    let ended = AskEnd::Decided { decision: shown, by: "ann".to_owned() };
    assert_eq!(thread.closed(&id).await.unwrap(), ended);
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    let told: Value = serde_json::from_str(world.outputs("ask me").last().unwrap()).unwrap();
    assert_eq!(
        told,
        json!({ "answers": {
            "colour": { "answers": ["Bay", "user_note: not too dark"] },
            "lock": { "answers": [SECRET] },
        } })
    );
    assert!(!format!("{:?}", thread.seen).contains(SECRET), "the secret was told to watchers");

    // Declined: the model goes on without an answer. Codex stays in the mode.
    send(&thread, "ask in vain").await;
    let (id, _) = thread.ask().await.unwrap();
    super::decide(&mut thread, &id, Decision::Deny).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(world.outputs("ask in vain").last().map(String::as_str), Some(r#"{"answers":{}}"#));

    // Interrupted: the question is taken back.
    send(&thread, "ask again").await;
    let (id, _) = thread.ask().await.unwrap();
    thread.thread.interrupt("ann").await;
    let withdrawn = ostler_model::thread::Withdrawal::TurnEnded;
    assert_eq!(thread.closed(&id).await.unwrap(), AskEnd::Withdrawn { reason: withdrawn });
    thread.turn_end().await.unwrap();

    // In the other mode the model may not ask.
    let input = TurnInput { mode: Some(Mode::Default), ..TurnInput::text("do not ask") };
    let outcome = thread.run(input).await.unwrap();
    assert_eq!(outcome.result.end, TurnEnd::Completed);
    let told = world.outputs("do not ask").pop().unwrap();
    assert!(told.contains("unavailable in Default mode"), "{told}");
}

/// A mode comes with a model and an effort of its own on the wire; ours must not be lost by it.
#[rstest]
#[tokio::test]
async fn a_mode_leaves_the_model_the_effort_and_the_instructions(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let world = world(version, vec![("make a plan", vec![text("A plan.")])]).await;
    let settings = ostler_codex::thread::settings::ThreadSettings {
        effort: Some("high".to_owned()),
        developer_instructions: Some("Speak of horses alone.".to_owned()),
        ..ostler_codex::thread::settings::ThreadSettings::new(
            world.stage.workspace().display().to_string(),
        )
    };
    let mut thread = world.driven.thread(settings, Default::default()).await.unwrap();
    let asked = |index: usize| world.stage.model().requests()[index].json();

    thread.run(TurnInput::text("make a plan")).await.unwrap();
    let input = TurnInput { mode: Some(Mode::Plan), ..TurnInput::text("make a plan") };
    thread.run(input).await.unwrap();

    let (plain, planned) = (asked(0), asked(1));
    assert_eq!(planned["model"], plain["model"]);
    assert_eq!(
        (&plain["reasoning"]["effort"], &planned["reasoning"]["effort"]),
        (&json!("high"), &json!("high"))
    );
    let text = planned["input"].to_string();
    assert!(text.contains("Speak of horses alone."), "{text}");
    assert!(text.contains("<collaboration_mode># Plan Mode"), "{text}");
}
