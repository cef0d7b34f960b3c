//! Connections that a person allows or refuses for good, where managed requirements say that a person is asked.

use ostler_engine::EngineSettings;
use ostler_model::decision::Remember;
use ostler_model::task::{DecidedBy, TaskSettings};
use ostler_model::{Decision, TaskId, TaskState};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::{Stage, Workshop};
use serde_json::json;

use crate::{stage_of, text};

/// Local names are asked for instead of being refused at once.
const REQUIREMENTS: &str = "[experimental_network]\nenabled = true\nallow_local_binding = true\n";

const ALLOWED: &str = "always.test";
const FORBIDDEN: &str = "never.test";

/// Asks Codex's proxy for a page of this host.
fn fetch(host: &str) -> Answer {
    let script = format!(
        r#"p=${{HTTP_PROXY#http://}}; p=${{p%/}}; exec 3<>/dev/tcp/${{p%:*}}/${{p##*:}}; \
           printf "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n" >&3; \
           timeout 20 head -n 1 <&3; echo fetched {host}"#
    );
    let arguments = json!({ "cmd": format!("bash -c '{script}'"), "yield_time_ms": 20_000 });
    Answer { calls: vec![Call::function("exec_command", arguments)], ..Answer::default() }
}

fn may_connect(settings: &mut TaskSettings) {
    settings.sandbox.network = true;
}

/// What came back, as the model was told.
fn came_back(stage: &Stage, prompt: &str) -> String {
    let requests = stage.model().requests();
    let inputs = requests.iter().rev().map(|request| request.json().get("input").cloned().unwrap());
    let input = inputs.into_iter().find(|input| input.to_string().contains(prompt)).unwrap();
    let mut items = input.as_array().unwrap().iter().rev();
    let output = items.find(|item| item["type"].as_str().unwrap().ends_with("_output"));
    output.unwrap_or_else(|| panic!("nothing came back: {input}"))["output"].to_string()
}

/// Whoever decided the only ask of a task that runs to its end.
async fn decided(shop: &Workshop, task: &TaskId) -> DecidedBy {
    shop.until(task, TaskState::Completed).await.unwrap();
    let asks = shop.engine.store().asks_of(task).await.unwrap();
    assert_eq!(asks.len(), 1, "{asks:?}");
    asks.first().and_then(|ask| ask.decision.clone()).unwrap().by
}

/// One test for both words, because two of Codex's proxies at once may disturb each other.
#[tokio::test]
async fn a_host_that_is_refused_for_good_is_refused_and_one_that_is_allowed_is_allowed() {
    let fetches = |prompt, host| (prompt, vec![fetch(host), text("Done.")]);
    let stage = stage_of(
        "0.166.0",
        vec![fetches("always go there", ALLOWED), fetches("never go there", FORBIDDEN)],
    );
    stage
        .configure(|text| format!("{text}\n[sandbox_workspace_write]\nnetwork_access = true\n"))
        .unwrap();
    let managed = |settings: &mut EngineSettings| {
        let keeper = &mut settings.pool.program;
        *keeper = stage.program_under(REQUIREMENTS, keeper).unwrap();
    };
    let shop = Workshop::open_with(&stage, managed).await.unwrap();

    for (prompt, host, allowed) in
        [("always go there", ALLOWED, true), ("never go there", FORBIDDEN, false)]
    {
        // The name leads nowhere, but a command that was refused does not even come to its end.
        let was_fetched = || came_back(&stage, prompt).contains(&format!("fetched {host}"));
        let task = shop.start_with(&stage, prompt, may_connect).await.unwrap();
        let ask = shop.ask(&task).await.unwrap();
        let remember = Remember::Host { host: host.to_owned(), allowed };
        shop.answer(&ask, Decision::Always(remember)).await.unwrap();
        assert!(matches!(decided(&shop, &task).await, DecidedBy::Person { .. }));
        assert_eq!(was_fetched(), allowed, "{host}");

        // The next task of the folder asks nobody.
        let seen = stage.model().requests_seen();
        let other = shop.start_with(&stage, prompt, may_connect).await.unwrap();
        assert!(matches!(decided(&shop, &other).await, DecidedBy::Rule { .. }));
        assert!(stage.model().requests_seen() > seen);
        assert_eq!(was_fetched(), allowed, "{host}");
    }
    shop.close().await.unwrap();
}
