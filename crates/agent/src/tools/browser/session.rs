//! The browser of one conversation: started when it is first needed, one action after the other, started anew when it is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::acting::Direction;
use super::cdp::CdpError;
use super::chromium::BrowserSettings;
use super::driver::{Browser, BrowserError};
use super::looking::Picture;
use super::snapshot::View;
use crate::tools::web::Guard;

/// Calls that wait for the one that runs; the next one waits in front.
const QUEUE: usize = 16;

/// Browsers at once in one process; the one that was used longest ago ends for another.
const MOST_BROWSERS: usize = 4;

/// What can be asked of a browser.
#[derive(Debug)]
pub(super) enum Action {
    Navigate { url: String },
    Snapshot { view: View },
    Click { element: String },
    Type { element: String, text: String },
    Press { key: String },
    Scroll { direction: Direction },
    Back,
    Images,
    Console { clear: bool, expression: Option<String> },
    Picture { annotate: bool },
}

/// What came of it.
pub(super) enum Outcome {
    Text(String),
    Picture(Picture),
}

struct Request {
    action: Action,
    stop: CancellationToken,
    answer: oneshot::Sender<Result<Outcome, String>>,
}

/// The browsers of all conversations of this process. They end with it.
pub struct Browsers {
    settings: Arc<BrowserSettings>,
    guard: Arc<Guard>,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    clock: u64,
    by_conversation: HashMap<String, Session>,
}

struct Session {
    used: u64,
    requests: mpsc::Sender<Request>,
    _running: AbortOnDropHandle<()>,
}

impl Browsers {
    pub fn new(settings: BrowserSettings, guard: Arc<Guard>) -> Self {
        Self { settings: Arc::new(settings), guard, sessions: Mutex::default() }
    }

    pub(super) async fn run(
        &self,
        conversation: &str,
        action: Action,
        stop: &CancellationToken,
    ) -> Result<Outcome, String> {
        let (answer, answered) = oneshot::channel();
        let request = Request { action, stop: stop.clone(), answer };
        let requests = self.session(conversation);
        let gone = "the browser was ended in the middle; call again".to_owned();
        if requests.send(request).await.is_err() {
            return Err(gone);
        }
        answered.await.unwrap_or(Err(gone))
    }

    fn session(&self, conversation: &str) -> mpsc::Sender<Request> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.clock += 1;
        let now = sessions.clock;
        if let Some(known) = sessions.by_conversation.get_mut(conversation) {
            known.used = now;
            return known.requests.clone();
        }
        if sessions.by_conversation.len() >= MOST_BROWSERS {
            let oldest = sessions.by_conversation.iter().min_by_key(|(_, it)| it.used);
            let oldest = oldest.map(|(name, _)| name.clone());
            oldest.and_then(|name| sessions.by_conversation.remove(&name));
        }
        let (requests, queue) = mpsc::channel(QUEUE);
        let (settings, guard) = (self.settings.clone(), self.guard.clone());
        let running = tokio::spawn(Actor { settings, guard, browser: None }.run(queue));
        let session = Session {
            used: now,
            requests: requests.clone(),
            _running: AbortOnDropHandle::new(running),
        };
        sessions.by_conversation.insert(conversation.to_owned(), session);
        requests
    }
}

struct Actor {
    settings: Arc<BrowserSettings>,
    guard: Arc<Guard>,
    browser: Option<Browser>,
}

impl Actor {
    async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(request) = queue.recv().await {
            let Request { action, stop, answer } = request;
            let result = tokio::select! {
                biased;
                () = stop.cancelled() => Err("the turn was stopped; how far the page came is not known".to_owned()),
                result = self.perform(action) => result.map_err(|error| error.to_string()),
            };
            // Who asked may have gone.
            drop(answer.send(result));
        }
    }

    async fn perform(&mut self, action: Action) -> Result<Outcome, BrowserError> {
        if self.browser.as_ref().is_some_and(Browser::is_gone) {
            self.browser = None;
        }
        let browser = match (&self.browser, &action) {
            (Some(browser), _) => browser,
            (None, Action::Navigate { .. }) => {
                let started = Browser::start(&self.settings, self.guard.clone()).await?;
                self.browser.insert(started)
            }
            (None, _) => {
                let said = "no page is open; open one with `browser_navigate`";
                return Err(BrowserError::Told(said.to_owned()));
            }
        };
        Ok(Outcome::Text(match action {
            Action::Navigate { url } => match browser.navigate(&url).await {
                // A page that is stuck holds the browser fast; its place is better taken by another one.
                Err(BrowserError::Cdp(CdpError::TooSlow(_))) => {
                    self.browser = None;
                    let started = Browser::start(&self.settings, self.guard.clone()).await?;
                    self.browser.insert(started).navigate(&url).await?
                }
                done => done?,
            },
            Action::Snapshot { view } => {
                browser.settle().await;
                let place = browser.place().await?;
                let shown = browser.snapshot(view).await?;
                format!("{place}{}\n{shown}", browser.notes())
            }
            Action::Click { element } => browser.click(&element).await?,
            Action::Type { element, text } => browser.type_text(&element, &text).await?,
            Action::Press { key } => browser.press(&key).await?,
            Action::Scroll { direction } => browser.scroll(direction).await?,
            Action::Back => browser.back().await?,
            Action::Images => browser.images().await?,
            Action::Console { clear, expression } => {
                browser.console(clear, expression.as_deref()).await?
            }
            Action::Picture { annotate } => {
                return Ok(Outcome::Picture(browser.picture(annotate).await?));
            }
        }))
    }
}
