//! Opening threads and listing models on an app-server that does what real Codex cannot be made to do on demand.
//! The reply is 0.166.0's, with other permissions in it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use ostler_codex::account::{Models, ModelsError, all_models};
use ostler_codex::app_server::AppServer;
use ostler_codex::peer::{Events, PeerSettings};
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::thread::open::OpenError;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::transport::Stdio;
use ostler_model::ThreadId;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinHandle;

/// Answers each request with what `answer` makes of its method and params; a text is an error. At the end it tells
/// the methods it was asked.
async fn server(
    mut answer: impl FnMut(&str, &Value) -> Result<Value, &'static str> + Send + 'static,
) -> (AppServer, Events, JoinHandle<Vec<String>>) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let working = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(theirs);
        let mut lines = BufReader::new(reader).lines();
        let mut asked = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let request: Value = serde_json::from_str(&line).unwrap();
            let method = request["method"].as_str().unwrap();
            let reply = match (method, request.get("id")) {
                (_, None) => continue,
                ("initialize", _) => {
                    Ok(json!({"userAgent": "ostler/0.166.0 (x)", "codexHome": "/h"}))
                }
                _ => {
                    asked.push(method.to_owned());
                    answer(method, &request["params"])
                }
            };
            let reply = match reply {
                Ok(result) => json!({"id": request["id"], "result": result}),
                Err(text) => {
                    json!({"id": request["id"], "error": {"code": -32600, "message": text}})
                }
            };
            writer.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        }
        asked
    });
    let client_info =
        ClientInfo { name: "ostler".to_owned(), title: None, version: "0.1.0".to_owned() };
    let hello = Initialize { client_info, capabilities: Capabilities::default() };
    let (reader, writer) = tokio::io::split(ours);
    let settings = PeerSettings::default();
    let (server, events) =
        AppServer::greet(Stdio::new(reader, writer), &hello, &settings).await.unwrap();
    (server, events, working)
}

fn opened(sandbox: &str) -> Value {
    json!({
        "thread": {"id": "t", "status": {"type": "idle"}, "cliVersion": "0.166.0"},
        "sandbox": {"type": sandbox},
        "approvalPolicy": "on-request",
        "approvalsReviewer": "user",
        "cwd": "/stable",
    })
}

#[tokio::test]
async fn a_new_thread_with_too_many_rights_is_archived_or_left() {
    for (archive, then) in [
        (Ok(json!({})), vec!["thread/start", "thread/archive"]),
        (
            Err("no rollout found for thread id t"),
            vec!["thread/start", "thread/archive", "thread/unsubscribe"],
        ),
    ] {
        let (server, events, working) = server(move |method, _| match method {
            "thread/archive" => archive.clone(),
            "thread/unsubscribe" => Ok(json!({"status": "unsubscribed"})),
            _ => Ok(opened("dangerFullAccess")),
        })
        .await;
        let error = server.start_thread(&ThreadSettings::new("/stable")).await.unwrap_err();

        assert_eq!(
            error.to_string(),
            "codex gave thread t more rights than asked: sandbox: asked read-only, got danger-full-access"
        );
        events.close().await;
        assert_eq!(working.await.unwrap(), then);
    }
}

#[tokio::test]
async fn a_fork_with_too_many_rights_is_archived_and_a_resumed_thread_only_left() {
    let (server, events, working) = server(|method, _| match method {
        "thread/archive" => Ok(json!({})),
        "thread/unsubscribe" => Err("not today"),
        _ => Ok(opened("brandNew")),
    })
    .await;
    let (thread, settings) = (ThreadId::new("t"), ThreadSettings::new("/stable"));
    let errors = [
        server.fork_thread(&thread, &settings).await.unwrap_err(),
        server.resume_thread(&thread, &settings).await.unwrap_err(),
    ];

    for error in errors {
        assert!(matches!(error, OpenError::Wider { .. }), "{error:?}");
    }
    events.close().await;
    assert_eq!(
        working.await.unwrap(),
        [
            "thread/read",
            "thread/fork",
            "thread/archive",
            "thread/read",
            "thread/resume",
            "thread/unsubscribe"
        ]
    );
}

#[tokio::test]
async fn invalid_settings_never_leave_us_and_an_ended_connection_is_told() {
    let (server, events, working) = server(|_, _| Ok(opened("readOnly"))).await;
    let error = server.start_thread(&ThreadSettings::new("stable")).await.unwrap_err();
    assert!(matches!(error, OpenError::Invalid(_)), "{error:?}");
    events.close().await;
    assert_eq!(working.await.unwrap(), Vec::<String>::new());

    let error = server.start_thread(&ThreadSettings::new("/stable")).await.unwrap_err();
    assert!(matches!(error, OpenError::Connection(_)), "{error:?}");
}

fn model(id: &str) -> Value {
    json!({"id": id})
}

#[tokio::test]
async fn every_page_of_models_is_read_in_order() {
    let (server, events, _working) = server(|_, params| {
        Ok(match params["cursor"].as_str() {
            None => json!({"data": [model("a"), model("b")], "nextCursor": "2"}),
            Some("2") => json!({"data": [model("c")], "nextCursor": "3"}),
            _ => json!({"data": [model("d")], "nextCursor": null}),
        })
    })
    .await;
    let models = all_models(&server, Models::Offered).await.unwrap();

    let ids: Vec<_> = models.into_iter().map(|model| model.id).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    events.close().await;
}

#[tokio::test]
async fn a_model_list_without_an_end_is_an_error() {
    let (circle, events, _working) =
        server(|_, _| Ok(json!({"data": [model("a")], "nextCursor": "again"}))).await;
    let error = all_models(&circle, Models::WithHidden).await.unwrap_err();
    assert!(
        matches!(&error, ModelsError::RepeatedPage { cursor } if cursor == "again"),
        "{error:?}"
    );
    events.close().await;

    let mut page = 0;
    let (endless, events, working) = server(move |_, _| {
        page += 1;
        Ok(json!({"data": [model("a")], "nextCursor": page.to_string()}))
    })
    .await;
    let error = all_models(&endless, Models::WithHidden).await.unwrap_err();
    assert!(matches!(error, ModelsError::TooManyPages), "{error:?}");
    events.close().await;
    assert_eq!(working.await.unwrap().len(), 100);
}
