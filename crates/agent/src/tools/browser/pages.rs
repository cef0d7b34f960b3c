//! What is known of the pages of one browser: told by events, asked by calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::cdp::{Event, Line};
use super::snapshot::Refs;

/// Lines of the console that are kept; the oldest go first.
const MOST_LINES: usize = 200;
const LINE: usize = 500;

/// Windows that pages open. The oldest but the first is closed for another.
const MOST_PAGES: usize = 8;

/// Notes for the next answer.
const MOST_NOTES: usize = 8;

/// One tab.
#[derive(Default)]
struct Page {
    session: String,
    target: String,
    is_loading: bool,
    console: VecDeque<String>,
    refs: Refs,
}

#[derive(Default)]
struct Inner {
    /// The last one is the one that is looked at.
    pages: Vec<Page>,
    /// What happened that a model should know: dialogs, downloads, crashes.
    notes: VecDeque<String>,
}

#[derive(Clone)]
pub(super) struct Pages {
    inner: Arc<Mutex<Inner>>,
    changed: Arc<watch::Sender<u64>>,
}

impl Pages {
    pub(super) fn new() -> Self {
        Self { inner: Arc::default(), changed: Arc::new(watch::channel(0).0) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of the page that is looked at.
    pub(super) fn session(&self) -> Option<String> {
        self.lock().pages.last().map(|page| page.session.clone())
    }

    pub(super) fn take_notes(&self) -> Vec<String> {
        self.lock().notes.drain(..).collect()
    }

    /// What the console of the page said, and whether it shall be forgotten.
    pub(super) fn console(&self, clear: bool) -> Vec<String> {
        let mut inner = self.lock();
        let Some(page) = inner.pages.last_mut() else { return Vec::new() };
        let lines = page.console.iter().cloned().collect();
        if clear {
            page.console.clear();
        }
        lines
    }

    /// With the names of the elements of the page that is looked at.
    pub(super) fn with_refs<T>(&self, work: impl FnOnce(&mut Refs) -> T) -> Option<T> {
        self.lock().pages.last_mut().map(|page| work(&mut page.refs))
    }

    /// Waits until there is a page, or until nothing loads. False if it takes too long.
    pub(super) async fn wait(&self, limit: Duration, what: Wait) -> bool {
        let mut changed = self.changed.subscribe();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                let is_there = match (self.lock().pages.last(), what) {
                    (Some(page), Wait::Loaded) => !page.is_loading,
                    (Some(_), Wait::Page) => true,
                    (None, _) => false,
                };
                if is_there || changed.changed().await.is_err() {
                    return is_there;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.unwrap_or(false)
    }

    pub(super) fn hear(&self, line: &Line, event: &Event) {
        let params = &event.params;
        match (event.method.as_str(), &event.session) {
            ("Target.attachedToTarget", None) => self.attached(line, params),
            ("Target.detachedFromTarget", None) => {
                let session = text(params, "sessionId");
                self.lock().pages.retain(|page| page.session != session);
            }
            ("Browser.downloadWillBegin", None) => {
                let name = text(params, "suggestedFilename");
                let note = format!("a download was refused: {name:?}");
                let mut inner = self.lock();
                inner.pages.iter_mut().for_each(|page| page.is_loading = false);
                inner.note(note);
            }
            (_, Some(session)) => self.of_page(line, session, event),
            _ => return,
        }
        self.changed.send_modify(|version| *version += 1);
    }

    fn attached(&self, line: &Line, params: &Value) {
        let session = text(params, "sessionId");
        let info = params.get("targetInfo").cloned().unwrap_or_default();
        let nothing = json!({});
        if text(&info, "type") != "page" {
            line.tell(Some(&session), "Runtime.runIfWaitingForDebugger", &nothing);
            return;
        }
        for method in ["Page.enable", "Runtime.enable", "Log.enable", "DOM.enable"] {
            line.tell(Some(&session), method, &nothing);
        }
        line.tell(Some(&session), "Runtime.runIfWaitingForDebugger", &nothing);
        let mut inner = self.lock();
        if !inner.pages.is_empty() {
            inner.note("the page has opened another, which is looked at now".to_owned());
        }
        // A window that a page opens has something to load; the browser's own first one has not.
        let is_loading = !inner.pages.is_empty();
        let target = text(&info, "targetId");
        inner.pages.push(Page { session, target, is_loading, ..Page::default() });
        if inner.pages.len() > MOST_PAGES {
            let oldest = inner.pages.remove(1);
            line.tell(None, "Target.closeTarget", &json!({ "targetId": oldest.target }));
        }
    }

    fn of_page(&self, line: &Line, session: &str, event: &Event) {
        let params = &event.params;
        let mut inner = self.lock();
        let Some(page) = inner.pages.iter_mut().find(|page| page.session == session) else {
            return;
        };
        // The main frame has the name of the page itself.
        let is_main = |frame: &str| frame == page.target;
        match event.method.as_str() {
            "Page.frameStartedLoading" if is_main(&text(params, "frameId")) => {
                page.is_loading = true;
            }
            "Page.frameRequestedNavigation"
                if is_main(&text(params, "frameId"))
                    && text(params, "disposition") == "currentTab" =>
            {
                page.is_loading = true;
            }
            "Page.frameStoppedLoading" if is_main(&text(params, "frameId")) => {
                page.is_loading = false;
            }
            "Page.frameNavigated" => {
                let frame = params.get("frame").cloned().unwrap_or_default();
                if frame.get("parentId").is_none() {
                    page.refs.forget();
                }
            }
            "Page.javascriptDialogOpening" => {
                let note = dialog(line, session, params);
                inner.note(note);
            }
            "Inspector.targetCrashed" => {
                page.is_loading = false;
                inner.note("the page has crashed; navigate again".to_owned());
            }
            "Runtime.consoleAPICalled" => page.log(&called(params)),
            "Runtime.exceptionThrown" => page.log(&thrown(params)),
            "Log.entryAdded" => page.log(&entry(params)),
            _ => {}
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Page,
    Loaded,
}

impl Inner {
    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push_back(note);
        }
    }
}

impl Page {
    fn log(&mut self, line: &str) {
        if self.console.len() >= MOST_LINES {
            self.console.pop_front();
        }
        self.console.push_back(line.chars().take(LINE).collect());
    }
}

/// A page waits until its dialog is answered. Nobody is asked: what is only told is taken note of, what asks gets a no.
fn dialog(line: &Line, session: &str, params: &Value) -> String {
    let kind = text(params, "type");
    let accept = matches!(kind.as_str(), "alert" | "beforeunload");
    line.tell(Some(session), "Page.handleJavaScriptDialog", &json!({ "accept": accept }));
    let message: String = text(params, "message").chars().take(LINE).collect();
    let done = if accept { "accepted" } else { "dismissed" };
    format!("the page showed a dialog ({kind}), which was {done}: {message:?}")
}

fn called(params: &Value) -> String {
    let arguments = params.get("args").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<String> = arguments.map(remote).collect();
    format!("[{}] {}", text(params, "type"), texts.join(" "))
}

fn thrown(params: &Value) -> String {
    let details = params.get("exceptionDetails").cloned().unwrap_or_default();
    format!("[error] {}", exception(&details))
}

fn entry(params: &Value) -> String {
    let entry = params.get("entry").cloned().unwrap_or_default();
    let url = text(&entry, "url");
    let url = if url.is_empty() { url } else { format!(" ({url})") };
    format!("[{}] {}{url}", text(&entry, "level"), text(&entry, "text"))
}

/// What went wrong in a script, in its own words.
pub(super) fn exception(details: &Value) -> String {
    let own = details.get("exception").map(|it| text(it, "description")).unwrap_or_default();
    if own.is_empty() { text(details, "text") } else { own }
}

/// A value of the page as a person would write it.
pub(super) fn remote(object: &Value) -> String {
    match object.get("value") {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => {
            let described = text(object, "description");
            if described.is_empty() { text(object, "type") } else { described }
        }
    }
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
