//! A web site on loopback, and the tools with a browser of their own.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ostler_agent::Activity;
use ostler_agent::api::{Answer, ApiError, Call, ModelApi, Piece, Question};
use ostler_agent::ports::{Asks, PortError};
use ostler_agent::sandbox::Confinement;
use ostler_agent::tool::{CallContext, ToolResult};
use ostler_agent::tools::{
    BrowserSettings, OutsideSettings, Toolbox, Vision, WebSettings, outside_tools,
};
use ostler_model::task::{AskRecord, DecisionRecord};
use ostler_model::{Ask, AskId};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The whole test fails long before, if the machine is not stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The one that scripts/test names, or the one of this machine.
#[expect(clippy::disallowed_methods, reason = "tests have no door that could hand it down")]
pub(crate) fn chromium() -> PathBuf {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return named.into();
    }
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places = names.iter().map(|name| Path::new("/usr/bin").join(name));
    let found = places.find(|path| path.exists());
    found.unwrap_or_else(|| panic!("Chromium is missing; scripts/test installs it"))
}

pub(crate) struct Inn {
    pub(crate) port: u16,
    pub(crate) eyes: Arc<Eyes>,
    asked: Arc<Mutex<Vec<String>>>,
    toolbox: Option<Toolbox>,
    _serving: AbortOnDropHandle<()>,
    folder: TempDir,
}

impl Inn {
    /// Pages by their path; each with its kind and its text. `PORT` in a text is the port.
    pub(crate) async fn new(pages: &'static [(&'static str, &'static str)]) -> Self {
        Self::with(pages, |_| {}).await
    }

    /// With a browser that is started in another way.
    pub(crate) async fn with(
        pages: &'static [(&'static str, &'static str)],
        change: impl FnOnce(&mut BrowserSettings),
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, pages, port, seen.clone()));
            }
        });
        // Sockets of Chromium need short paths.
        let folder = tempfile::Builder::new().prefix("b").tempdir_in("/var/tmp").unwrap();
        let eyes = Arc::new(Eyes::default());
        let seeing: Arc<dyn ModelApi> = eyes.clone();
        let seeing = Arc::new(move || Ok(seeing.clone()));
        let mut settings = OutsideSettings {
            web: WebSettings {
                search: None,
                allowed_hosts: vec![format!("localhost:{port}")],
                timeout: Duration::from_secs(30),
                most_bytes: 1 << 20,
            },
            browser: BrowserSettings {
                program: Some(chromium()),
                launcher: vec![env!("CARGO_BIN_EXE_ostler").into(), "sandbox-exec".into()],
                environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
                profiles: folder.path().join("p"),
                sandbox: true,
                timeout: Duration::from_secs(60),
            },
            vision: Vision::new(seeing, Some("eyes".to_owned())),
            images: None,
            speech: None,
            media: folder.path().join("media"),
        };
        change(&mut settings.browser);
        let boundary = Arc::new(Confinement::default().resolve());
        let toolbox = Some(Toolbox::new(outside_tools(settings, &boundary)));
        let serving = AbortOnDropHandle::new(serving);
        Self { port, eyes, asked, toolbox, _serving: serving, folder }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// Paths that were asked for, with their host.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn profiles(&self) -> PathBuf {
        self.folder.path().join("p")
    }

    /// All tools go, and with them the browser.
    pub(crate) fn close(&mut self) {
        self.toolbox = None;
    }

    pub(crate) async fn call_as(
        &self,
        conversation: &str,
        tool: &str,
        arguments: Value,
    ) -> ToolResult {
        let context = CallContext {
            conversation: conversation.to_owned(),
            call: "call".to_owned(),
            cwd: self.folder.path().to_owned(),
            asks: Arc::new(Nobody),
            stop: CancellationToken::new(),
        };
        let call =
            Call { id: "call".to_owned(), tool: tool.to_owned(), arguments: arguments.to_string() };
        let running = self.toolbox.as_ref().unwrap().run(&call, &context);
        tokio::time::timeout(PATIENCE, running).await.unwrap()
    }

    pub(crate) async fn said(&self, tool: &str, arguments: Value) -> String {
        let result = self.call_as("one", tool, arguments).await;
        assert!(!result.is_error, "{tool}: {}", result.content);
        result.content
    }

    pub(crate) async fn failed(&self, tool: &str, arguments: Value) -> String {
        let result = self.call_as("one", tool, arguments).await;
        assert!(result.is_error, "{tool}: {}", result.content);
        result.content
    }

    /// Every process that has one of our profiles in its command line.
    pub(crate) fn processes(&self) -> Vec<i32> {
        processes(&self.profiles())
    }
}

/// The folder goes last: a browser that still runs would make it again.
impl Drop for Inn {
    fn drop(&mut self) {
        self.toolbox = None;
        let begun = Instant::now();
        while !self.processes().is_empty() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn processes(profiles: &Path) -> Vec<i32> {
    let wanted = profiles.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(wanted)
    };
    pids.filter(is_ours).collect()
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The name of the element in a snapshot whose line begins so.
pub(crate) fn named(snapshot: &str, line: &str) -> String {
    let found = snapshot.lines().find(|it| it.trim().starts_with(line));
    let found = found.unwrap_or_else(|| panic!("no {line} in:\n{snapshot}"));
    let name = found.split(" @").nth(1).unwrap();
    format!("@{}", name.split([' ', ':']).next().unwrap())
}

async fn serve(
    mut stream: TcpStream,
    pages: &'static [(&'static str, &'static str)],
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|it| it == b"\r\n\r\n") {
        match stream.read_buf(&mut bytes).await {
            Ok(1..) => {}
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default();
    asked.lock().unwrap().push(format!("{host}{path}"));
    let bare = path.split('?').next().unwrap_or_default();
    let page = pages.iter().find(|(known, _)| *known == bare).map(|(_, text)| *text);
    // The browser asks for an icon whenever it likes, and a missing one would stand in the console of any page.
    let missing = match bare {
        "/favicon.ico" => "HTTP/1.1 204 No Content\n\n",
        _ => "HTTP/1.1 404 Not Found\ncontent-type: text/html\n\n<p>gone",
    };
    let text = page.unwrap_or(missing);
    let text = text.replace("PORT", &port.to_string());
    let (head, body) = match text.strip_prefix("HTTP/1.1 ") {
        None => ("200 OK\ncontent-type: text/html; charset=utf-8".to_owned(), text),
        Some(rest) => {
            let (head, body) = rest.split_once("\n\n").unwrap();
            (head.to_owned(), body.to_owned())
        }
    };
    let head = head.replace('\n', "\r\n");
    let answer = format!(
        "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok();
    stream.shutdown().await.ok();
}

/// A model that says how large the picture is that it was shown.
#[derive(Default)]
pub(crate) struct Eyes {
    pub(crate) asked: Mutex<Vec<Question>>,
}

impl ModelApi for Eyes {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        _: &'a (dyn Fn(Piece) + Send + Sync),
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, ApiError>> {
        self.asked.lock().unwrap().push(question.clone());
        Box::pin(async { Ok(Answer { text: "a stable".to_owned(), ..Answer::default() }) })
    }
}

/// Nothing in these tests is to be asked for.
struct Nobody;

impl Asks for Nobody {
    fn open<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        panic!("asked for {ask:?}")
    }

    fn decision<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        panic!("asked for {ask}")
    }

    fn withdraw<'a>(&'a self, _: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn show(&self, activity: Activity) {
        panic!("shown: {activity:?}")
    }
}
