//! A daemon's door with a guard, a store and a few routes, and a browser that says exactly what the test wants.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Json;
use futures_util::stream;
use jiff::Timestamp;
use ostler_engine::{AuditFilter, AuditLog, Store, StoreSettings};
use ostler_model::{AuditEntry, AuditKind};
use ostler_server::client::{Client, ClientSettings, Versions};
use ostler_server::guard::{
    Guard, GuardSettings, Hosts, LoginCode, Need, NewToken, Scope, TokenMade, guard_routes,
};
use ostler_server::heart::{Heart, Pulse};
use ostler_server::lock::{Claim, DaemonLock};
use ostler_server::ndjson::ndjson;
use ostler_server::routes::routes;
use ostler_server::table::Routes;
use ostler_server::tcp::{TcpDoor, TcpSettings, TlsFiles};
use ostler_server::{Door, DoorSettings, Given, Hall, Limits, Listens, Look, Standing, StopMode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What a house can be like.
pub(crate) struct Inside {
    pub(crate) limits: Limits,
    /// What is seen of whoever comes by TCP.
    pub(crate) street: Look,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) folder: Option<TempDir>,
}

impl Default for Inside {
    fn default() -> Self {
        let street: Look = Arc::new(|_| Standing::Person);
        Self { limits: Limits::default(), street, tls: None, folder: None }
    }
}

pub(crate) struct House {
    folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) slow: Arc<Slow>,
    hall: Arc<Hall>,
    store: Store,
    pub(crate) audit: Arc<AuditLog>,
    serving: JoinHandle<()>,
}

/// A route that takes as long as the test wants.
pub(crate) struct Slow {
    pub(crate) begun: Semaphore,
    pub(crate) may_end: Semaphore,
    pub(crate) done: AtomicUsize,
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(Inside::default()).await
    }

    pub(crate) async fn with(inside: Inside) -> Self {
        let private = fs::Permissions::from_mode(0o700);
        let fresh = || tempfile::Builder::new().permissions(private.clone()).tempdir().unwrap();
        let folder = inside.folder.unwrap_or_else(fresh);
        let path = |name: &str| folder.path().join(name);
        let started_at = Timestamp::UNIX_EPOCH;
        let claim = Claim {
            version: "1.2.3".to_owned(),
            started_at,
            is_service: false,
            socket: path("socket"),
        };
        let lock = DaemonLock::take(&path("daemon.lock"), claim).unwrap();
        let door = Door::open(DoorSettings::Path(path("socket")), inside.limits, &lock).unwrap();
        let settings = TcpSettings { address: "127.0.0.1:0".parse().unwrap(), tls: inside.tls };
        let tcp = TcpDoor::open(&settings).unwrap();
        let (address, tls) = (tcp.address(), tcp.speaks_tls());
        let store = Store::open(StoreSettings::at(path("ostler.db"))).unwrap();
        let settings =
            GuardSettings { hosts: Hosts::of(address, tls, &[]), ..GuardSettings::default() };
        let guard = Arc::new(Guard::open(settings, store.clone(), inside.street).await.unwrap());
        let hall = Arc::new(Hall::new("1.2.3", std::process::id(), started_at, 7));
        let audit = AuditLog::open(store.clone());
        hall.audits_to(audit.clone());
        hall.listens_on(Listens { address, tls });
        let slow = Arc::new(Slow {
            begun: Semaphore::new(0),
            may_end: Semaphore::new(0),
            done: AtomicUsize::new(0),
        });
        let guarded = guard_routes(guard.clone(), hall.clone());
        let router = routes(hall.clone(), [more(&hall, &slow), guarded]);
        let heart = Heart::new(Pulse::Never);
        let serving = {
            let (hall, beat) = (hall.clone(), heart.part("door"));
            let door = door.with_tcp(tcp, guard);
            let person: Look = Arc::new(|_| Standing::Person);
            tokio::spawn(async move {
                door.serve(router, hall, person, beat).await;
                drop(lock);
            })
        };
        Self { folder, address, slow, hall, store, audit, serving }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// At the unix socket, as the command line is.
    pub(crate) async fn client(&self) -> Client {
        let socket = self.folder.path().join("socket");
        let versions = Versions::Only("1.2.3".to_owned());
        Client::connect(ClientSettings { socket, versions, deadline: PATIENCE }).await.unwrap()
    }

    /// Its id, and what it is.
    pub(crate) async fn new_token(&self, scopes: &[Scope]) -> (String, String) {
        self.token_until(scopes, None).await
    }

    pub(crate) async fn token_until(
        &self,
        scopes: &[Scope],
        expires_at: Option<i64>,
    ) -> (String, String) {
        let scopes = scopes.iter().copied().collect();
        let wanted = NewToken { name: "test".to_owned(), scopes, expires_at };
        let made: TokenMade = self.client().await.post("/v1/tokens", &wanted).await.unwrap();
        (made.id, made.token)
    }

    pub(crate) async fn token(&self, scopes: &[Scope]) -> String {
        self.new_token(scopes).await.1
    }

    pub(crate) async fn code(&self) -> LoginCode {
        self.client().await.post("/v1/login-codes", &json!({})).await.unwrap()
    }

    /// Under which a browser has its cookie for this port.
    pub(crate) fn cookie_name(&self) -> String {
        format!("ostler_session_{}", self.address.port())
    }

    /// The cookie and the word that goes with it.
    pub(crate) async fn log_in(&self) -> (String, String) {
        let body = json!({ "code": self.code().await.code }).to_string();
        let answer = self.ask("POST", "/v1/login", &[], &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        let name = format!("{}=", self.cookie_name());
        let value = cookie.strip_prefix(&name).unwrap().split(';').next().unwrap();
        (value.to_owned(), answer.json()["csrf"].as_str().unwrap().to_owned())
    }

    /// The audit log without what only was let in, the oldest first.
    pub(crate) async fn refusals(&self) -> Vec<AuditEntry> {
        let filter = AuditFilter { only_refusals: true, ..AuditFilter::default() };
        let mut found = self.store.audit(&filter, None, 500).await.unwrap().entries;
        found.reverse();
        found.into_iter().map(|placed| placed.entry).collect()
    }

    pub(crate) async fn entries(&self, kind: AuditKind) -> Vec<AuditEntry> {
        let filter = AuditFilter { kind: Some(kind), ..AuditFilter::default() };
        let found = self.store.audit(&filter, None, 500).await.unwrap().entries;
        found.into_iter().map(|placed| placed.entry).collect()
    }

    /// A request as a program makes it.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.host());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(&format!("{text}content-length: {}\r\n\r\n{body}", body.len())).await
    }

    /// Exactly these bytes.
    pub(crate) async fn raw(&self, text: &str) -> Answer {
        self.begin(text).await.answer().await
    }

    /// All that is said to these bytes until the other end hangs up.
    pub(crate) async fn raw_to_end(&self, text: &str) -> String {
        self.begin(text).await.read_to_end().await
    }

    pub(crate) async fn begin(&self, text: &str) -> Talk<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        Talk { stream, read: Vec::new() }
    }

    pub(crate) async fn at_the_socket(&self, text: &str) -> Answer {
        let mut stream = UnixStream::connect(self.folder.path().join("socket")).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        Talk { stream, read: Vec::new() }.answer().await
    }

    pub(crate) async fn close(self) {
        drop(self.close_and_keep(StopMode::Graceful).await);
    }

    pub(crate) async fn close_and_keep(self, mode: StopMode) -> TempDir {
        self.hall.close(mode, "the test is over");
        timeout(PATIENCE, self.serving).await.unwrap().unwrap();
        self.audit.end().await;
        self.store.close().await;
        self.folder
    }
}

