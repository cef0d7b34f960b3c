//! A program with a token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ostler_scripted_model::{Answer, Conversation};
use serde_json::{Value, json};

use crate::PROMPT;
use crate::world::World;

/// For whatever a busy machine may take its time for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const NEWEST: &str = "0.166.0";

/// A machine whose daemon listens on TCP.
pub(crate) fn world(version: &str, answers: Vec<Answer>) -> World {
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers };
    World::with(version, vec![conversation], "[server]\nlisten = \"127.0.0.1:0\"\n")
}

#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) address: String,
    pub(crate) token: String,
}

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    /// One who may everything.
    pub(crate) fn of(world: &World) -> Self {
        Self::with_scopes(world, &["operate", "decide"])
    }

    pub(crate) fn with_scopes(world: &World, scopes: &[&str]) -> Self {
        let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
        let made: Vec<&str> = ["token", "new", "test"].into_iter().chain(scopes).collect();
        let token = world.json(&made)["token"].as_str().unwrap().to_owned();
        let listens = world.json(&["daemon", "status"])["listens"].clone();
        Self { address: listens["address"].as_str().unwrap().to_owned(), token }
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.call("GET", path, &[], b"").well()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", path, &[], body.to_string().as_bytes()).well()
    }

    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Said {
        let mut stream = self.open(method, path, headers, body);
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        Said::read(&said)
    }

    /// A stream of server-sent events.
    pub(crate) fn listen(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let headers = [headers, &[("accept", "text/event-stream")]].concat();
        Events::begin(self.open("GET", path, &headers, b""))
    }

    /// The same by way of somebody else.
    pub(crate) fn listen_at(&self, address: &str, path: &str) -> Events {
        let stream = TcpStream::connect(address).unwrap();
        Events::begin(self.say(stream, "GET", path, &[("accept", "text/event-stream")], b""))
    }

    /// Lines of JSON.
    pub(crate) fn listen_lines(&self, path: &str) -> Events {
        Events::begin(self.open("GET", path, &[], b""))
    }

    /// The same as events over a connection on which little is under way, so that the daemon soon notices who does not read.
    pub(crate) fn listen_narrowly(&self, path: &str) -> Events {
        let stream = TcpStream::connect(&self.address).unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 65_536).unwrap();
        Events::begin(self.say(stream, "GET", path, &[("accept", "text/event-stream")], b""))
    }

    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        self.say(stream, method, path, headers, body)
    }

    fn say(
        &self,
        mut stream: TcpStream,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (address, token, length) = (&self.address, &self.token, body.len());
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        text.push_str(&format!("authorization: Bearer {token}\r\ncontent-length: {length}\r\n"));
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    }
}

impl Said {
    fn read(said: &[u8]) -> Self {
        let end = said.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(said[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { status, headers, body: said[end + 4..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn well(&self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{} {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }
}

/// Frames as they come.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
}

impl Events {
    fn begin(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        Self { reader, head }
    }

    /// The data of the next frame, which says itself what it is; the id of the frame beside it.
    pub(crate) fn next(&mut self) -> (Option<u64>, Value) {
        let (id, data) = self.next_text();
        (id, serde_json::from_str(&data).unwrap())
    }

    /// The same as it came.
    pub(crate) fn next_text(&mut self) -> (Option<u64>, String) {
        let (mut id, mut tag, mut data) = (None, String::new(), String::new());
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse().unwrap());
            } else if let Some(text) = line.strip_prefix("event: ") {
                tag = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.to_owned();
            } else if line.is_empty() && !data.is_empty() {
                let value: Value = serde_json::from_str(&data).unwrap();
                assert_eq!(value["line"], json!(tag));
                return (id, data);
            }
        }
    }

    /// All frames up to the first one of this kind, and that one.
    pub(crate) fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let (_, value) = self.next();
            let is_over = is_last(&value);
            seen.push(value);
            if is_over {
                return seen;
            }
        }
    }

    /// Reads on to the end of the stream.
    pub(crate) fn rest(mut self) -> String {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).unwrap();
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// A line of the body, out of the chunks that it comes in.
    fn line(&mut self) -> String {
        loop {
            let mut text = String::new();
            assert_ne!(self.reader.read_line(&mut text).unwrap(), 0, "the stream has ended");
            let line = text.trim_end_matches(['\r', '\n']);
            // Each piece is a chunk of its own; its size stands in a line before it and an empty one behind it.
            let is_size =
                text.ends_with("\r\n") && line.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_size {
                return line.to_owned();
            }
        }
    }
}
