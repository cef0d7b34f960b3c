//! What is put before the model with an input: in its order, before the prompt, once, and nobody else hears of it.

use ostler_codex::protocol::request::thread::ThreadInjectItems;
use ostler_codex::rollout;
use ostler_codex::thread::{InputState, Recalled, RecalledInput, TurnInput};
use ostler_model::input::{ContextPart, ContextRole};
use ostler_model::thread::IfBusy;
use ostler_model::{InputId, ItemBody, ThreadId, TurnEnd};
use ostler_testkit::{DrivenThread, recalled};
use rstest::rstest;
use serde_json::{Value, json};

use super::{Place, ended, says};
use crate::{LEAVES_A_LINE, command, text};

const KIND: &str = "be kind to the horse";
const EARLIER: &str = "what does a horse eat?";
const HAY: &str = "A horse eats hay.";

fn context() -> Vec<ContextPart> {
    let part = |role, text: &str| ContextPart { role, text: text.to_owned() };
    vec![
        part(ContextRole::Developer, KIND),
        part(ContextRole::User, EARLIER),
        part(ContextRole::Assistant, HAY),
    ]
}

fn with_context(words: &str) -> TurnInput {
    TurnInput { context: context(), ..says(words) }
}

fn items(parts: &[ContextPart]) -> Vec<Value> {
    let item = |part: &ContextPart| {
        let kind = if part.role == ContextRole::Assistant { "output_text" } else { "input_text" };
        json!({ "type": "message", "role": part.role.name(), "content": [{ "type": kind, "text": part.text }] })
    };
    parts.iter().map(item).collect()
}

/// Who said what to the model in its last request, as far as it is ours.
fn told(place: &Place) -> Vec<(String, String)> {
    let requests = place.stage.model().requests();
    let request = requests.last().unwrap().json();
    let ours = [KIND, EARLIER, HAY, "warm up", "Warm.", "trot", "and gallop"];
    let messages = request["input"].as_array().unwrap().iter();
    let messages = messages.filter(|item| item["type"] == "message").flat_map(|item| {
        let role = item["role"].as_str().unwrap().to_owned();
        let parts = item["content"].as_array().unwrap().clone();
        parts.into_iter().map(move |part| (role.clone(), part["text"].as_str().unwrap().to_owned()))
    });
    messages.filter(|(_, text)| ours.contains(&text.as_str())).collect()
}

fn expected(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<(String, String)> {
    let context = [("developer", KIND), ("user", EARLIER), ("assistant", HAY)];
    let all = before.iter().chain(&context).chain(after);
    all.map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

/// A thread that was never used, or once, and what the model was told by that.
async fn stabled(
    version: &str,
    thread_is: &str,
) -> (Place, DrivenThread, Vec<(&'static str, &'static str)>) {
    let conversations =
        vec![("warm up", vec![text("Warm.")]), ("trot", vec![text("Trotted."), text("Twice!")])];
    let place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    if thread_is != "used" {
        return (place, thread, Vec::new());
    }
    thread.run(says("warm up")).await.unwrap();
    (place, thread, vec![("user", "warm up"), ("assistant", "Warm.")])
}

/// Neither as an item, nor as a message, now or from the thread's file.
fn nobody_heard(thread: &DrivenThread) {
    for (_, said) in ended(&thread.seen) {
        assert!(![KIND, EARLIER, HAY].contains(&said.as_str()), "{said}");
    }
}

#[rstest]
#[tokio::test]
async fn the_model_knows_it_before_the_prompt_and_nobody_else_hears_of_it(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
) {
    let (place, mut thread, before) = stabled(version, thread_is).await;
    let outcome = thread.run(with_context("trot")).await.unwrap();

    assert_eq!(outcome.result.final_answer.as_deref(), Some("Trotted."));
    assert_eq!(told(&place), expected(&before, &[("user", "trot")]));
    nobody_heard(&thread);
    let said: Vec<_> = outcome.messages.iter().filter_map(|it| it.content.clone()).collect();
    assert!(!said.iter().any(|text| [KIND, EARLIER, HAY].contains(&text.as_str())), "{said:?}");
    // Nor in the file, as whoever reads threads of others sees it.
    let file = rollout::find(&place.stage.codex_home(), thread.thread.id()).unwrap();
    let rollout = rollout::read(&file).unwrap();
    for (item, _) in rollout.turns.iter().flat_map(|turn| &turn.items) {
        if let ItemBody::UserMessage(message) = &item.body {
            assert!(["warm up", "trot"].contains(&message.text.as_str()), "{message:?}");
        }
        if let ItemBody::AgentMessage(message) = &item.body {
            assert!(["Warm.", "Trotted."].contains(&message.text.as_str()), "{message:?}");
        }
    }
}

/// Whoever drives is killed when Codex has all of it, a part of it or nothing, and the prompt was not sent.
#[rstest]
#[tokio::test]
async fn after_a_kill_before_the_prompt_it_comes_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
    #[values(0, 2, 3)] arrived: usize,
) {
    let (mut place, thread, before) = stabled(version, thread_is).await;
    let settings = place.free();
    let (name, left) = place.kill(thread).await;
    inject(&place, &name, &context()[..arrived]).await;

    let id = InputId::new("8a1c0000-0000-7000-8000-000000000001");
    let content = with_context("trot");
    let (if_busy, state) = (IfBusy::Queue, InputState::MaybeSent);
    let inputs = vec![RecalledInput { id: id.clone(), content, if_busy, state }];
    let known = Recalled { inputs, ..recalled(&left) };
    let mut thread = place.rejoin(&name, settings, known).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.inputs), (TurnEnd::Completed, vec![id]));
    assert_eq!(told(&place), expected(&before, &[("user", "trot")]));
    nobody_heard(&thread);
}

