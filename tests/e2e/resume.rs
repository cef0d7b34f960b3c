use ostler_codex::keeper::{self, Condition};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::settings::{SandboxMode, SandboxPolicy};
use ostler_codex::protocol::words::TurnStatus;
use ostler_model::Decision;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

#[rstest]
#[tokio::test]
async fn after_sigkill_a_thread_goes_on_in_a_new_app_server(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![command(LEAVES_A_LINE), command(LEAVES_A_LINE), text("Back in harness.")];
    let stage = stage(version, answers);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();
    client.question().await.unwrap();

    kill_process(Pid::from_raw(codex.pid().unwrap()).unwrap(), Signal::KILL).unwrap();
    let closed = loop {
        match client.next("the end of the connection").await.unwrap() {
            ostler_codex::peer::Event::Closed(closed) => break closed,
            _ => continue,
        }
    };
    assert!(!matches!(closed, ostler_codex::peer::Closed::ByUs), "{closed}");
    let ended = keeper_end(&codex).await;
    assert_eq!(ended, "signal 9");

    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let resume = ThreadResume {
        sandbox: Some(SandboxMode::WorkspaceWrite),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        cwd: Some(stage.workspace().display().to_string()),
        ..ThreadResume::new(thread.clone())
    };
    let opened = client.server.call(&resume).await.unwrap();
    assert_eq!(opened.thread_id(), Some(&thread));
    assert!(matches!(opened.sandbox, Some(SandboxPolicy::WorkspaceWrite { .. })), "{opened:?}");
    assert_eq!(opened.approval_policy, Some(ApprovalPolicy::Untrusted));
    let read = ThreadRead { thread_id: thread.clone(), include_turns: true };
    let turns = client.server.call(&read).await.unwrap().thread.turns;
    let statuses: Vec<_> = turns.into_iter().map(|turn| turn.status.unwrap()).collect();
    assert_eq!(statuses, [TurnStatus::Interrupted]);

    client.start_turn(&thread, "go on, please").await.unwrap();
    let question = client.question().await.unwrap();
    client.answer(&question, &Decision::Once).await.unwrap();
    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    assert_eq!(stage.lines("ran.log"), ["ran"], "what was never allowed never ran");
    let request = stage.model().requests().last().unwrap().json().to_string();
    assert!(request.contains(PROMPT) && request.contains("go on, please"), "{request}");
}

/// How the keeper says its Codex ended, as soon as it does.
async fn keeper_end(codex: &ostler_testkit::KeptCodex) -> String {
    let root = codex.found.folder.path().parent().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let found = keeper::find(root, codex.found.folder.id().as_str()).unwrap();
        if let Condition::Ended(ended) = &found.condition {
            return ended.exit.to_string();
        }
        assert!(std::time::Instant::now() < deadline, "{found:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
