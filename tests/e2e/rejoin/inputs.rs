//! Inputs that were on their way when the driver went.

use ostler_codex::thread::{InputState, Recalled};
use ostler_model::thread::IfBusy;
use ostler_model::{FailureClass, InputId, TurnEnd};
use ostler_testkit::{DrivenThread, recalled};
use rstest::rstest;

use super::{Place, input, names, renewed, says};
use crate::text;

fn some_input() -> InputId {
    InputId::new("8a1c0000-0000-7000-8000-000000000001")
}

/// A thread that was never used, or once, and how often the model was asked for that.
async fn stabled(version: &str, thread_is: &str) -> (Place, DrivenThread, u64) {
    let conversations =
        vec![("warm up", vec![text("Warm.")]), ("trot", vec![text("Trotted."), text("Twice!")])];
    let place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    if thread_is != "used" {
        return (place, thread, 0);
    }
    thread.run(says("warm up")).await.unwrap();
    (place, thread, 1)
}

/// Whoever drives is killed after it may have sent this input, and comes back.
async fn comes_back(
    place: &mut Place,
    thread: DrivenThread,
    sent: &InputId,
    words: &str,
) -> DrivenThread {
    let settings = place.free();
    let (name, left) = place.kill(thread).await;
    let inputs = vec![input(sent, words, InputState::MaybeSent)];
    let known = Recalled { inputs, ..recalled(&left) };
    place.rejoin(&name, settings, known).await
}

/// Codex has it and is still at it.
#[rstest]
#[tokio::test]
async fn an_input_that_arrived_is_not_sent_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
) {
    let (mut place, thread, before) = stabled(version, thread_is).await;
    place.stage.model().hold_answers();
    place.connector.deafen();
    let id = some_input();
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();
    place.asked(before + 1).await;

    let mut thread = comes_back(&mut place, thread, &id, "trot").await;
    place.stage.model().release_answers();
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs);
    assert_eq!(whole, (TurnEnd::Completed, Some("Trotted."), vec![id]));
    assert_eq!(place.stage.model().requests_seen(), before + 1, "the model was asked twice");
    assert_eq!(renewed(&thread), None);
}

/// Codex had it, and its turn is over: the turn is told as a whole.
#[rstest]
#[tokio::test]
async fn an_input_that_was_answered_meanwhile_is_told_with_its_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
) {
    let (mut place, thread, before) = stabled(version, thread_is).await;
    place.connector.deafen();
    let id = some_input();
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();
    place.asked(before + 1).await;
    place.at_rest(thread.thread.id()).await;

    let mut thread = comes_back(&mut place, thread, &id, "trot").await;
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs);
    assert_eq!(whole, (TurnEnd::Completed, Some("Trotted."), vec![id]));
    let expected =
        ["disconnected", "reconnected", "turn_began", "input_taken", "item_ended", "turn_ended"];
    assert_eq!(names(&thread), expected);
    assert_eq!(place.stage.model().requests_seen(), before + 1, "the model was asked twice");
}

/// It was held back and never arrived: it is sent, once.
#[rstest]
#[tokio::test]
async fn an_input_that_never_arrived_is_sent_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
) {
    let (mut place, thread, before) = stabled(version, thread_is).await;
    place.connector.mute();
    let id = some_input();
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();

    let mut thread = comes_back(&mut place, thread, &id, "trot").await;
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs);
    assert_eq!(whole, (TurnEnd::Completed, Some("Trotted."), vec![id]));
    assert_eq!(place.stage.model().requests_seen(), before + 1);
}

/// The same words were answered before: on 0.130.0 words are all by which an input is known again.
#[rstest]
#[tokio::test]
async fn the_same_words_of_long_ago_are_another_input(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut place = Place::of(version, vec![("trot", vec![text("Trotted.")])]).await;
    let mut thread = place.thread(place.free()).await;
    let first = thread.run(says("trot")).await.unwrap().result.turn;
    place.connector.mute();
    let id = some_input();
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();

    let mut thread = comes_back(&mut place, thread, &id, "trot").await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.inputs), (TurnEnd::Completed, vec![id]));
    assert_ne!(result.turn, first);
    assert_eq!(place.stage.model().requests_seen(), 2);
}

