//! The model, the effort and the mode of a turn: checked, for one turn unless they stay, and shown.

use ostler_engine::Refusal;
use ostler_model::task::ModelChoice;
use ostler_model::thread::IfBusy;
use ostler_model::{AskKind, Decision, Input, QuestionId, TaskId, TaskSettings, TaskState};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{PROMPT, stage, stage_of, text};

async fn done(shop: &Workshop, task: &TaskId, input: Input) {
    let sent = shop.engine.send(task, input, IfBusy::Queue, "test", None).await.unwrap();
    shop.settled(&sent).await.unwrap();
    shop.until(task, TaskState::Completed).await.unwrap();
}

/// The model and the effort that the model's server was asked for last.
fn asked(stage: &Stage) -> (Value, Value) {
    let request = stage.model().requests().last().unwrap().json();
    let part = |place: &str| request.pointer(place).cloned().unwrap_or_default();
    (part("/model"), part("/reasoning/effort"))
}

#[rstest]
#[tokio::test]
async fn a_model_is_for_one_turn_unless_it_stays(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] over_a_restart: bool,
) {
    let prompts = [PROMPT, "feed the cat", "brush the mare", "call the smith", "lock the gate"];
    let script = prompts.map(|prompt| (prompt, vec![text("Yes.")])).to_vec();
    let stage = stage_of(version, script);
    let mut shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let usual = asked(&stage);

    let model = || Some("gpt-5.4".to_owned());
    let high = || Some("high".to_owned());
    let once = Input { model: model(), effort: high(), ..Input::text(prompts[1]) };
    done(&shop, &task, once).await;
    let chosen = (json!("gpt-5.4"), json!("high"));
    assert_ne!(usual, chosen);
    assert_eq!(asked(&stage), chosen);
    let noted = ModelChoice { model: model(), effort: high(), plan: false };
    assert_eq!(shop.task(&task).await.unwrap().tally.chosen, Some(noted));
    if over_a_restart {
        let thread = shop.task(&task).await.unwrap();
        shop.kill_codex(&stage, &thread.id).await.unwrap();
        shop.close().await.unwrap();
        shop = Workshop::open(&stage).await.unwrap();
    }
    done(&shop, &task, Input::text(prompts[2])).await;
    assert_eq!(asked(&stage), usual);
    assert_eq!(shop.task(&task).await.unwrap().tally.chosen, None);

    let stays = Input { model: model(), effort: high(), stays: true, ..Input::text(prompts[3]) };
    done(&shop, &task, stays).await;
    assert_eq!(asked(&stage), chosen);
    done(&shop, &task, Input::text(prompts[4])).await;
    assert_eq!(asked(&stage), chosen);
    let settings = shop.task(&task).await.unwrap().settings;
    assert_eq!((settings.model, settings.effort), (model(), high()));
    shop.close().await.unwrap();
}

fn asks() -> Answer {
    let questions = json!({ "questions": [{
        "id": "colour", "header": "Colour", "question": "Which colour?",
        "options": [
            { "label": "Bay", "description": "brown with black" },
            { "label": "Grey", "description": "white in the end" },
        ],
    }] });
    Answer { calls: vec![Call::function("request_user_input", questions)], ..Answer::default() }
}

#[rstest]
#[tokio::test]
async fn in_plan_mode_the_model_asks_and_the_next_turn_is_as_usual(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let script = vec![
        (PROMPT, vec![text("Yes.")]),
        ("make a plan", vec![asks(), text("Understood.")]),
        ("do not ask", vec![asks(), text("I cannot.")]),
    ];
    let stage = stage_of(version, script);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let plan = Input { plan: true, ..Input::text("make a plan") };
    let sent = shop.engine.send(&task, plan, IfBusy::Queue, "test", None).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    assert!(matches!(ask.content.kind, AskKind::UserInput(_)), "{ask:?}");
    let waits = shop.until(&task, TaskState::WaitingForUserInput).await.unwrap();
    assert!(waits.tally.chosen.is_some_and(|chosen| chosen.plan));
    let answers = [(QuestionId::new("colour"), vec!["Bay".to_owned()])].into();
    shop.answer(&ask, Decision::Answers(answers)).await.unwrap();
    shop.settled(&sent).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    done(&shop, &task, Input::text("do not ask")).await;
    let said = stage.model().requests().last().unwrap().json().to_string();
    assert!(said.contains("Bay"), "{said}");
    assert!(said.contains("unavailable in Default mode"), "{said}");
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_model_that_codex_does_not_have_is_refused(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![text("Yes.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let mut scripted = TaskSettings::in_folder(stage.workspace().display().to_string());
    scripted.codex.home = Some(stage.codex_home().display().to_string());
    let engine = &shop.engine;
    // Of another provider's models Codex knows nothing.
    let unchecked = engine.check_model(&scripted, Some("oats"), None).await.unwrap().unwrap();
    assert!(unchecked.contains("without a check"), "{unchecked}");
    assert!(unchecked.contains("\"scripted\""), "{unchecked}");
    assert_eq!(engine.check_model(&scripted, None, None).await.unwrap(), None);

    let openai = TaskSettings { model_provider: Some("openai".to_owned()), ..scripted.clone() };
    let models = engine.models(&scripted).await.unwrap();
    let known = models.iter().find(|model| model.is_default).unwrap();
    let effort = known.efforts.last().map(|effort| effort.effort.as_str());
    assert_eq!(engine.check_model(&openai, Some(&known.id), effort).await.unwrap(), None);
    for (model, effort, what) in [
        (Some("gpt-0"), None, "Codex has no model \"gpt-0\"; it offers "),
        (Some(known.id.as_str()), Some("extreme"), "has no effort \"extreme\"; it takes "),
        (None, Some("extreme"), "has no effort \"extreme\"; it takes "),
    ] {
        let refused = engine.check_model(&openai, model, effort).await.unwrap_err();
        assert!(matches!(refused, Refusal::Invalid { .. }), "{refused:?}");
        assert!(refused.to_string().contains(what), "{refused}");
    }
    shop.close().await.unwrap();
}
