//! Our connection breaks, and the app-server lives on.

use std::sync::Arc;
use std::time::Duration;

use ostler_codex::driver::{Driver, DriverSettings, DriverTask, ThreadOptions};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::words::ThreadState;
use ostler_model::thread::{AskEnd, IfBusy, Update, Withdrawal};
use ostler_model::{FailureClass, ThreadId, TurnEnd};
use ostler_scripted_model::{Answer, Outcome};
use ostler_testkit::{CutConnector, DrivenThread, KeptCodex, Stage};
use rstest::rstest;

use super::sub_agents::{spawns, until_agent};
use super::{
    INTERRUPTED_WITHIN, breaks_off, by_test, hangs, once, says, set, speaks, turn_began,
    workspace_write,
};
use crate::{LEAVES_A_LINE, command, text};

/// A driver on a wire that can be cut.
struct Wired {
    driver: Driver,
    _task: DriverTask,
    connector: Arc<CutConnector>,
    codex: KeptCodex,
    stage: Stage,
}

impl Wired {
    async fn of(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Self {
        let stage = set(version, "", conversations);
        let codex = stage.codex().await.unwrap();
        let connector = Arc::new(CutConnector::new(codex.socket()).unwrap());
        let settings = DriverSettings::default();
        let (driver, task) = Driver::start(connector.clone(), settings).await.unwrap();
        Self { driver, _task: task, connector, codex, stage }
    }

    async fn thread(&self) -> DrivenThread {
        let settings = self.stage.settings(workspace_write(), ApprovalPolicy::Untrusted);
        let opened = self.driver.start_thread(settings, ThreadOptions::default()).await;
        let (thread, updates) = opened.unwrap();
        DrivenThread::new(thread, updates)
    }

    async fn ephemeral(&self) -> DrivenThread {
        let mut settings =
            self.stage.settings(SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never);
        settings.ephemeral = true;
        let opened = self.driver.start_thread(settings, ThreadOptions::default()).await;
        let (thread, updates) = opened.unwrap();
        DrivenThread::new(thread, updates)
    }

    async fn asked(&self, times: u64) {
        let asked = self.stage.model().wait_for_requests(times, Duration::from_secs(60)).await;
        asked.unwrap();
    }
}

fn count(thread: &DrivenThread, is_it: impl Fn(&Update) -> bool) -> usize {
    thread.updates().filter(|update| is_it(update)).count()
}

async fn reconnected(thread: &mut DrivenThread) {
    let back = thread
        .until("the new connection", |update| matches!(update, Update::Reconnected).then_some(()));
    back.await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_turn_goes_on_over_a_new_connection_and_its_ask_comes_back(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), text("Harnessed.")];
    let wired = Wired::of(version, vec![("harness", answers)]).await;
    let mut thread = wired.thread().await;
    let ticket = thread.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (before, _) = thread.ask().await.unwrap();

    wired.connector.cut();
    let (again, _) = thread.ask().await.unwrap();
    // The old name means nothing any more.
    thread.thread.answer(before.clone(), once()).await;
    thread.thread.answer(again.clone(), once()).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Harnessed."))
    );
    assert_eq!(ticket.outcome().await.unwrap().result, result);
    assert_eq!(wired.stage.lines("ran.log"), ["ran"], "exactly once");
    assert_eq!(count(&thread, |it| matches!(it, Update::Reconnected)), 1);
    assert_eq!(count(&thread, |it| matches!(it, Update::TurnEnded { .. })), 1);
    assert_eq!(count(&thread, |it| matches!(it, Update::TurnBegan { .. })), 1);
    let ends: Vec<_> = thread
        .updates()
        .filter_map(|update| match update {
            Update::AskClosed { ask, how } => Some((ask.clone(), how.clone())),
            _ => None,
        })
        .collect();
    let decided = AskEnd::Decided { decision: ostler_model::Decision::Once, by: "the test".into() };
    let withdrawn = AskEnd::Withdrawn { reason: Withdrawal::Disconnected };
    assert_eq!(ends, [(before, withdrawn), (again, decided)]);
}

