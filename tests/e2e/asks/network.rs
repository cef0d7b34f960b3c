//! Connections that commands open, where managed requirements say that a person is asked.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_model::ask::{CommandAsk, NetworkTarget};
use ostler_model::decision::Remember;
use ostler_model::thread::Update;
use ostler_model::{AskKind, Decision, Interrupter, TurnEnd};
use ostler_scripted_model::Answer;
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::json;
use tokio::sync::Semaphore;

use super::{World, call, decide, send, stage_of};
use crate::text;

/// Codex's proxy has a fixed port (seen on 0.130.0), so two of them at once disturb each other.
static PROXY: Semaphore = Semaphore::const_new(1);

/// Local names are asked for instead of being refused at once.
const REQUIREMENTS: &str = "[experimental_network]\nenabled = true\nallow_local_binding = true\n";

/// Asks Codex's proxy for a page of this host. The name leads nowhere, which is well: the question comes before.
fn fetch(host: &str) -> Answer {
    let script = format!(
        r#"p=${{HTTP_PROXY#http://}}; p=${{p%/}}; exec 3<>/dev/tcp/${{p%:*}}/${{p##*:}}; \
           printf "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n" >&3; \
           timeout 20 head -n 1 <&3; echo fetched {host}"#
    );
    let line = format!("bash -c '{script}'");
    call("exec_command", json!({ "cmd": line, "yield_time_ms": 20_000 }))
}

/// Now and then the sandbox of 0.130.0 dies before the command begins, by a fault of its own: it reads from a bridge to the proxy
/// that has ended. A model tries again, and so do we.
const DEAD_BRIDGE: &str = "failed to prepare host proxy routing bridge";

const TRIES: usize = 5;

async fn ask(
    world: &World,
    thread: &mut DrivenThread,
    prompt: &str,
    host: &str,
) -> ostler_model::AskId {
    let mut asked = None;
    for _ in 0..TRIES {
        send(thread, prompt).await;
        let told = thread.until("an ask", |update| match update {
            Update::AskOpened { ask, content } => Some(Some((ask.clone(), (**content).clone()))),
            Update::TurnEnded { .. } => Some(None),
            _ => None,
        });
        asked = told.await.unwrap();
        if asked.is_some() {
            break;
        }
        // What Codex told the model instead says why.
        let outputs = world.outputs(prompt);
        assert!(outputs.last().is_some_and(|it| it.contains(DEAD_BRIDGE)), "{outputs:?}");
    }
    let (id, ask) = asked.unwrap();
    let target = NetworkTarget { host: host.to_owned(), protocol: Some("http".to_owned()) };
    let wanted = CommandAsk { network: Some(target), ..CommandAsk::default() };
    assert_eq!(ask.kind, AskKind::Command(wanted));
    assert!(ask.reason.as_ref().unwrap().contains(host), "{ask:?}");
    let always = |allowed| Decision::Always(Remember::Host { host: host.to_owned(), allowed });
    let offers = [
        Decision::Once,
        Decision::Session,
        always(true),
        Decision::Deny,
        always(false),
        Decision::Cancel,
    ];
    assert_eq!(ask.offers, offers);
    id
}

/// The same again, and nobody is asked.
async fn unasked(thread: &mut DrivenThread, prompt: &str) {
    let told = thread.updates().count();
    send(thread, prompt).await;
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed, "{prompt}");
    let asked = thread.updates().skip(told).any(|it| matches!(it, Update::AskOpened { .. }));
    assert!(!asked, "{prompt} was asked again");
}

#[rstest]
#[tokio::test]
async fn a_connection_is_decided_in_every_way(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let fetches = |prompt, host| (prompt, vec![fetch(host), text("Done.")]);
    let stage = stage_of(
        version,
        vec![
            fetches("go there once", "once.test"),
            fetches("go there here", "session.test"),
            fetches("go there always", "always.test"),
            fetches("do not go there", "denied.test"),
            fetches("never go there", "never.test"),
            fetches("stop there", "stop.test"),
        ],
    );
    stage
        .configure(|text| format!("{text}\n[sandbox_workspace_write]\nnetwork_access = true\n"))
        .unwrap();
    let _alone = PROXY.acquire().await.unwrap();
    let codex = stage.codex_under(REQUIREMENTS).await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let world = World { driven, codex, stage };
    let sandbox = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: true,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };
    let settings = world.stage.settings(sandbox, ApprovalPolicy::OnRequest);
    let mut thread = world.driven.thread(settings, ThreadOptions::default()).await.unwrap();
    let always =
        |host: &str, allowed| Decision::Always(Remember::Host { host: host.to_owned(), allowed });

    for (prompt, host, decision) in [
        ("go there once", "once.test", Decision::Once),
        ("go there here", "session.test", Decision::Session),
        ("go there always", "always.test", always("always.test", true)),
    ] {
        let id = ask(&world, &mut thread, prompt, host).await;
        decide(&mut thread, &id, decision).await;
        assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed, "{prompt}");
        let output = world.outputs(prompt).pop().unwrap();
        assert!(output.contains(&format!("fetched {host}")), "{prompt}: {output}");
    }
    unasked(&mut thread, "go there here").await;
    unasked(&mut thread, "go there always").await;

    for (prompt, host, decision) in [
        ("do not go there", "denied.test", Decision::Deny),
        ("never go there", "never.test", always("never.test", false)),
    ] {
        let id = ask(&world, &mut thread, prompt, host).await;
        decide(&mut thread, &id, decision).await;
        assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed, "{prompt}");
        let output = world.outputs(prompt).pop().unwrap();
        assert!(!output.contains(" 200 "), "{prompt}: {output}");
    }
    unasked(&mut thread, "never go there").await;
    let rules = std::fs::read_to_string(world.stage.codex_home().join("rules/default.rules"));
    let rules = rules.unwrap();
    for (host, word) in [("always.test", "allow"), ("never.test", "deny")] {
        let line = rules.lines().find(|line| line.contains(host)).unwrap_or_default();
        assert!(line.contains("network_rule(") && line.contains(word), "{rules}");
    }

    let id = ask(&world, &mut thread, "stop there", "stop.test").await;
    decide(&mut thread, &id, Decision::Cancel).await;
    let by = Interrupter::Decision { by: "ann".into() };
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Interrupted { by });
}
