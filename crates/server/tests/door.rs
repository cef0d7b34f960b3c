//! The door with its limits, seen through real sockets.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use futures_util::stream;
use jiff::Timestamp;
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_server::guard::Need;
use ostler_server::heart::{Heart, Pulse};
use ostler_server::lock::{Claim, DaemonLock};
use ostler_server::ndjson::ndjson;
use ostler_server::routes::{Health, routes};
use ostler_server::table::Routes;
use ostler_server::{
    Caller, Door, DoorError, DoorSettings, Given, Hall, Limits, Look, Problem, Standing, StopMode,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

const PATIENCE: Duration = Duration::from_secs(20);

struct House {
    folder: TempDir,
    hall: Arc<Hall>,
    serving: JoinHandle<()>,
}

impl House {
    fn open(limits: Limits, look: Look) -> Self {
        let folder = private_folder();
        let path = folder.path().join("daemon.lock");
        let lock = DaemonLock::take(&path, claim()).unwrap();
        let settings = DoorSettings::Path(folder.path().join("socket"));
        let door = Door::open(settings, limits, &lock).unwrap();
        let hall = Arc::new(Hall::new("1.2.3", std::process::id(), Timestamp::UNIX_EPOCH, 7));
        let router = routes(hall.clone(), [more(&hall)]);
        let heart = Heart::new(Pulse::Never);
        let serving = {
            let (hall, beat) = (hall.clone(), heart.part("door"));
            tokio::spawn(async move {
                door.serve(router, hall, look, beat).await;
                drop(lock);
            })
        };
        Self { folder, hall, serving }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    async fn client(&self) -> Client {
        Client::connect(self.settings("1.2.3")).await.unwrap()
    }

    fn settings(&self, version: &str) -> ClientSettings {
        settings(&self.socket(), version)
    }

    async fn close(self, mode: StopMode) {
        self.hall.close(mode, "the test is over");
        timeout(PATIENCE, self.serving).await.unwrap().unwrap();
    }
}

fn claim() -> Claim {
    let started_at = Timestamp::UNIX_EPOCH;
    let socket = "/run/daemon.sock".into();
    Claim { version: "1.2.3".to_owned(), started_at, is_service: false, socket }
}

fn private_folder() -> TempDir {
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().unwrap()
}

fn settings(socket: &Path, version: &str) -> ClientSettings {
    let versions = Versions::Only(version.to_owned());
    ClientSettings { socket: socket.to_owned(), versions, deadline: PATIENCE }
}

/// Routes as another room would merge them in.
fn more(hall: &Arc<Hall>) -> Routes {
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
    let closing = hall.closing().clone();
    let three = move || {
        let lines = stream::iter((0..3).map(|number| json!({ "number": number })));
        std::future::ready(ndjson(lines, closing.clone()))
    };
    async fn echo(Given(value): Given<Value>) -> Json<Value> {
        Json(value)
    }
    async fn panics() -> Json<Value> {
        panic!("as this test wants")
    }
    async fn slow() -> Json<Value> {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Json(json!("done"))
    }
    Routes::new()
        .post("/v1/echo", Need::Operate, echo)
        .get("/v1/panics", Need::Read, panics)
        .get("/v1/slow", Need::Read, slow)
        .get("/v1/endless", Need::Read, endless)
        .get("/v1/three", Need::Read, three)
}

fn person() -> Look {
    Arc::new(|_| Standing::Person)
}

fn problem(error: ClientError) -> Problem {
    match error {
        ClientError::Problem(problem) | ClientError::Refused(problem) => *problem,
        other => panic!("{other}"),
    }
}

/// By the system's own program.
fn whoami() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn health_says_who_serves_and_who_asks() {
    let house = House::open(Limits::default(), person());
    let mode = fs::metadata(house.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let pid = std::process::id();
    let expected = Health {
        version: "1.2.3".to_owned(),
        pid,
        started_at: Timestamp::UNIX_EPOCH,
        epoch: 7,
        caller: Caller {
            uid: rustix::process::geteuid().as_raw(),
            user: Some(whoami()),
            pid: i32::try_from(pid).unwrap(),
            standing: Standing::Person,
            key: None,
            mcp: None,
        },
        listens: None,
    };
    assert_eq!(house.client().await.health().await.unwrap(), expected);
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn every_error_is_a_problem_document() {
    let house = House::open(Limits::default(), person());
    let mut client = house.client().await;
    let cases = [
        (client.get::<Value>("/v1/nowhere").await, 404, "this daemon has no such route"),
        (client.delete::<Value>("/v1/health").await, 405, "this cannot be done here"),
        (client.get::<Value>("/v1/panics").await, 500, "the daemon failed at this request"),
        (
            client.post::<Value>("/v1/daemon/stop", &json!({ "mode": "maybe" })).await,
            400,
            "the body is not the JSON that is wanted here: unknown variant `maybe`, expected `graceful` or `now` at line 1 column 15",
        ),
    ];
    for (outcome, status, detail) in cases {
        let problem = problem(outcome.unwrap_err());
        assert_eq!((problem.status(), problem.detail.as_str()), (status, detail));
    }
    // The connection has survived all of them, the panic too.
    let said = json!({ "a": [1] });
    assert_eq!(client.post::<Value>("/v1/echo", &said).await.unwrap(), said);
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn a_body_past_the_limit_is_turned_away_whether_or_not_it_says_its_length() {
    let limits = Limits { body_bytes: 1000, ..Limits::default() };
    let house = House::open(limits, person());
    let text = "x".repeat(2000);
    let error = house.client().await.post::<Value>("/v1/echo", &text).await.unwrap_err();
    assert_eq!(problem(error).status(), 413);
    let mut stream = UnixStream::connect(house.socket()).await.unwrap();
    let head = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(format!("{head}7d0\r\n{text}\r\n0\r\n\r\n").as_bytes()).await.unwrap();
    let answer = read_some(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    house.close(StopMode::Graceful).await;
}

/// The answer up to the end of its head.
async fn read_some(stream: &mut UnixStream) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("\r\n\r\n") {
        let got = timeout(PATIENCE, stream.read_buf(&mut read)).await.unwrap().unwrap();
        assert_ne!(got, 0, "it hung up after {read:?}");
    }
    String::from_utf8(read).unwrap()
}

async fn read_all(stream: &mut UnixStream) -> String {
    let mut text = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut text)).await.unwrap().unwrap();
    text
}

#[tokio::test]
async fn slow_callers_are_hung_up_on_and_slow_bodies_told_why() {
    let short = Duration::from_millis(200);
    let limits = Limits { head_deadline: short, body_deadline: short, ..Limits::default() };
    let house = House::open(limits, person());
    for begun in ["", "GET /v1/health HT", "GET /v1/health HTTP/1.1\r\nhost: x\r\nx-more: "] {
        let mut stream = UnixStream::connect(house.socket()).await.unwrap();
        let since = Instant::now();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let said = read_all(&mut stream).await;
        assert!(since.elapsed() >= short, "{begun:?}: hung up too early");
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{begun:?}: {said}");
    }
    let mut stream = UnixStream::connect(house.socket()).await.unwrap();
    let begun = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(begun.as_bytes()).await.unwrap();
    let said = read_all(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("urn:ostler:problem:too-slow"), "{said}");
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn when_every_place_is_taken_the_next_is_told_so() {
    let house = House::open(Limits { connections: 2, ..Limits::default() }, person());
    let (mut first, mut second) = (house.client().await, house.client().await);
    first.health().await.unwrap();
    second.health().await.unwrap();
    let error = house.client().await.health().await.unwrap_err();
    assert_eq!(problem(error).status(), 503);
    drop(first);
    // The place is free as soon as the daemon has noticed.
    let freed = async {
        while house.client().await.health().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, freed).await.unwrap();
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn an_agent_may_ask_for_health_but_not_stop_the_daemon() {
    let agent = || Standing::agent("runs below keeper 0123abcd");
    let house = House::open(Limits::default(), Arc::new(move |_| agent()));
    let mut client = house.client().await;
    assert_eq!(client.health().await.unwrap().caller.standing, agent());
    let error = client.stop(StopMode::Now).await.unwrap_err();
    let expected = format!(
        "the daemon refuses: an agent may not do this: process {} runs below keeper 0123abcd",
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    assert!(!house.hall.closing().is_cancelled());
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn a_look_that_fails_counts_against_the_caller() {
    let house = House::open(Limits::default(), Arc::new(|_| panic!("as this test wants")));
    let health = house.client().await.health().await.unwrap();
    assert_eq!(health.caller.standing, Standing::agent("could not be looked at"));
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn another_version_is_said_before_anything_is_believed() {
    let house = House::open(Limits::default(), person());
    let mut client = Client::connect(house.settings("1.3.0")).await.unwrap();
    let error = client.health().await.unwrap_err();
    assert_eq!(error.to_string(), "the daemon is ostler 1.2.3 and this is ostler 1.3.0");
    house.close(StopMode::Graceful).await;
}

#[tokio::test]
async fn lines_end_whole_or_break_off() {
    let house = House::open(Limits::default(), person());
    let mut lines = house.client().await.lines("/v1/three").await.unwrap();
    let mut numbers = Vec::new();
    while let Some(line) = lines.next::<Value>().await.unwrap() {
        numbers.push(line["number"].as_u64().unwrap());
    }
    assert_eq!(numbers, [0, 1, 2]);
    let mut lines = house.client().await.lines("/v1/endless").await.unwrap();
    for number in 0..2 {
        assert_eq!(lines.next::<Value>().await.unwrap(), Some(json!({ "number": number })));
    }
    let closing = house.close(StopMode::Graceful);
    let (end, ()) = tokio::join!(lines.next::<Value>(), closing);
    assert!(matches!(end, Err(ClientError::Broken(_))), "{end:?}");
}

#[tokio::test]
async fn what_is_under_way_is_answered_before_the_end_and_the_socket_is_gone_after_it() {
    let house = House::open(Limits::default(), person());
    let socket = house.socket();
    let (mut slow, mut stopper) = (house.client().await, house.client().await);
    // Both are known to the daemon before the end begins.
    slow.health().await.unwrap();
    let (answer, ()) = tokio::join!(slow.get::<Value>("/v1/slow"), async {
        tokio::task::yield_now().await;
        let pid = std::process::id();
        assert_eq!(stopper.stop(StopMode::Graceful).await.unwrap().pid, pid);
    });
    assert_eq!(answer.unwrap(), json!("done"));
    timeout(PATIENCE, house.serving).await.unwrap().unwrap();
    let reason = format!("process {} asked for it", std::process::id());
    assert_eq!(house.hall.reason(), Some(reason));
    assert!(!socket.exists());
    let error = Client::connect(settings(&socket, "1.2.3")).await.unwrap_err();
    assert!(matches!(error, ClientError::NotRunning(_)), "{error}");
}

#[tokio::test]
async fn whoever_does_not_end_in_time_is_cut() {
    let limits = Limits { drain: Duration::from_millis(100), ..Limits::default() };
    let house = House::open(limits, person());
    let mut stream = UnixStream::connect(house.socket()).await.unwrap();
    let begun = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(begun.as_bytes()).await.unwrap();
    // Somebody who comes later is served, so the first has been let in.
    house.client().await.health().await.unwrap();
    house.close(StopMode::Graceful).await;
    assert_eq!(read_all(&mut stream).await, "");
}

#[tokio::test]
async fn only_a_dead_socket_of_ours_in_a_private_folder_is_replaced() {
    let folder = private_folder();
    let lock = folder.path().join("daemon.lock");
    let lock = DaemonLock::take(&lock, claim()).unwrap();
    let path = folder.path().join("socket");
    let open = || Door::open(DoorSettings::Path(path.clone()), Limits::default(), &lock);
    fs::write(&path, "").unwrap();
    assert!(matches!(open(), Err(DoorError::InTheWay(_))));
    fs::remove_file(&path).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(matches!(open(), Err(DoorError::Taken(_))));
    drop(listener);
    // A dead daemon's socket is still there, and in nobody's way.
    assert!(path.exists());
    drop(open().unwrap());
    assert!(!path.exists());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o750)).unwrap();
    assert!(matches!(open(), Err(DoorError::FolderNotPrivate(_))));
}

/// Credentials belong to the thread that connects, so one thread can be somebody else.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, to be somebody else"]
async fn another_user_is_refused_even_where_the_files_would_let_it_in() {
    let house = House::open(Limits::default(), person());
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(house.folder.path(), open.clone()).unwrap();
    fs::set_permissions(house.socket(), open).unwrap();
    let socket = house.socket();
    let stranger = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(65534);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let request = "GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n";
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut stream, &mut said).unwrap();
        said
    });
    let said = tokio::task::spawn_blocking(|| stranger.join()).await.unwrap().unwrap();
    assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{said}");
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let expected = json!({
        "type": "urn:ostler:problem:stranger-refused",
        "title": "this daemon serves another user",
        "status": 403,
        "detail": "this daemon serves user 0, not user 65534",
        "hint": "use a daemon of your own: `ostler daemon start` as your own user",
    });
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
    house.close(StopMode::Graceful).await;
}
