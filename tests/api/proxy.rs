//! A proxy that keeps what it is sent until it has a block of it, as nginx does, unless the answer says that it must not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use crate::caller::{Caller, NEWEST, world};
use crate::{LEAVES_A_LINE, command, text};

/// As much as nginx keeps.
const BLOCK_BYTES: usize = 4096;

/// The address of one that stands before the daemon for one connection.
fn proxy(daemon: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let daemon = daemon.to_owned();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut upstream = TcpStream::connect(daemon).unwrap();
        upstream.write_all(head(&mut BufReader::new(&client)).as_bytes()).unwrap();
        let mut answer = BufReader::new(upstream);
        let head = head(&mut answer);
        client.write_all(head.as_bytes()).unwrap();
        let block = if head.contains("x-accel-buffering: no") { 1 } else { BLOCK_BYTES };
        let (mut kept, mut read) = (Vec::new(), [0; 1024]);
        loop {
            let count = answer.read(&mut read).unwrap();
            kept.extend_from_slice(&read[..count]);
            if kept.len() >= block || count == 0 {
                // Whoever listens may have left.
                if client.write_all(&kept).is_err() || count == 0 {
                    return;
                }
                kept.clear();
            }
        }
    });
    address
}

fn head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    head
}

/// An ask that is opened, and the little that follows, reach whoever looks through such a proxy at once.
#[test]
fn a_proxy_that_keeps_blocks_hands_on_each_event() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let path = format!("/v1/tasks/{task}/events");
    let mut stream = caller.listen_at(&proxy(&caller.address), &path);
    let (_, now) = stream.next();
    assert_eq!(now["asks"][0]["id"], json!(ask));
    let last = now["task"]["last_seq"].clone();
    stream.until(|line| line["seq"] == last);
    // Far less than a block.
    drop(caller.listen(&path, &[]));
    stream.until(|line| line["line"] == "viewers");
    // Lines of JSON say so, too.
    let lines = caller.listen_lines("/v1/changes");
    assert!(lines.head.contains("x-accel-buffering: no"), "{}", lines.head);
}
