//! One browser that runs, and what can be done with it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::cdp::{CdpError, Line, LineTasks};
use super::chromium::{BrowserSettings, Chromium, LaunchError};
use super::gate::Gate;
use super::pages::{Pages, Wait, exception, remote};
use super::snapshot::{View, snapshot};
use crate::tools::web::Guard;

/// A page that still loads is shown as far as it has come.
const SETTLE: Duration = Duration::from_secs(10);

/// For the frame after which a page shows what it was told to.
const FRAME: Duration = Duration::from_secs(1);

/// Frames inside of a page whose trees are read.
const MOST_FRAMES: usize = 10;

/// Chromium comes up within a second; a machine that starts and swaps needs longer.
const START: Duration = Duration::from_secs(30);

/// After two frames all that a script has done at once is to be seen.
const TWO_FRAMES: &str =
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))";

const PLACE: &str = "JSON.stringify({ url: location.href, title: document.title, \
    status: (performance.getEntriesByType('navigation')[0] || {}).responseStatus || 0 })";

pub(super) struct Browser {
    pub(super) line: Line,
    pub(super) pages: Pages,
    gate: Gate,
    timeout: Duration,
    tasks: LineTasks,
    chromium: Chromium,
    guard: Arc<Guard>,
}

/// Why something was not done, for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrowserError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Cdp(#[from] CdpError),
    #[error("{0}")]
    Told(String),
}

impl Browser {
    pub(super) async fn start(
        settings: &BrowserSettings,
        guard: Arc<Guard>,
    ) -> Result<Self, BrowserError> {
        let gate = Gate::open(guard.clone()).await.map_err(LaunchError::Start)?;
        let (chromium, stream) = Chromium::start(settings, gate.port)?;
        let pages = Pages::new();
        let heard = pages.clone();
        let hear = move |line: &Line, event| heard.hear(line, &event);
        let (line, tasks) = Line::open(stream, settings.timeout, &chromium.ended, hear);
        let mut browser =
            Self { line, pages, gate, timeout: settings.timeout, tasks, chromium, guard };
        match tokio::time::timeout(START, browser.greet()).await {
            Ok(Ok(())) => Ok(browser),
            Ok(Err(_)) | Err(_) => Err(browser.chromium.silent().await.into()),
        }
    }

    async fn greet(&self) -> Result<(), BrowserError> {
        let refuse = json!({ "behavior": "deny", "eventsEnabled": true });
        self.line.browser("Browser.setDownloadBehavior", refuse).await?;
        let attach = json!({
            "autoAttach": true,
            // Nothing of a new page runs before it is listened to.
            "waitForDebuggerOnStart": true,
            "flatten": true,
            "filter": [{ "type": "page" }, { "exclude": true }],
        });
        self.line.browser("Target.setAutoAttach", attach).await?;
        match self.pages.wait(START, Wait::Page).await {
            true => Ok(()),
            false => Err(CdpError::Gone.into()),
        }
    }

    /// Whether another one has to be started.
    pub(super) fn is_gone(&self) -> bool {
        self.tasks.reading.is_finished()
    }

    /// A command to the page that is looked at.
    pub(super) async fn page(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        let session = self.pages.session().ok_or(CdpError::Gone)?;
        Ok(self.line.call(Some(&session), method, params, self.timeout).await?)
    }

    /// The value of an expression on the page.
    pub(super) async fn evaluate(&self, expression: &str) -> Result<Value, BrowserError> {
        let params = json!({
            "expression": expression,
            "returnByValue": true,
            "awaitPromise": true,
            "userGesture": true,
            // With it there is an `await` at the top, but no promise is waited for by itself.
            "replMode": expression.contains("await "),
        });
        let answer = self.page("Runtime.evaluate", params).await?;
        if let Some(details) = answer.get("exceptionDetails") {
            return Err(BrowserError::Told(exception(details)));
        }
        Ok(answer.get("result").cloned().unwrap_or_default())
    }

    /// Of a script of ours: a text.
    pub(super) async fn text_of(&self, expression: &str) -> Result<String, BrowserError> {
        Ok(remote(&self.evaluate(expression).await?))
    }

