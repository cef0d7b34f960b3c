//! Which way a question to the provider takes, seen by a proxy that lets nothing through.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::world::{Plan, World};
use crate::{conversation, text};

const PATIENCE: Duration = Duration::from_secs(90);

/// The URL of a proxy that refuses everything, and the first line of each request that it was sent.
fn proxy() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, lines) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).ok();
            if seen.send(line).is_err() {
                return;
            }
            (&stream).write_all(b"HTTP/1.1 403 -\r\ncontent-length: 0\r\n\r\n").ok();
        }
    });
    (url, lines)
}

#[test]
fn a_provider_on_this_machine_is_asked_without_the_proxy() {
    let host = vec![conversation("feed the mare", vec![text("Fed.")])];
    let world = World::new(Plan { host, ..Plan::default() });
    let (url, lines) = proxy();
    let mut command = world.command(&["chat", "-q", "feed the mare", "--json"]);
    let output = command.env("HTTPS_PROXY", url).output().unwrap();

    assert_eq!(crate::world::outcome(&output)["final_response"], "Fed.");
    assert!(lines.try_recv().is_err(), "the proxy was asked");
}

/// A key of the API is nothing to ChatGPT's servers, and not for them to see.
#[test]
fn the_login_of_codex_says_who_is_asked() {
    let key = r#"{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-not-for-everybody"}"#;
    let tokens = r#"{"auth_mode": "chatgpt", "tokens": {"access_token": "a", "account_id": "b"}}"#;
    for (login, host) in [(key, "api.openai.com:443"), (tokens, "chatgpt.com:443")] {
        let world = World::new(Plan { agent: "provider = \"codex\"", ..Plan::default() });
        std::fs::write(world.path("home/auth.json"), login).unwrap();
        let (url, lines) = proxy();
        let mut command = world.command(&["chat", "-q", "feed the mare", "--json"]);
        command.env("HTTPS_PROXY", url).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let line = lines.recv_timeout(PATIENCE);
        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!(line.unwrap().split(' ').nth(1), Some(host), "{login}");
    }
}
