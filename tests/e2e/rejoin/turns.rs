//! A turn that ran when its driver went.

use std::time::Duration;

use ostler_codex::driver::{Driver, DriverSettings, KeeperConnector, ThreadOptions};
use ostler_codex::peer::PeerSettings;
use ostler_codex::thread::{Decided, InputState, Recalled};
use ostler_model::item::Outcome;
use ostler_model::thread::{AskEnd, IfBusy, Update};
use ostler_model::{Decision, FailureClass, InputId, Interrupter, ItemBody, TurnEnd};
use ostler_scripted_model::{Answer, Call, Fault};
use ostler_testkit::{DrivenThread, recalled};
use rstest::rstest;
use serde_json::json;

use super::{Place, ended, input, names, nothing_twice, says};
use crate::{LEAVES_A_LINE, command, text};

/// A command that ends when the file is there.
const WAITS: &str = "sh -c 'until test -e go; do sleep 0.05; done; echo ran >> ran.log'";

fn waits() -> Answer {
    let call = Call::function("exec_command", json!({"cmd": WAITS, "yield_time_ms": 30_000}));
    Answer { calls: vec![call], ..Answer::default() }
}

fn hangs() -> Answer {
    Answer { fault: Some(Fault::HangBeforeHeaders { for_ms: None }), ..text("Never said.") }
}

async fn tool_began(thread: &mut DrivenThread) {
    let began = thread.until("a command", |update| match update {
        Update::ItemBegan { item, .. } => item.is_tool().then_some(()),
        _ => None,
    });
    began.await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_turn_that_waits_for_an_answer_is_taken_up_where_it_was(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Harnessed.")];
    let mut place = Place::of(version, vec![("harness", answers)]).await;
    let mut thread = place.thread(place.asking()).await;
    let ticket = thread.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (_, asked) = thread.ask().await.unwrap();
    let given = ticket.input.clone();
    let settings = place.asking();

    let (id, before) = place.kill(thread).await;
    let mut thread = place.rejoin(&id, settings, recalled(&before)).await;
    let (ask, again) = thread.ask().await.unwrap();
    assert_eq!((&again.kind, &again.turn, &again.item), (&asked.kind, &asked.turn, &asked.item));
    let once = Decided { decision: Decision::Once, by: "the test".into(), reason: None };
    thread.thread.answer(ask, once).await;
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs, result.tool_iterations);
    assert_eq!(whole, (TurnEnd::Completed, Some("Harnessed."), vec![given], 1));
    assert!(result.elapsed_ms >= 1000, "the time before counts: {}", result.elapsed_ms);
    assert_eq!(result.usage.calls, 2);
    assert_eq!(place.stage.lines("ran.log"), ["ran"], "exactly once");
    let expected = [
        "disconnected",
        "reconnected",
        "ask_opened",
        "ask_closed",
        "item_ended",
        "item_began",
        "item_ended",
        "turn_ended",
    ];
    // Up to 0.142.5 a command is told as ended after the message that speaks of it.
    let sorted = |mut names: Vec<String>| {
        // From 0.142.5 on Codex says after each resume that there is no goal.
        names.retain(|name| name != "goal");
        names.sort();
        names
    };
    assert_eq!(sorted(names(&thread)), sorted(expected.map(str::to_owned).to_vec()));
    nothing_twice(&before, &thread.seen);
    let closed = thread.updates().find_map(|update| match update {
        Update::AskClosed { how, .. } => Some(how.clone()),
        _ => None,
    });
    let decided = AskEnd::Decided { decision: Decision::Once, by: "the test".into() };
    assert_eq!(closed, Some(decided));
}

/// All that was missed is told, and the result is that of the whole turn.
#[rstest]
#[tokio::test]
async fn a_turn_that_ended_meanwhile_is_told_to_its_end(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let said = Answer { text: Some("First I wait.".into()), ..waits() };
    let mut place = Place::of(version, vec![("wait", vec![said, text("Waited.")])]).await;
    let mut thread = place.thread(place.free()).await;
    let ticket = thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    let given = ticket.input.clone();
    tool_began(&mut thread).await;
    let settings = place.free();

    let (id, before) = place.kill(thread).await;
    std::fs::write(place.stage.workspace().join("go"), "").unwrap();
    place.asked(2).await;
    place.at_rest(&id).await;
    let mut thread = place.rejoin(&id, settings, recalled(&before)).await;
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.inputs, result.tool_iterations);
    assert_eq!(whole, (TurnEnd::Completed, Some("Waited."), vec![given], 1));
    assert_eq!(place.stage.lines("ran.log"), ["ran"], "exactly once");
    nothing_twice(&before, &thread.seen);
    let said: Vec<String> = ended(&thread.seen).into_iter().map(|(_, said)| said).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    let is_command = |said: &String| said.contains("ran.log");
    assert!(said.iter().any(is_command) && said.contains(&"Waited.".to_owned()), "{said:?}");
    let outcome = thread.updates().find_map(|update| match update {
        Update::ItemEnded { item, .. } => match &item.body {
            ItemBody::Command(command) => Some(command.outcome.clone()),
            _ => None,
        },
        _ => None,
    });
    // Up to 0.142.5 Codex lists no commands; its file has them.
    assert_eq!(outcome, Some(Outcome::Succeeded));
    let told = names(&thread);
    assert_eq!(told.iter().filter(|it| *it == "turn_ended").count(), 1, "{told:?}");
    assert!(!told.contains(&"turn_began".to_owned()), "{told:?}");
}

