//! The app-server dies under the driver.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::{Notice, Told};
use ostler_model::thread::{AskEnd, IfBusy, Update, Withdrawal};
use ostler_model::{FailureClass, TurnEnd};
use rstest::rstest;

use super::{Scene, hangs, says, speaks};
use crate::{LEAVES_A_LINE, command, text};

#[rstest]
#[tokio::test]
async fn a_turn_ends_with_its_app_server_and_the_next_has_the_history(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("name the horse", vec![text("Bucephalus.")]),
        ("harness", vec![command(LEAVES_A_LINE), text("Never said.")]),
        ("then", vec![text("Then.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    let other = scene.free_thread(ThreadOptions::default()).await;
    thread.run(says("name the horse")).await.unwrap();
    let id = thread.thread.id().clone();
    let ticket = thread.thread.send(says("harness"), IfBusy::Fail).await.unwrap();
    let (ask, _) = thread.ask().await.unwrap();

    scene.kill();

    let result = thread.turn_end().await.unwrap();
    let failure = result.failure().unwrap_or_else(|| panic!("{result:?}"));
    assert_eq!((&failure.class, result.retire), (&FailureClass::ServerGone, true));
    assert_eq!(ticket.outcome().await.unwrap().result, result);
    let closed = thread.updates().find_map(|update| match update {
        Update::AskClosed { ask: closed, how } if *closed == ask => Some(how.clone()),
        _ => None,
    });
    assert_eq!(closed, Some(AskEnd::Withdrawn { reason: Withdrawal::Disconnected }));

    let next = thread.run(says("then")).await.unwrap();
    assert_eq!((&next.thread, next.result.final_answer.as_deref()), (&id, Some("Then.")));
    let told = scene.requests().last().unwrap().clone();
    for word in ["name the horse", "Bucephalus.", "harness", "then"] {
        assert!(told.contains(word), "the model was not told of {word:?}: {told}");
    }
    assert_eq!(scene.stage.lines("ran.log").len(), 0, "what was never allowed ran");
    // The other threads of the driver, and new ones, go on as well.
    let other = other.thread.run(says("then")).await.unwrap().result;
    assert_eq!(other.end, TurnEnd::Completed);
    let mut new = scene.free_thread(ThreadOptions::default()).await;
    assert_eq!(new.run(says("then")).await.unwrap().result.end, TurnEnd::Completed);
}

/// A thread that was never used has no file, so there is nothing to open again.
#[rstest]
#[tokio::test]
async fn a_thread_that_was_never_used_is_replaced(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("then", vec![text("Then.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let id = thread.thread.id().clone();

    scene.kill();
    thread
        .until("the loss", |it| matches!(it, Update::Disconnected { .. }).then_some(()))
        .await
        .unwrap();
    let outcome = thread.run(says("then")).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    let renewed = thread.seen.iter().find_map(|told| match &told.what {
        Told::Notice(Notice::Renewed { thread }) => Some(thread.clone()),
        _ => None,
    });
    assert_eq!(renewed.as_ref(), Some(&outcome.thread));
    assert_ne!(outcome.thread, id);
    // The handle keeps its name, and works on.
    assert_eq!(thread.run(says("then")).await.unwrap().thread, outcome.thread);
}

/// The second time its file is gone, too. A handle has the first of the three names.
#[rstest]
#[tokio::test]
async fn a_thread_that_was_replaced_twice_still_has_its_handle(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![("then", vec![text("Then.")]), ("wait", vec![hangs()])];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let first = thread.thread.id().clone();
    scene.kill();
    let lost = |update: &Update| matches!(update, Update::Disconnected { .. }).then_some(());
    thread.until("the loss", lost).await.unwrap();
    thread.thread.send(says("wait"), IfBusy::Queue).await.unwrap();
    let name = |notice: &Notice| match notice {
        Notice::Renewed { thread } => Some(thread.clone()),
        _ => None,
    };
    let second = thread.notice("the second thread", name).await.unwrap();
    scene.asked(1).await;
    let file = scene.stage.until_held(&second, "\"wait\"").await.unwrap();
    std::fs::remove_file(file).unwrap();

    scene.kill_latest();

    let died = thread.turn_end().await.unwrap();
    assert_eq!(died.failure().map(|it| &it.class), Some(&FailureClass::ServerGone));
    // Nothing waits to be said in it, so it is opened when there is.
    let outcome = thread.run(says("then")).await.unwrap();
    assert_eq!(outcome.result.final_answer.as_deref(), Some("Then."));
    let renewed = thread.seen.iter().filter_map(|told| match &told.what {
        Told::Notice(notice) => name(notice),
        _ => None,
    });
    assert_eq!(renewed.collect::<Vec<_>>(), [second.clone(), outcome.thread.clone()]);
    assert!(outcome.thread != second && outcome.thread != first && second != first);
    assert_eq!(thread.run(says("then")).await.unwrap().thread, outcome.thread);
}

/// Codex up to 0.142.5 gives a thread that it opens again the defaults of its folder, which are wide in one it trusts.
#[rstest]
#[tokio::test]
async fn a_thread_that_was_opened_again_has_no_more_rights(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let conversations = vec![
        ("warm up", vec![text("Warm.")]),
        ("harness", vec![command(LEAVES_A_LINE), text("Not then.")]),
        ("wait", vec![hangs()]),
    ];
    let scene = Scene::of(version, conversations).await;
    // A writable thread makes Codex trust the folder.
    let mut wide = scene.asking_thread(ThreadOptions::default()).await;
    wide.run(says("warm up")).await.unwrap();
    let read_only = SandboxPolicy::ReadOnly { network_access: false };
    let settings = scene.stage.settings(read_only, ApprovalPolicy::Untrusted);
    let mut narrow = scene.driven.thread(settings, ThreadOptions::default()).await.unwrap();
    narrow.run(says("warm up")).await.unwrap();

    scene.kill();
    narrow.thread.decide_with_nobody().await;
    let result = narrow.run(says("harness")).await.unwrap().result;

    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(scene.stage.lines("ran.log").len(), 0, "it ran without being allowed");
    let asked = narrow.updates().filter(|it| matches!(it, Update::AskOpened { .. })).count();
    assert_eq!(asked, 1);
    let told = scene.requests().last().unwrap().clone();
    assert!(told.contains("`sandbox_mode` is `read-only`"), "{told}");
}

/// Words that came before the death are not lost.
#[rstest]
#[tokio::test]
async fn what_was_said_before_the_death_is_in_the_outcome(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("trot", vec![super::breaks_off()])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(says("trot"), IfBusy::Fail).await.unwrap();
    speaks(&mut thread).await;

    scene.kill();

    let outcome = ticket.outcome().await.unwrap();
    assert_eq!(outcome.result.failure().map(|it| &it.class), Some(&FailureClass::ServerGone));
    let said: String = outcome.messages.iter().filter_map(|it| it.content.clone()).collect();
    assert!(said.starts_with("One"), "{said:?}");
}
