//! The greeting, where a real Codex cannot help: an app-server older than any we install, or one without a version.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ostler_codex::app_server::{AppServer, HandshakeError};
use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::transport::Stdio;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// What comes of a greeting that is answered with this user agent; the form is that of 0.166.0.
async fn greeted(user_agent: &str) -> Result<String, HandshakeError> {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(ours);
    let reply = json!({"id": 1, "result": {"userAgent": user_agent, "codexHome": "/h"}});
    let server = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(theirs);
        let mut lines = BufReader::new(reader).lines();
        lines.next_line().await.unwrap().unwrap();
        writer.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        lines.next_line().await.unwrap()
    });
    let client_info =
        ClientInfo { name: "ostler".to_owned(), title: None, version: "0.1.0".to_owned() };
    let hello = Initialize { client_info, capabilities: Capabilities::default() };
    let greeted =
        AppServer::greet(Stdio::new(reader, writer), &hello, &PeerSettings::default()).await;
    let version = greeted.map(|(app_server, _events)| app_server.version().to_string());
    let said = server.await.unwrap();
    assert_eq!(said.is_some(), version.is_ok(), "only a server that fits is told to go on");
    version
}

#[tokio::test]
async fn an_app_server_that_is_too_old_is_refused_and_the_oldest_is_not() {
    let error = greeted("ostler/0.124.9 (Debian 12.0.0; x86_64) unknown").await.unwrap_err();
    let expected = "the app-server is codex 0.124.9; codex 0.125.0 or later is needed";
    assert_eq!(error.to_string(), expected);
    let version = greeted("ostler/0.125.0 (Debian 12.0.0; x86_64) unknown").await.unwrap();
    assert_eq!(version, "0.125.0");
}

#[tokio::test]
async fn an_app_server_without_a_version_is_refused() {
    let error = greeted("something else").await.unwrap_err();
    assert!(matches!(error, HandshakeError::NoVersion { .. }), "{error}");
}
