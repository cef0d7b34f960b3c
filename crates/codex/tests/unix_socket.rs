//! The unix socket against a WebSocket server of another make, which does what Codex never does on demand.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use ostler_codex::peer::{self, Closed, Event, PeerSettings};
use ostler_codex::transport::{ConnectError, UnixSocket};
use ostler_codex::wire::OddityKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{Message, WebSocket};

const SOON: Duration = Duration::from_secs(60);

/// A server that takes one connection and does `work` with it.
fn serve<T: Send + 'static>(
    work: impl FnOnce(UnixStream) -> T + Send + 'static,
) -> (TempDir, PathBuf, JoinHandle<T>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || work(listener.accept().unwrap().0));
    (folder, path, server)
}

fn read(socket: &mut WebSocket<UnixStream>) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[tokio::test]
async fn pings_an_over_long_message_and_a_goodbye() {
    let (_folder, path, server) = serve(|stream| {
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let mut socket = tungstenite::accept_with_config(stream, Some(config)).unwrap();
        socket.send(Message::Ping(b"alive?".to_vec().into())).unwrap();
        let pong = socket.read().unwrap();
        let long = format!("{{\"method\":\"long\",\"params\":\"{}\"}}", "x".repeat(64 << 20));
        socket.send(Message::Text(long.into())).unwrap();
        let request = read(&mut socket);
        let reply = json!({"id": request["id"], "result": "here"}).to_string();
        socket.send(Message::Text(reply.into())).unwrap();
        let reason = CloseFrame { code: CloseCode::Restart, reason: "back soon".into() };
        socket.close(Some(reason)).unwrap();
        // Until the other side has taken it.
        while socket.read().is_ok() {}
        pong
    });
    let socket = UnixSocket::connect(&path).await.unwrap();
    let (peer, mut events) = peer::open(socket, &PeerSettings::default());
    let Some(Event::Oddity(oddity)) = events.next().await else { panic!() };
    assert_eq!((oddity.kind, oddity.bytes > 64 << 20), (OddityKind::TooLong, true));
    let answer = peer.request("still/there", &json!({}), SOON).await.unwrap();
    assert_eq!(answer.get(), "\"here\"");
    let closed = Closed::Goodbye("1012 back soon".to_owned());
    assert_eq!(events.next().await, Some(Event::Closed(closed)));
    assert_eq!(server.join().unwrap(), Message::Pong(b"alive?".to_vec().into()));
}

/// Reads a handshake and gives its key.
fn key(stream: &mut UnixStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        request.extend_from_slice(&byte);
    }
    let request = String::from_utf8(request).unwrap();
    assert!(!request.to_lowercase().contains("\norigin:"), "codex refuses an origin: {request}");
    let mut headers = request.lines().filter_map(|line| line.split_once(": "));
    let key = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    key.unwrap().1.to_owned()
}

fn accept(proof: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {proof}\r\n\r\n"
    )
}

#[tokio::test]
async fn what_the_server_says_with_its_handshake_is_not_lost() {
    let (_folder, path, server) = serve(|mut stream| {
        let proof = derive_accept_key(key(&mut stream).as_bytes());
        let event = r#"{"method":"early"}"#;
        let mut bytes = accept(&proof).into_bytes();
        bytes.extend([0x81, u8::try_from(event.len()).unwrap()]);
        bytes.extend(event.as_bytes());
        stream.write_all(&bytes).unwrap();
        stream
    });
    let socket = UnixSocket::connect(&path).await.unwrap();
    let (_peer, mut events) = peer::open(socket, &PeerSettings::default());
    let Some(Event::Notification(call)) = events.next().await else { panic!() };
    assert_eq!(call.method.as_ref(), "early");
    drop(server.join().unwrap());
}

#[tokio::test]
async fn a_server_that_cannot_prove_itself_is_refused() {
    let (_folder, path, server) = serve(|mut stream| {
        key(&mut stream);
        stream.write_all(accept("bm9wZQ==").as_bytes()).unwrap();
        stream
    });
    let error = UnixSocket::connect(&path).await.unwrap_err();
    assert!(matches!(error, ConnectError::NotAnAppServer { .. }), "{error}");
    drop(server.join().unwrap());
}

#[tokio::test]
async fn a_server_that_is_none_is_told_apart_from_nobody() {
    let (folder, path, server) = serve(|mut stream| {
        let mut some = [0; 16];
        stream.read_exact(&mut some).unwrap();
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").unwrap();
        stream
    });
    let error = UnixSocket::connect(&path).await.unwrap_err();
    assert!(error.to_string().contains("403 Forbidden"), "{error}");
    drop(server.join().unwrap());
    let error = UnixSocket::connect(&path).await.unwrap_err();
    assert!(matches!(error, ConnectError::NobodyListens { .. }), "{error}");
    let error = UnixSocket::connect(&folder.path().join("missing")).await.unwrap_err();
    assert!(matches!(error, ConnectError::NobodyListens { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let error = UnixSocket::connect(&path).await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
}

/// The thread that reads holds the socket, too, and must end although the other side says nothing more.
#[tokio::test]
async fn whoever_stops_listening_leaves_nothing_open() {
    let (_folder, path, server) = serve(|stream| {
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut socket = tungstenite::accept(stream).unwrap();
        // Below the WebSocket, which would answer the goodbye and so wake the thread.
        while socket.get_mut().read(&mut [0; 64]).unwrap() > 0 {}
        // A hang-up is the end of both directions.
        let mut hung_up = [PollFd::new(socket.get_ref(), PollFlags::empty())];
        poll(&mut hung_up, Some(&Timespec::try_from(SOON).unwrap())).unwrap()
    });
    let socket = UnixSocket::connect(&path).await.unwrap();
    let (peer, events) = peer::open(socket, &PeerSettings::default());
    drop((peer, events));
    let hung_up = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
    assert_eq!(hung_up, 1);
}