/// Another prompt of the very words that stand in the context is not taken for it.
#[rstest]
#[tokio::test]
async fn words_of_the_context_are_not_taken_for_the_prompt(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations =
        vec![("warm up", vec![text("Warm.")]), (EARLIER, vec![text(HAY), text("Twice!")])];
    let mut place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    thread.run(says("warm up")).await.unwrap();
    let settings = place.free();
    let (name, left) = place.kill(thread).await;
    inject(&place, &name, &context()).await;

    let id = InputId::new("8a1c0000-0000-7000-8000-000000000002");
    let content = with_context(EARLIER);
    let (if_busy, state) = (IfBusy::Queue, InputState::MaybeSent);
    let inputs = vec![RecalledInput { id: id.clone(), content, if_busy, state }];
    let known = Recalled { inputs, ..recalled(&left) };
    let mut thread = place.rejoin(&name, settings, known).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.inputs), (TurnEnd::Completed, vec![id]));
    let before = [("user", "warm up"), ("assistant", "Warm.")];
    assert_eq!(told(&place), expected(&before, &[("user", EARLIER)]));
}

#[rstest]
#[tokio::test]
async fn a_steer_brings_its_context_along(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("trot", vec![command(LEAVES_A_LINE), text("Trotted.")])];
    let place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.asking()).await;
    let first = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    let (ask, _) = thread.ask().await.unwrap();
    thread.thread.send(with_context("and gallop"), IfBusy::Steer).await.unwrap();
    let steered = |update: &ostler_model::thread::Update| {
        matches!(update, ostler_model::thread::Update::InputTaken { .. }).then_some(())
    };
    drop(first);
    let decided = ostler_codex::thread::Decided {
        decision: ostler_model::Decision::Once,
        by: "test".to_owned(),
        reason: None,
    };
    // Codex has taken the steer before the turn can end: of what it answers, only that begins with the name of a turn.
    place.connector.until_heard("\"result\":{\"turnId\"").await.unwrap();
    thread.thread.answer(ask, decided).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.inputs.len()), (TurnEnd::Completed, 2));
    assert!(thread.updates().filter_map(steered).count() > 0);
    assert_eq!(told(&place), expected(&[("user", "trot")], &[("user", "and gallop")]));
    nobody_heard(&thread);
}

/// As a driver that was killed right after it had done.
async fn inject(place: &Place, thread: &ThreadId, parts: &[ContextPart]) {
    if parts.is_empty() {
        return;
    }
    let client = place.stage.client(&place.codex).await.unwrap();
    let inject = ThreadInjectItems { thread_id: thread.clone(), items: items(parts) };
    client.server.call(&inject).await.unwrap();
    client.close().await;
}
