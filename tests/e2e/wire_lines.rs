//! What Codex says about a thread is told as it came, if wanted, and before what it causes.

use ostler_codex::driver::{ThreadOptions, WireLines};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::thread::{Decided, Told};
use ostler_model::Decision;
use ostler_model::thread::{IfBusy, Update};
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::Value;

use crate::thread::workspace_write;
use crate::traps::sub_agents::{spawns, until_agent};
use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

/// The lines so far, with the place at which each was told.
fn lines(thread: &DrivenThread) -> Vec<(usize, Value)> {
    let lines = thread.seen.iter().enumerate().filter_map(|(at, told)| match &told.what {
        Told::Wire(line) => Some((at, serde_json::from_str(line.as_str()).unwrap())),
        _ => None,
    });
    lines.collect()
}

/// Where an update of this kind was told.
fn told(thread: &DrivenThread, is_it: impl Fn(&Update) -> bool) -> usize {
    let at = thread.seen.iter().position(|told| match &told.what {
        Told::Update(update) => is_it(update),
        _ => false,
    });
    at.unwrap()
}

#[rstest]
#[tokio::test]
async fn each_line_comes_before_what_it_causes(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(workspace_write(), ApprovalPolicy::Untrusted);
    let options = ThreadOptions { lines: WireLines::Told, ..ThreadOptions::default() };
    let mut thread = driven.thread(settings, options).await.unwrap();
    let ticket = thread.thread.send(crate::rejoin::says(PROMPT), IfBusy::Fail).await.unwrap();
    let (ask, _) = thread.ask().await.unwrap();
    let once = Decided { decision: Decision::Once, by: "test".into(), reason: None };
    thread.thread.answer(ask, once).await;
    ticket.outcome().await.unwrap();
    thread.turn_end().await.unwrap();

    let lines = lines(&thread);
    let place = |method: &str| lines.iter().find(|(_, it)| it["method"] == method).unwrap().0;
    let pairs = [
        (place("turn/started"), told(&thread, |it| matches!(it, Update::TurnBegan { .. }))),
        (place("item/completed"), told(&thread, |it| matches!(it, Update::ItemEnded { .. }))),
        (
            place("item/commandExecution/requestApproval"),
            told(&thread, |it| matches!(it, Update::AskOpened { .. })),
        ),
        (place("turn/completed"), told(&thread, |it| matches!(it, Update::TurnEnded { .. }))),
    ];
    assert!(pairs.iter().all(|(line, update)| line < update), "{pairs:?}");
    let request =
        lines.iter().find(|(_, it)| it["method"] == "item/commandExecution/requestApproval");
    assert!(request.unwrap().1["id"].is_number(), "the whole line, with its id");
    let deltas = lines.iter().filter(|(_, it)| it["method"] == "item/agentMessage/delta").count();
    let told = thread.updates().filter(|it| matches!(it, Update::Delta { .. })).count();
    assert!(deltas > 0 && deltas <= told, "{deltas} lines, {told} updates");
    let id = thread.thread.id().as_str();
    let foreign = lines.iter().find(|(_, it)| {
        let params = &it["params"];
        params["threadId"] != id && params["thread"]["id"] != id
    });
    assert_eq!(foreign, None, "a line that is not about the thread");
}

#[rstest]
#[tokio::test]
async fn nobody_is_told_lines_who_did_not_ask(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(workspace_write(), ApprovalPolicy::Never);
    let mut thread = driven.thread(settings, ThreadOptions::default()).await.unwrap();
    thread.run(crate::rejoin::says(PROMPT)).await.unwrap();

    assert_eq!(lines(&thread), []);
}

#[rstest]
#[tokio::test]
async fn the_lines_of_a_sub_agent_are_told_as_its_own(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([text("Delegated.")]);
    let conversations = vec![("muck out the stable", vec![text("Clean.")]), ("delegate", parent)];
    let place = crate::rejoin::Place::of(version, conversations).await;
    let options = ThreadOptions { lines: WireLines::Told, ..ThreadOptions::default() };
    let opened = place.driver().start_thread(place.asking(), options).await;
    let (handle, updates) = opened.unwrap();
    let mut thread = DrivenThread::new(handle, updates);
    thread.thread.send(crate::rejoin::says("delegate"), IfBusy::Fail).await.unwrap();
    let (agent, _) = until_agent(&mut thread, "the sub-agent's end", |update| {
        matches!(update, Update::TurnEnded { .. }).then_some(())
    })
    .await;

    let ended = thread.seen.iter().any(|told| match (&told.agent, &told.what) {
        (Some(speaker), Told::Wire(line)) => {
            let line: Value = serde_json::from_str(line.as_str()).unwrap();
            *speaker == agent && line["method"] == "turn/completed"
        }
        _ => false,
    });
    assert!(ended, "{:#?}", thread.seen);
}