/// A thread that was never used has no file. If its app-server died, there is nothing to come back to but its settings.
#[rstest]
#[tokio::test]
async fn a_thread_without_turns_is_replaced_when_its_app_server_is(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut place = Place::of(version, vec![("then", vec![text("Then."), text("Twice!")])]).await;
    let thread = place.thread(place.free()).await;
    let settings = place.free();
    let (name, left) = place.kill(thread).await;
    drop(std::mem::replace(&mut place.codex, place.stage.codex().await.unwrap()));
    place.connector =
        std::sync::Arc::new(ostler_testkit::CutConnector::new(place.codex.socket()).unwrap());

    let id = some_input();
    let inputs = vec![input(&id, "then", InputState::Queued)];
    let known = Recalled { inputs, ..recalled(&left) };
    let mut thread = place.rejoin(&name, settings, known).await;
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs);
    assert_eq!(whole, (TurnEnd::Completed, Some("Then."), vec![id]));
    let now = renewed(&thread).unwrap();
    assert_ne!(now, name);
    assert_eq!(thread.thread.id(), &now);
    assert_eq!(place.stage.model().requests_seen(), 1);
}

/// The driver goes the moment it has sent the first input of a thread, of which Codex has no file yet.
#[rstest]
#[tokio::test]
async fn the_first_input_of_a_thread_is_not_given_to_another_one(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let prompts: Vec<String> = (1..=6).map(|round| format!("trot round {round}")).collect();
    let answers = || vec![text("Trotted."), text("Twice!")];
    let conversations = prompts.iter().map(|prompt| (prompt.as_str(), answers())).collect();
    let mut place = Place::of(version, conversations).await;
    for (prompt, number) in prompts.iter().zip(1..) {
        let thread = place.thread(place.free()).await;
        let id = InputId::new(format!("8a1c0000-0000-7000-8000-0000000001{number:02}"));
        thread.thread.send_as(id.clone(), says(prompt), IfBusy::Fail).await.unwrap();
        let mut thread = comes_back(&mut place, thread, &id, prompt).await;
        let result = thread.turn_end().await.unwrap();

        assert_eq!(result.final_answer.as_deref(), Some("Trotted."));
        assert_eq!(
            place.stage.model().requests_seen(),
            number,
            "the model was asked twice: {result:?}\n{:#?}\n{:#?}",
            thread.seen,
            place.stage.model().requests()
        );
    }
}

/// The app-server died after it had written the input down for the model, and before it had for anybody else.
#[rstest]
#[tokio::test]
async fn an_input_that_only_the_model_knows_is_not_given_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("warm up", vec![text("Warm.")]), ("trot", vec![text("Trotted.")])];
    let mut place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    thread.run(says("warm up")).await.unwrap();
    let left = recalled(&thread.seen);
    place.stage.model().hold_answers();
    let id = some_input();
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();
    place.asked(2).await;
    let file = place.stage.until_held(thread.thread.id(), "\"trot\"").await.unwrap();
    let settings = place.free();
    let (name, _) = place.kill(thread).await;
    let pid = rustix::process::Pid::from_raw(place.codex.pid().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    drop(std::mem::replace(&mut place.codex, place.stage.codex().await.unwrap()));
    place.connector =
        std::sync::Arc::new(ostler_testkit::CutConnector::new(place.codex.socket()).unwrap());
    let lines = std::fs::read_to_string(&file).unwrap();
    let is_for_the_model =
        |line: &str| line.contains("\"response_item\"") && line.contains("\"trot\"");
    let at = lines.lines().position(is_for_the_model).unwrap();
    let kept: Vec<&str> = lines.lines().take(at + 1).collect();
    std::fs::write(&file, kept.join("\n") + "\n").unwrap();

    let inputs = vec![input(&id, "trot", InputState::MaybeSent)];
    let mut thread = place.rejoin(&name, settings, Recalled { inputs, ..left }).await;
    let result = thread.turn_end().await.unwrap();

    let class = result.failure().map(|failure| failure.class.clone());
    assert_eq!((class, result.inputs), (Some(FailureClass::ServerGone), vec![id]));
    assert_eq!(place.stage.model().requests_seen(), 2, "it was given again");
}
