//! A web server that says what a test wants, and remembers what it was asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// An answer as it goes over the wire: status, headers, body.
#[derive(Debug, Clone)]
pub(crate) struct Said(pub(crate) u16, pub(crate) Vec<(&'static str, String)>, pub(crate) Vec<u8>);

impl Said {
    pub(crate) fn page(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self(200, vec![("content-type", kind.to_owned())], body.into())
    }

    pub(crate) fn to(place: impl Into<String>) -> Self {
        Self(302, vec![("location", place.into())], Vec::new())
    }
}

pub(crate) type Answer = Arc<dyn Fn(Asked) -> BoxFuture<'static, Said> + Send + Sync>;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _running: AbortOnDropHandle<()>,
}

impl Server {
    pub(crate) async fn new(answer: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::slow(Arc::new(move |asked| {
            let answer = answer.clone();
            Box::pin(async move { answer(&asked) })
        }))
        .await
    }

    pub(crate) async fn slow(answer: Answer) -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into(), answer).await
    }

    pub(crate) async fn at(address: SocketAddr, answer: Answer) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let running = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone(), seen.clone()));
            }
        });
        Self { address, asked, _running: AbortOnDropHandle::new(running) }
    }

    /// By a name, which the settings of the tests allow.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.address.port())
    }

    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, seen: Arc<Mutex<Vec<Asked>>>) {
    let Some(asked) = read(&mut stream).await else { return };
    seen.lock().unwrap().push(asked.clone());
    let Said(status, headers, body) = answer(asked).await;
    let mut head =
        format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The client may have gone.
    stream.write_all(head.as_bytes()).await.ok();
    stream.write_all(&body).await.ok();
    stream.shutdown().await.ok();
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Asked { method, path, headers, body })
}
