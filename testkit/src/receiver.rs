//! A receiver of webhooks on this machine that fails, hangs, comes late or points elsewhere, as it is told.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Everything here takes seconds; the tests share two cores with each other.
const DEADLINE: Duration = Duration::from_secs(90);

/// What it does with a request.
#[derive(Debug, Clone)]
pub enum Does {
    /// Answers at once, with this status: `"200 OK"`.
    Says(&'static str),
    /// Takes it, and says nothing until the other side goes.
    Hangs,
    /// Takes it, and says that all is well after this long.
    ComesLate(Duration),
    PointsTo(String),
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Received {
    pub head: BTreeMap<String, String>,
    pub body: Value,
}

impl Received {
    /// The name under which the same thing comes again.
    pub fn id(&self) -> &str {
        self.head.get("webhook-id").map_or("", String::as_str)
    }
}

/// Ends with the test.
pub struct Receiver {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    got: Mutex<Vec<Received>>,
    came: Condvar,
    script: Mutex<Vec<Does>>,
    is_over: AtomicBool,
}

impl Receiver {
    /// Does one thing after the other, and the last for ever.
    pub fn that_does(script: Vec<Does>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { script: Mutex::new(script), ..State::default() });
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = shared.clone();
                // Whoever is killed in the middle breaks a connection, and that is all.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Ok(Self { address, state })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn got(&self) -> Vec<Received> {
        self.state.got.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Does this from now on.
    pub fn now_does(&self, does: Does) {
        *self.state.script.lock().unwrap_or_else(PoisonError::into_inner) = vec![does];
    }

    /// Waits until so many requests have come.
    pub fn until(&self, requests: usize) -> Result<Vec<Received>> {
        let got = self.state.got.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.state.came.wait_timeout_while(got, DEADLINE, |got| got.len() < requests);
        let (got, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ensure!(got.len() >= requests, "only {} of {requests} requests came", got.len());
        Ok(got.clone())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // Wakes the one who waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

impl State {
    fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut reader = BufReader::new(stream);
        let received = read(&mut reader)?;
        let does = {
            let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
            match script.len() {
                0 | 1 => script.first().cloned().unwrap_or(Does::Says("200 OK")),
                _ => script.remove(0),
            }
        };
        self.got.lock().unwrap_or_else(PoisonError::into_inner).push(received);
        self.came.notify_all();
        let stream = reader.get_mut();
        match does {
            Does::Says(status) => say(stream, status, ""),
            Does::PointsTo(place) => {
                say(stream, "307 Temporary Redirect", &format!("location: {place}\r\n"))
            }
            Does::ComesLate(after) => {
                thread::sleep(after);
                say(stream, "200 OK", "")
            }
            Does::Hangs => {
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest)?;
                Ok(())
            }
        }
    }
}

fn read(reader: &mut impl BufRead) -> Result<Received> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut head = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        head.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = head.get("content-length").context("no length")?.parse()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Received { head, body: serde_json::from_slice(&body)? })
}

fn say(stream: &mut TcpStream, status: &str, head: &str) -> Result<()> {
    let said = format!("HTTP/1.1 {status}\r\n{head}content-length: 0\r\nconnection: close\r\n\r\n");
    match stream.write_all(said.as_bytes()) {
        // Nobody waits for the one who comes late.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