/// Codex re-sends only the asks of threads that were joined again, so sub-agents are joined like their parents.
#[rstest]
#[tokio::test]
async fn the_ask_of_a_sub_agent_comes_back_too(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([text("Delegated.")]);
    let child = vec![command(LEAVES_A_LINE), text("Clean.")];
    let conversations = vec![("muck out the stable", child), ("delegate", parent)];
    let wired = Wired::of(version, conversations).await;
    let mut thread = wired.thread().await;
    thread.thread.send(says("delegate"), IfBusy::Fail).await.unwrap();
    let asked = |update: &Update| match update {
        Update::AskOpened { ask, .. } => Some(ask.clone()),
        _ => None,
    };
    let (agent, before) = until_agent(&mut thread, "the ask", asked).await;

    wired.connector.cut();
    let (again, ask) = until_agent(&mut thread, "the ask again", asked).await;
    thread.thread.answer(ask.clone(), once()).await;
    let (_, result) = until_agent(&mut thread, "the sub-agent's end", |update| match update {
        Update::TurnEnded { result } => Some(result.clone()),
        _ => None,
    })
    .await;

    assert_eq!(again, agent);
    assert_ne!(ask, before);
    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Clean."))
    );
    assert_eq!(wired.stage.lines("ran.log"), ["ran"]);
}

/// All that was missed is told: the end, and the answer.
#[rstest]
#[tokio::test]
async fn a_turn_that_ended_meanwhile_is_told_with_its_answer(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let wired = Wired::of(version, vec![("trot", vec![text("Trotted.")])]).await;
    wired.stage.model().hold_answers();
    let mut thread = wired.thread().await;
    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    turn_began(&mut thread).await;
    wired.asked(1).await;

    wired.connector.close();
    wired.connector.cut();
    thread
        .until("the loss", |it| matches!(it, Update::Disconnected { .. }).then_some(()))
        .await
        .unwrap();
    wired.stage.model().release_answers();
    ended_without_us(&wired, &thread).await;
    wired.connector.open();

    let result = thread.turn_end().await.unwrap();
    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Trotted."))
    );
    let outcome = ticket.outcome().await.unwrap();
    assert_eq!(outcome.result, result);
    assert_eq!(outcome.messages, [ostler_model::Message::assistant("Trotted.".into())]);
    assert_eq!(count(&thread, |it| matches!(it, Update::TurnEnded { .. })), 1);
}

/// Waits until the model's last answer is out and the thread is at rest.
async fn ended_without_us(wired: &Wired, thread: &DrivenThread) {
    let finished = |records: &[ostler_scripted_model::RequestRecord]| {
        records.last().is_some_and(|record| record.outcome == Outcome::Finished)
    };
    wired.stage.model().wait_until(Duration::from_secs(30), finished).await.unwrap();
    at_rest(wired, thread.thread.id()).await;
}

/// Waits, by another client's eyes, until no turn of the thread runs.
async fn at_rest(wired: &Wired, thread: &ThreadId) {
    let watcher = wired.stage.client(&wired.codex).await.unwrap();
    let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let status = watcher.server.call(&read).await.unwrap().thread.status.unwrap();
        if status.state == ThreadState::Idle {
            return watcher.close().await;
        }
        assert!(std::time::Instant::now() < deadline, "{status:?}");
    }
}

/// The answer to `turn/start` is lost: nobody knows whether Codex has the input. It has.
#[rstest]
#[tokio::test]
async fn an_input_whose_answer_was_lost_is_not_sent_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("new", "used")] thread_is: &str,
) {
    let wired = Wired::of(
        version,
        vec![("warm up", vec![text("Warm.")]), ("trot", vec![text("Trotted."), text("Twice!")])],
    )
    .await;
    let mut thread = wired.thread().await;
    let mut before = 0;
    if thread_is == "used" {
        thread.run(says("warm up")).await.unwrap();
        before = 1;
    }
    wired.stage.model().hold_answers();
    wired.connector.deafen();

    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    wired.asked(before + 1).await;
    wired.connector.cut();
    reconnected(&mut thread).await;
    wired.stage.model().release_answers();
    let result = ticket.outcome().await.unwrap().result;

    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Trotted."))
    );
    assert_eq!(wired.stage.model().requests_seen(), before + 1, "the model was asked twice");
    assert_eq!(thread.turn_end().await.unwrap(), result);
}