/// A connection, and what was read of it.
pub(crate) struct Talk<S> {
    pub(crate) stream: S,
    pub(crate) read: Vec<u8>,
}

impl<S: AsyncRead + Unpin> Talk<S> {
    pub(crate) async fn read_until(&mut self, words: &str) {
        while !String::from_utf8_lossy(&self.read).contains(words) {
            assert_ne!(self.more().await, 0, "{:?}", String::from_utf8_lossy(&self.read));
        }
    }

    pub(crate) async fn read_to_end(&mut self) -> String {
        while self.more().await > 0 {}
        String::from_utf8_lossy(&self.read).into_owned()
    }

    async fn more(&mut self) -> usize {
        timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await.unwrap().unwrap_or(0)
    }

    /// One whole answer that says its length.
    pub(crate) async fn answer(&mut self) -> Answer {
        loop {
            if let Some(answer) = Answer::parse(&self.read) {
                return answer;
            }
            assert_ne!(self.more().await, 0, "{:?}", String::from_utf8_lossy(&self.read));
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(read: &[u8]) -> Option<Self> {
        let end = read.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8(read[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
        let body = read[end + 4..].to_vec();
        (body.len() >= length).then_some(Self { status, headers, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// By the system's own program.
pub(crate) fn user() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Routes as another room would merge them in.
fn more(hall: &Arc<Hall>, slow: &Arc<Slow>) -> Routes {
    let closing = hall.closing().clone();
    let endless = move || {
        let lines = stream::unfold(0_u64, |number| async move {
            if number == 2 {
                std::future::pending::<()>().await;
            }
            Some((json!({ "number": number }), number + 1))
        });
        std::future::ready(ndjson(lines, closing.clone()))
    };
    async fn echo(Given(value): Given<Value>) -> Json<Value> {
        Json(value)
    }
    let slow = slow.clone();
    let slowly = move || async move {
        slow.begun.add_permits(1);
        slow.may_end.acquire().await.unwrap().forget();
        Json(json!({ "done": slow.done.fetch_add(1, Ordering::SeqCst) + 1 }))
    };
    Routes::new().post("/v1/echo", Need::Operate, echo).post("/v1/slow", Need::Operate, slowly).get(
        "/v1/endless",
        Need::Read,
        endless,
    )
}
