//! One thread through the driver: turns, asks, steering, interrupting.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::{Decided, TurnInput};
use ostler_model::thread::{AskEnd, IfBusy, Update};
use ostler_model::{AskKind, Decision, Interrupter, Message, TurnEnd};
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

pub(crate) fn workspace_write() -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    }
}

#[rstest]
#[tokio::test]
async fn a_turn_is_answered(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = stage(version, vec![text("Harnessed.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(workspace_write(), ApprovalPolicy::Never);
    let mut thread = driven.thread(settings, ThreadOptions::default()).await.unwrap();

    let outcome = thread.run(TurnInput::text(PROMPT)).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    assert_eq!(outcome.result.final_answer.as_deref(), Some("Harnessed."));
    assert_eq!(outcome.messages, [Message::assistant("Harnessed.".into())]);
    assert_eq!(outcome.result.usage.calls, 1);
}

#[rstest]
#[tokio::test]
async fn an_ask_is_answered_and_the_command_runs(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(workspace_write(), ApprovalPolicy::Untrusted);
    let mut thread = driven.thread(settings, ThreadOptions::default()).await.unwrap();
    let ticket = thread.thread.send(TurnInput::text(PROMPT), IfBusy::Fail).await.unwrap();

    let (id, ask) = thread.ask().await.unwrap();
    assert!(matches!(ask.kind, AskKind::Command(_)), "{ask:?}");
    assert_eq!(stage.lines("ran.log").len(), 0);
    let once = Decided { decision: Decision::Once, by: "test".into(), reason: None };
    thread.thread.answer(id.clone(), once).await;
    let result = thread.turn_end().await.unwrap();

    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(stage.lines("ran.log").len(), 1);
    let closed = thread.updates().find_map(|update| match update {
        Update::AskClosed { ask, how } => Some((ask.clone(), how.clone())),
        _ => None,
    });
    let decided = AskEnd::Decided { decision: Decision::Once, by: "test".into() };
    assert_eq!(closed, Some((id, decided)));
    let outcome = ticket.outcome().await.unwrap();
    let roles: Vec<_> = outcome.messages.iter().map(|message| message.role).collect();
    use ostler_model::message::Role;
    assert_eq!(roles, [Role::Assistant, Role::Tool, Role::Assistant]);
}

#[rstest]
#[tokio::test]
async fn an_interrupt_ends_the_turn_and_its_command(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command("sleep 4321"), text("Never said.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never);
    let mut thread = driven.thread(settings, ThreadOptions::default()).await.unwrap();
    let ticket = thread.thread.send(TurnInput::text(PROMPT), IfBusy::Fail).await.unwrap();
    thread
        .until("the command", |update| match update {
            Update::ItemBegan { item, .. } => item.is_tool().then_some(()),
            _ => None,
        })
        .await
        .unwrap();

    thread.thread.interrupt("the test").await;

    let outcome = ticket.outcome().await.unwrap();
    let by = Interrupter::Caller { name: "the test".into() };
    assert_eq!(outcome.result.end, TurnEnd::Interrupted { by });
}

#[rstest]
#[tokio::test]
async fn a_closed_thread_can_be_opened_again_at_once(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![text("Harnessed.")]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(workspace_write(), ApprovalPolicy::Never);
    let mut thread = driven.thread(settings.clone(), ThreadOptions::default()).await.unwrap();
    thread.run(TurnInput::text(PROMPT)).await.unwrap();
    // If Codex turned away from us after we came back, the next turn would never be heard of.
    for _ in 0..5 {
        let id = thread.thread.id().clone();
        thread.thread.close().await;
        let again = driven.driver.resume_thread(&id, settings.clone(), ThreadOptions::default());
        let (handle, updates) = again.await.unwrap();
        thread = ostler_testkit::DrivenThread::new(handle, updates);
        let outcome = thread.run(TurnInput::text(PROMPT)).await.unwrap();
        assert_eq!(outcome.result.end, TurnEnd::Completed);
    }
}
