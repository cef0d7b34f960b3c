use std::collections::HashSet;
use std::time::Duration;

use ostler_codex::protocol::Notification;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;

use crate::{PROMPT, stage, text};

const THREADS: usize = 200;

/// All requests are made at once; the peer keeps the bound that Codex needs, and retries what Codex refuses. The model
/// answers nobody until all turns have asked it, so that all of them really run at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_turns_at_once_on_one_app_server() {
    let stage = stage("0.166.0", vec![text("One of many.")]);
    stage.model().hold_answers();
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let server = client.server.clone();
    let workspace = stage.workspace().display().to_string();
    let starts = (0..THREADS).map(|_| {
        let (server, workspace) = (server.clone(), workspace.clone());
        tokio::spawn(async move {
            let start = ostler_codex::protocol::request::thread::ThreadStart {
                cwd: Some(workspace),
                sandbox: Some(SandboxMode::ReadOnly),
                approval_policy: Some(ApprovalPolicy::Never),
                ..Default::default()
            };
            let thread = server.call(&start).await.unwrap().thread_id().unwrap().clone();
            let input = ostler_codex::protocol::user_input::UserInput::Text(PROMPT.to_owned());
            let turn =
                ostler_codex::protocol::request::turn::TurnStart::new(thread.clone(), vec![input]);
            let turn = server.call(&turn).await.unwrap().turn.id.unwrap();
            (thread, turn)
        })
    });
    let starts: Vec<_> = starts.collect();
    let release = async {
        let all = stage.model().wait_for_requests(THREADS as u64, Duration::from_secs(240)).await;
        all.unwrap();
        stage.model().release_answers();
    };

    // Events are read while the requests wait, as the peer asks for.
    let mut ended = HashSet::new();
    let watch = async {
        while ended.len() < THREADS {
            let next = client.until("the end of a turn", |notification| {
                let Notification::TurnCompleted(event) = notification else { return false };
                assert_eq!(event.turn.status, Some(TurnStatus::Completed), "{event:?}");
                let turn = event.turn.id.clone().unwrap();
                assert!(ended.insert((event.thread_id.clone(), turn)), "a turn ended twice");
                true
            });
            next.await.unwrap();
        }
    };
    tokio::join!(release, watch);
    let mut started = HashSet::new();
    for start in starts {
        started.insert(start.await.unwrap());
    }
    assert_eq!(started, ended);
    assert_eq!(stage.model().requests_seen(), THREADS as u64);
}
