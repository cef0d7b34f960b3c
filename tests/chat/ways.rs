//! Which way a question to the provider takes, seen by a proxy that lets nothing through.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use crate::world::{Plan, World};
use crate::{conversation, text};

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
