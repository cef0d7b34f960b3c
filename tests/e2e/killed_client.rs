use std::path::Path;
use std::process::Stdio;

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_model::{Decision, ThreadId};
use ostler_testkit::Client;
use rstest::rstest;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

/// In the environment of the test's second self: be the client that gets killed. Holds socket and workspace.
const SECOND_SELF: &str = "OSTLER_TEST_CLIENT";
/// How the second self says that its question is open.
const WAITING: &str = "waiting in thread ";

#[rstest]
#[tokio::test]
async fn a_question_outlives_the_client_that_was_asked(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    if let Some((socket, workspace)) = second_self() {
        return wait_for_ever(Path::new(&socket), Path::new(&workspace)).await;
    }
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Nothing was lost.")]);
    let codex = stage.codex().await.unwrap();

    let test = std::thread::current().name().unwrap().to_owned();
    let mut doomed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(SECOND_SELF, format!("{}\n{}", codex.socket().display(), stage.workspace().display()))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(doomed.stdout.take().unwrap()).lines();
    let waiting = loop {
        let line = lines.next_line().await.unwrap().expect("the client ended before it was asked");
        if let Some((_, thread)) = line.split_once(WAITING) {
            break thread.to_owned();
        }
    };
    doomed.kill().await.unwrap();
    let thread = ThreadId::new(waiting);
    assert_eq!(stage.lines("ran.log").len(), 0);

    let mut client = stage.client(&codex).await.unwrap();
    client.server.call(&ThreadResume::new(thread.clone())).await.unwrap();
    let question = client.question().await.unwrap();
    client.answer(&question, &Decision::Once).await.unwrap();
    let turn = client.turn_end(&thread).await.unwrap();
    assert_eq!(turn.status, Some(TurnStatus::Completed));
    assert_eq!(stage.lines("ran.log"), ["ran"], "exactly once");
    assert_eq!(stage.model().requests_seen(), 2);
}

#[expect(clippy::disallowed_methods, reason = "this is how the test tells its two selves apart")]
fn second_self() -> Option<(String, String)> {
    let both = std::env::var(SECOND_SELF).ok()?;
    both.split_once('\n').map(|(socket, workspace)| (socket.to_owned(), workspace.to_owned()))
}

#[expect(clippy::print_stdout, reason = "this is how it tells its other self")]
async fn wait_for_ever(socket: &Path, workspace: &Path) {
    let mut client = Client::connect(socket, workspace.to_owned()).await.unwrap();
    let thread =
        client.start_thread(SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await.unwrap();
    client.start_turn(&thread, PROMPT).await.unwrap();
    client.question().await.unwrap();
    println!("{WAITING}{thread}");
    std::future::pending::<()>().await;
}