/// The app-server died as well: the turn is lost, the thread and what waits are not.
#[rstest]
#[tokio::test]
async fn a_turn_whose_app_server_died_too_is_lost_and_what_waits_goes_on(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("warm up", vec![text("Warm.")]),
        ("wait", vec![waits()]),
        ("then", vec![text("Then.")]),
    ];
    let mut place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    thread.run(says("warm up")).await.unwrap();
    thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    tool_began(&mut thread).await;
    let settings = place.free();

    let (id, before) = place.kill(thread).await;
    let pid = rustix::process::Pid::from_raw(place.codex.pid().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let keeper = place.codex.found.folder.id().clone();
    let start = place.stage.start_keeper().unwrap();
    let connector = KeeperConnector::new(start, PeerSettings::default()).at(keeper);
    let connector = std::sync::Arc::new(connector);
    let driver = Driver::start(connector.clone(), DriverSettings::default()).await.unwrap();
    let queued = InputId::new("8a1c0000-0000-7000-8000-000000000001");
    let known =
        Recalled { inputs: vec![input(&queued, "then", InputState::Queued)], ..recalled(&before) };
    let options = ThreadOptions::default();
    let rejoined = driver.0.rejoin_thread(&id, settings, options, known).await;
    let (handle, updates) = rejoined.unwrap();
    let mut thread = DrivenThread::new(handle, updates);
    let lost = thread.turn_end().await.unwrap();
    let then = thread.turn_end().await.unwrap();
    let other = connector.keeper().unwrap();
    place.codex.ostler(&["keeper", "stop", "--now", other.as_str()]).unwrap();

    let failure = lost.failure().unwrap_or_else(|| panic!("{lost:?}"));
    assert_eq!((&failure.class, lost.retire), (&FailureClass::ServerGone, true));
    let whole = (then.end, then.final_answer.as_deref(), then.inputs);
    assert_eq!(whole, (TurnEnd::Completed, Some("Then."), vec![queued]));
    assert_eq!(thread.thread.id(), &id);
    let last = place.stage.model().requests().last().unwrap().json().to_string();
    assert!(last.contains("warm up"), "the history is there: {last}");
}

/// Whoever wanted the turn to end when the driver went, gets that.
#[rstest]
#[tokio::test]
async fn an_interrupt_is_carried_out_later(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut place = Place::of(version, vec![("wait", vec![hangs()])]).await;
    let mut thread = place.thread(place.free()).await;
    thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    thread
        .until("the turn", |it| matches!(it, Update::TurnBegan { .. }).then_some(()))
        .await
        .unwrap();
    place.asked(1).await;
    let settings = place.free();

    let (id, before) = place.kill(thread).await;
    let by = Interrupter::Caller { name: "ann".into() };
    let known = Recalled { interrupted_by: Some(by.clone()), ..recalled(&before) };
    let mut thread = place.rejoin(&id, settings, known).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.retire), (TurnEnd::Interrupted { by }, false));
}

/// A thread that rests is let go, and taken up again by whoever has the next input for it.
#[rstest]
#[tokio::test]
async fn a_thread_that_was_closed_is_taken_up_again_by_the_same_driver(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let place = Place::of(version, vec![("trot", vec![text("Trotted.")])]).await;
    let mut thread = place.thread(place.free()).await;
    thread.run(says("trot")).await.unwrap();
    let id = thread.thread.id().clone();
    for round in 0..3 {
        let DrivenThread { thread: handle, seen, .. } = thread;
        handle.close().await;
        let queued = InputId::new(format!("8a1c0000-0000-7000-8000-00000000000{round}"));
        let known = Recalled {
            inputs: vec![input(&queued, "trot", InputState::Queued)],
            ..recalled(&seen)
        };
        let options = ThreadOptions::default();
        let again = place.driver().rejoin_thread(&id, place.free(), options, known).await;
        let (handle, updates) = again.unwrap();
        thread = DrivenThread::new(handle, updates);
        let result = thread.turn_end().await.unwrap();
        assert_eq!((result.end, result.inputs), (TurnEnd::Completed, vec![queued]));
    }
    assert_eq!(place.stage.model().requests_seen(), 4);
}

