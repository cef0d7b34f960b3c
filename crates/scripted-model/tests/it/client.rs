//! A client that shows exactly how a response ended.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use ostler_scripted_model::{RequestRecord, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// No test waits longer than this for anything; it is long because the machine may be busy.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A whole response, or as much of it as came.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The data of each chunk as it came.
    pub(crate) chunks: Vec<Bytes>,
    pub(crate) end: End,
}

/// How a response or a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// An orderly end of the connection where more was due.
    Closed,
    Reset,
    Refused,
}

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

pub(crate) fn start(script: &str) -> ScriptedModel {
    ScriptedModel::start(Script::parse(script).unwrap()).unwrap()
}

/// A script with one conversation, `go`, and these answers.
pub(crate) fn start_answers(answers: &str) -> ScriptedModel {
    start(&format!("[[conversation]]\nmatch = \"go\"\n{answers}"))
}

pub(crate) fn prompt(text: &str) -> Value {
    let message = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    json!({"model": "gpt-5.5", "stream": true, "input": [message]})
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self, End> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await;
        let stream = stream.map_err(|error| end_of(&error))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        // Ends when the sender is dropped or the server closes the connection.
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, End> {
        let sent = tokio::time::timeout(DEADLINE, self.sender.send_request(request)).await;
        sent.expect("headers come in time").map_err(|error| end_of(&error))
    }

    pub(crate) async fn go(&mut self) -> Result<Reply, End> {
        Ok(collect(self.send(post("t", &prompt("go"))).await?).await)
    }

    pub(crate) async fn until_closed_by_server(&mut self) {
        let begin = std::time::Instant::now();
        while !self.sender.is_closed() {
            assert!(begin.elapsed() < DEADLINE, "the server closes the connection");
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn post(thread: &'static str, body: &Value) -> Request<Full<Bytes>> {
    let request =
        Request::post("/v1/responses").header("host", "127.0.0.1").header("thread-id", thread);
    request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

/// One request on a connection of its own.
pub(crate) async fn ask(
    model: &ScriptedModel,
    thread: &'static str,
    body: &Value,
) -> Result<Reply, End> {
    let mut connection = Connection::open(model.port()).await?;
    Ok(collect(connection.send(post(thread, body)).await?).await)
}

/// The same with the prompt `go`.
pub(crate) async fn go(model: &ScriptedModel) -> Result<Reply, End> {
    ask(model, "t", &prompt("go")).await
}

pub(crate) async fn collect(response: Response<Incoming>) -> Reply {
    let (parts, mut body) = response.into_parts();
    let mut reply = Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        chunks: Vec::new(),
        end: End::Complete,
    };
    loop {
        let frame = tokio::time::timeout(DEADLINE, body.frame()).await;
        match frame.expect("the body goes on in time") {
            None => return reply,
            Some(Ok(frame)) => reply.chunks.extend(frame.into_data()),
            Some(Err(error)) => {
                reply.end = end_of(&error);
                return reply;
            }
        }
    }
}

pub(crate) async fn settled(model: &ScriptedModel, count: usize) -> Vec<RequestRecord> {
    let settled = model.wait_until(DEADLINE, |records| {
        let playing =
            |record: &RequestRecord| record.outcome == ostler_scripted_model::Outcome::Playing;
        records.len() >= count && !records.iter().any(playing)
    });
    settled.await.unwrap()
}

impl Reply {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The types of the events; a delta is its text.
    pub(crate) fn outline(&self) -> Vec<String> {
        let outline = self.events().into_iter().map(|event| match event["delta"].as_str() {
            Some(delta) => format!("{delta:?}"),
            None => event["type"].as_str().unwrap().to_owned(),
        });
        outline.collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn end_of(error: &(dyn Error + 'static)) -> End {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::ConnectionReset => End::Reset,
                io::ErrorKind::ConnectionRefused => End::Refused,
                io::ErrorKind::UnexpectedEof => End::Closed,
                kind => panic!("unexpected {kind:?}: {error}"),
            };
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return End::Closed;
        }
        cause = error.source();
    }
    panic!("unexpected {error:?}");
}