/// The same, and the turn is over before we are back.
#[rstest]
#[tokio::test]
async fn an_input_that_was_answered_in_our_absence_is_not_sent_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let wired = Wired::of(
        version,
        vec![("warm up", vec![text("Warm.")]), ("trot", vec![text("Trotted."), text("Twice!")])],
    )
    .await;
    let mut thread = wired.thread().await;
    thread.run(says("warm up")).await.unwrap();
    wired.connector.deafen();
    wired.connector.close();

    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    wired.asked(2).await;
    ended_without_us(&wired, &thread).await;
    wired.connector.cut();
    wired.connector.open();
    let result = ticket.outcome().await.unwrap().result;

    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Trotted."))
    );
    assert_eq!(wired.stage.model().requests_seen(), 2, "the model was asked twice");
}

/// The input was written and never arrived: it is sent again, once.
#[rstest]
#[tokio::test]
async fn an_input_that_never_arrived_is_sent_again_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let wired = Wired::of(version, vec![("trot", vec![text("Trotted."), text("Twice!")])]).await;
    let mut thread = wired.thread().await;
    wired.connector.mute();

    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    wired.connector.cut();
    let result = ticket.outcome().await.unwrap().result;

    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Trotted."))
    );
    assert_eq!(wired.stage.model().requests_seen(), 1);
    assert_eq!(wired.connector.connections(), 2);
    assert_eq!(thread.turn_end().await.unwrap(), result);
}

/// Who interrupts while the connection is gone, interrupts all the same.
#[rstest]
#[tokio::test]
async fn an_interrupt_without_a_connection_is_carried_out_later(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let wired = Wired::of(version, vec![("wait", vec![hangs()])]).await;
    let mut thread = wired.thread().await;
    let ticket = thread.thread.send(says("wait"), IfBusy::Fail).await.unwrap();
    turn_began(&mut thread).await;
    wired.asked(1).await;
    wired.connector.close();
    wired.connector.cut();
    thread
        .until("the loss", |it| matches!(it, Update::Disconnected { .. }).then_some(()))
        .await
        .unwrap();

    let handle = thread.thread.clone();
    let (_, ()) = tokio::join!(handle.interrupt("the test"), async { wired.connector.open() });

    let result = ticket.outcome().await.unwrap().result;
    assert_eq!((result.end, result.retire), (by_test(), false));
    assert!(
        u128::from(result.elapsed_ms) < INTERRUPTED_WITHIN.as_millis(),
        "{}",
        result.elapsed_ms
    );
}

/// Codex lets nobody join an ephemeral thread again. So its turn is ended, and the next has the conversation.
#[rstest]
#[tokio::test]
async fn a_turn_of_an_ephemeral_thread_ends_with_the_connection(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("trot", vec![breaks_off()]), ("then", vec![text("Then.")])];
    let wired = Wired::of(version, conversations).await;
    let mut thread = wired.ephemeral().await;
    let ephemeral = thread.thread.id().clone();
    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    wired.connector.cut();
    let result = ticket.outcome().await.unwrap().result;

    let failure = result.failure().unwrap_or_else(|| panic!("{result:?}"));
    assert_eq!((&failure.class, result.retire), (&FailureClass::ServerGone, true));
    assert!(failure.message.contains("lets nobody join an ephemeral thread"), "{failure:?}");
    // It does not run on unheard.
    at_rest(&wired, &ephemeral).await;
    let then = thread.thread.run(says("then")).await.unwrap().result;
    assert_eq!(then.end, TurnEnd::Completed);
    let last = wired.stage.model().requests().last().unwrap().json().to_string();
    assert!(last.contains("trot"), "{last}");
}