    /// Goes there, and tells what is to be seen.
    pub(super) async fn navigate(&self, written: &str) -> Result<String, BrowserError> {
        let told = |error: crate::tools::web::Refused| BrowserError::Told(error.to_string());
        let url = self.guard.parse(written).map_err(told)?;
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        // The gate would refuse it as well; here the reason can be told at once.
        self.guard.addresses(host, port).await.map_err(told)?;
        drop(self.gate.take_refusals());
        let answer = self.page("Page.navigate", json!({ "url": url.as_str() })).await?;
        let is_download = answer.get("isDownload").and_then(Value::as_bool) == Some(true);
        let error = answer.get("errorText").and_then(Value::as_str);
        if let Some(error) = error.filter(|_| !is_download) {
            return Err(BrowserError::Told(self.not_loaded(url.as_str(), error)));
        }
        if is_download {
            let said = format!("{url} is no page but a download, and downloads are refused");
            return Err(BrowserError::Told(said));
        }
        let is_loaded = self.pages.wait(self.timeout, Wait::Loaded).await;
        self.settle().await;
        let mut text = self.place().await?;
        if !is_loaded {
            text.push_str("it still loads; this is how far it has come\n");
        }
        text.push_str(&self.notes());
        text.push('\n');
        text.push_str(&self.snapshot(View::Short).await?);
        Ok(text)
    }

    fn not_loaded(&self, url: &str, error: &str) -> String {
        let refusals = self.gate.take_refusals();
        let why = if refusals.is_empty() { error.to_owned() } else { refusals.join("\n") };
        format!("{url} was not loaded: {why}")
    }

    /// Waits for what an action has set going.
    pub(super) async fn settle(&self) {
        let frames = self.evaluate(TWO_FRAMES);
        // A page that goes away, or that stands still, is told by what follows.
        tokio::time::timeout(FRAME, frames).await.ok();
        self.pages.wait(SETTLE, Wait::Loaded).await;
    }

    /// Where one is.
    pub(super) async fn place(&self) -> Result<String, BrowserError> {
        let text = self.text_of(PLACE).await?;
        let place: Value = serde_json::from_str(&text).unwrap_or_default();
        let part = |name: &str| place.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut text = format!("url: {}\ntitle: {}\n", part("url"), part("title"));
        let status = place.get("status").and_then(Value::as_u64).unwrap_or_default();
        if status >= 400 {
            text.push_str(&format!("the server answered {status}\n"));
        }
        Ok(text)
    }

    /// What happened besides: each on a line.
    pub(super) fn notes(&self) -> String {
        let notes = self.pages.take_notes().into_iter();
        let refused = self.gate.take_refusals().into_iter();
        let refused = refused.map(|why| format!("a part of the page was not loaded: {why}"));
        notes.chain(refused).map(|note| format!("note: {note}\n")).collect()
    }

    pub(super) async fn snapshot(&self, view: View) -> Result<String, BrowserError> {
        let tree = self.page("Page.getFrameTree", json!({})).await?;
        let mut frames = Vec::new();
        for frame in frame_ids(&tree) {
            let params = json!({ "frameId": frame });
            match self.page("Accessibility.getFullAXTree", params).await {
                Ok(tree) => frames.push(tree),
                Err(error) if frames.is_empty() => return Err(error),
                // A frame that went away meanwhile.
                Err(_) => {}
            }
        }
        let shown = self.pages.with_refs(|refs| snapshot(&frames, view, refs));
        shown.ok_or_else(|| CdpError::Gone.into())
    }
}

/// The page's own frame first.
fn frame_ids(tree: &Value) -> Vec<String> {
    let mut ids = Vec::new();
    let mut left: Vec<&Value> = tree.get("frameTree").into_iter().collect();
    while let Some(frame) = left.pop() {
        let id = frame.pointer("/frame/id").and_then(Value::as_str);
        ids.extend(id.map(str::to_owned));
        if ids.len() >= MOST_FRAMES {
            break;
        }
        let children = frame.get("childFrames").and_then(Value::as_array).into_iter().flatten();
        left.extend(children.rev());
    }
    ids
}
