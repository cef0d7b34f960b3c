use std::time::{Duration, Instant};

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::command::BackgroundTerminalsClean;
use ostler_codex::protocol::request::turn::TurnInterrupt;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_codex::protocol::{ItemBody, Notification};
use rstest::rstest;

use crate::{PROMPT, command, stage, text};

/// Whether a process with this word in its command line runs.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("sleep") && line.contains(word)
    })
}

#[rstest]
#[tokio::test]
async fn an_interrupt_ends_the_turn_and_cleaning_ends_its_command(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // A number of seconds that nobody else sleeps.
    let seconds = format!("{}.{}", 5000 + std::process::id() % 1000, version.replace('.', ""));
    let stage = stage(version, vec![command(&format!("sleep {seconds}")), text("Never said.")]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::DangerFullAccess, ApprovalPolicy::Never).await.unwrap();
    let turn = client.start_turn(&thread, PROMPT).await.unwrap();
    let is_command = |notification: &Notification<'_>| match notification {
        Notification::ItemStarted(event) => {
            matches!(event.item.body, ItemBody::CommandExecution(_))
        }
        _ => false,
    };
    client.until("the command's start", is_command).await.unwrap();
    wait_until(|| runs(&seconds)).await;

    let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn.clone() };
    client.server.call(&interrupt).await.unwrap();
    let ended = client.turn_end(&thread).await.unwrap();
    assert_eq!((ended.id, ended.status), (Some(turn), Some(TurnStatus::Interrupted)));

    // Codex lets the command live on after an interrupt.
    client.server.call(&BackgroundTerminalsClean { thread_id: thread.clone() }).await.unwrap();
    wait_until(|| !runs(&seconds)).await;
    assert_eq!(stage.model().requests_seen(), 1, "the model was asked again");
}

async fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