/// A turn goes on without us when its thread is closed, and is told from where we left it.
#[rstest]
#[tokio::test]
async fn a_thread_that_was_closed_in_a_turn_is_taken_up_where_it_was(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let place = Place::of(version, vec![("wait", vec![waits(), text("Waited.")])]).await;
    let mut thread = place.thread(place.free()).await;
    thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    tool_began(&mut thread).await;
    let DrivenThread { thread: handle, seen, .. } = thread;
    let id = handle.id().clone();
    handle.close().await;

    let options = ThreadOptions::default();
    let again = place.driver().rejoin_thread(&id, place.free(), options, recalled(&seen)).await;
    let (handle, updates) = again.unwrap();
    let mut thread = DrivenThread::new(handle, updates);
    std::fs::write(place.stage.workspace().join("go"), "").unwrap();
    let result = thread.turn_end().await.unwrap();

    let whole = (result.end, result.final_answer.as_deref(), result.tool_iterations);
    assert_eq!(whole, (TurnEnd::Completed, Some("Waited."), 1));
    nothing_twice(&seen, &thread.seen);
    assert!(!names(&thread).contains(&"turn_began".to_owned()));
}

/// Whoever comes back in the last moments of a turn, or right after them, has its answer.
#[rstest]
#[tokio::test]
async fn a_turn_that_ends_while_its_driver_comes_back_has_its_answer(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    /// From one moment of the return to the next, after the model is let speak: Codex needs some 50 ms to the turn's end.
    const BETWEEN: Duration = Duration::from_millis(4);
    const ROUNDS: u32 = 32;
    let prompts: Vec<String> = (0..ROUNDS).map(|round| format!("trot {round:02}")).collect();
    let answers =
        prompts.iter().map(|prompt| (prompt.as_str(), vec![text(&format!("{prompt}: done."))]));
    let mut place = Place::of(version, answers.collect()).await;
    for (round, prompt) in (0..ROUNDS).zip(&prompts) {
        place.stage.model().hold_answers();
        let mut thread = place.thread(place.free()).await;
        thread.thread.send(says(prompt), IfBusy::Fail).await.unwrap();
        place.asked(u64::from(round) + 1).await;
        let began = thread
            .until("the turn", |update| matches!(update, Update::InputTaken { .. }).then_some(()));
        began.await.unwrap();
        let settings = place.free();

        let (id, before) = place.kill(thread).await;
        place.stage.model().release_answers();
        tokio::time::sleep(BETWEEN * round).await;
        let mut thread = place.rejoin(&id, settings, recalled(&before)).await;
        let result = thread.turn_end().await.unwrap();

        let wanted = Some(format!("{prompt}: done."));
        assert_eq!((result.end, result.final_answer), (TurnEnd::Completed, wanted), "{round}");
        nothing_twice(&before, &thread.seen);
    }
}

/// Codex up to 0.142.5 lists such a turn as completed once another process has loaded the thread.
#[rstest]
#[tokio::test]
async fn a_turn_that_failed_unheard_has_failed_in_another_app_server_too(
    #[values("0.130.0", "0.142.5", "0.166.0", "0.169.0")] version: &str,
    #[values(false, true)] has_worked: bool,
) {
    let refused =
        Fault::Status { status: 401, code: None, message: None, retry_after_s: None, body: None };
    let refused = Answer { fault: Some(refused), ..Answer::default() };
    let answers = match has_worked {
        true => vec![command("true"), refused.clone(), refused.clone(), refused],
        false => vec![refused.clone(), refused.clone(), refused],
    };
    let conversations = vec![("warm up", vec![text("Warm.")]), ("trot", answers)];
    let mut place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.free()).await;
    thread.run(says("warm up")).await.unwrap();
    let left = recalled(&thread.seen);
    place.connector.deafen();
    let id = InputId::new("8a1c0000-0000-7000-8000-000000000001");
    thread.thread.send_as(id.clone(), says("trot"), IfBusy::Fail).await.unwrap();
    let has_ended = |text: &str| text.matches("\"task_complete\"").count() == 2;
    place.stage.until_file(thread.thread.id(), has_ended).await.unwrap();
    let settings = place.free();
    let (name, _) = place.kill(thread).await;
    let pid = rustix::process::Pid::from_raw(place.codex.pid().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    drop(std::mem::replace(&mut place.codex, place.stage.codex().await.unwrap()));
    place.connector =
        std::sync::Arc::new(ostler_testkit::CutConnector::new(place.codex.socket()).unwrap());
    let inputs = vec![input(&id, "trot", InputState::MaybeSent)];
    let mut thread = place.rejoin(&name, settings, Recalled { inputs, ..left }).await;
    let result = thread.turn_end().await.unwrap();

    assert!(matches!(result.end, TurnEnd::Failed { .. }), "{:?}", result.end);
    assert_eq!(result.inputs, vec![id]);
}
