//! One attempt: a request, and its answer as far as it comes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use super::Answer;
use super::http::{describe, retry_after};
use super::patience::Doing;
use super::reading::{Flow, Reading, Stream};
use super::recovery::Trouble;
use super::report;
use super::sse::MAX_EVENT_BYTES;
use super::watch::{Ended, Watch};

pub(crate) struct Attempt<'ask, R> {
    pub(crate) watch: Watch<'ask>,
    pub(crate) reading: R,
}

/// Why an attempt has no answer.
pub(crate) enum Stopped {
    Interrupted(Answer),
    /// With what had come by then, if anything had.
    Trouble(Trouble, Option<Answer>),
}

/// Errors are short; a page of a proxy is not worth more.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The last event of a stream may carry the same document, so the same bound holds for it.
const MAX_DOCUMENT_BYTES: usize = MAX_EVENT_BYTES;

impl<R: Reading> Attempt<'_, R> {
    pub(crate) async fn run(mut self, request: RequestBuilder) -> Result<Answer, Stopped> {
        let sent = self.watch.wait(request.send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Stopped::early(Trouble::Broken(describe(&error)))),
            Err(ended) => return Err(stopped(ended, None)),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        match is_document(&response) {
            true => self.read_document(response).await,
            false => self.read(response).await,
        }
    }

    async fn read(self, mut response: Response) -> Result<Answer, Stopped> {
        let Self { mut watch, reading } = self;
        let mut stream = Stream::new(reading);
        loop {
            let chunk = match watch.wait(response.chunk()).await {
                Ok(chunk) => chunk,
                Err(Ended::Silent(_)) if stream.reading.is_whole() => break,
                Err(ended) => return Err(stopped(ended, Some(stream.reading.partial()))),
            };
            let bytes = match chunk {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(_) if stream.reading.is_whole() => break,
                Err(error) => {
                    let trouble = Trouble::Broken(describe(&error));
                    return Err(Stopped::late(trouble, stream.reading.partial()));
                }
            };
            let mut pieces = Vec::new();
            let flow = stream.feed(&bytes, &mut pieces);
            watch.tell(pieces);
            match flow {
                Flow::GoOn => watch.heard(stream.reading.doing()),
                Flow::Over => break,
                flow => return Err(broken_off(flow, &stream.reading)),
            }
        }
        finished(stream, &watch).ok_or_else(|| Stopped::early(Trouble::Empty))
    }

    /// Some providers and proxies ignore `stream` and send the whole answer at once. It is read as the events that would
    /// have carried it.
    async fn read_document(self, mut response: Response) -> Result<Answer, Stopped> {
        let Self { mut watch, reading } = self;
        watch.heard(Doing::Thinking);
        let mut body = Vec::new();
        loop {
            match watch.wait(response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(Stopped::early(Trouble::Broken(describe(&error)))),
                Err(ended) => return Err(stopped(ended, None)),
            }
            if body.len() > MAX_DOCUMENT_BYTES {
                let message = format!("the answer is larger than {MAX_DOCUMENT_BYTES} bytes");
                return Err(Stopped::early(Trouble::Senseless(message)));
            }
            watch.heard(Doing::Thinking);
        }
        let document = serde_json::from_slice::<Value>(&body).map_err(|_| {
            Stopped::early(Trouble::Senseless(
                "the provider sent a document that is not JSON, such as a login page; check its base_url".to_owned(),
            ))
        })?;
        let Some(events) = R::events_of(&document) else {
            return Err(Stopped::early(match document.get("error") {
                Some(error) if !error.is_null() => {
                    Trouble::Reported(report::of_event(&document, now()))
                }
                _ => Trouble::Senseless(
                    "the provider sent JSON that is no answer of this API; check its base_url and its wire".to_owned(),
                ),
            }));
        };
        let mut stream = Stream::new(reading);
        let mut pieces = Vec::new();
        let flow = stream.take(events, &mut pieces);
        watch.tell(pieces);
        match flow {
            Flow::GoOn | Flow::Over => {
                finished(stream, &watch).ok_or_else(|| Stopped::early(Trouble::Empty))
            }
            flow => Err(broken_off(flow, &stream.reading)),
        }
    }

    async fn refused(mut self, mut response: Response) -> Stopped {
        let status = response.status();
        let retry_after = retry_after(response.headers());
        self.watch.heard(Doing::Thinking);
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BYTES {
            match self.watch.wait(response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                // A body that breaks off is better than none: the status is known.
                Ok(_) => break,
                Err(Ended::Interrupted) => return stopped(Ended::Interrupted, None),
                Err(_) => break,
            }
        }
        let body = String::from_utf8_lossy(&body);
        let report = report::of_response(status.as_u16(), retry_after, &body, now());
        Stopped::early(Trouble::Reported(report))
    }
}

/// `None` if nothing at all has come.
fn finished<R: Reading>(stream: Stream<R>, watch: &Watch<'_>) -> Option<Answer> {
    let (answer, pieces) = stream.finish()?;
    watch.tell(pieces);
    Some(answer)
}

/// Why an answer ends before its end.
fn broken_off<R: Reading>(flow: Flow, reading: &R) -> Stopped {
    let trouble = match flow {
        Flow::Failed(event) => Trouble::Reported(report::of_event(&event, now())),
        Flow::TooLarge(message) => Trouble::Senseless(message),
        Flow::GoOn | Flow::Over => Trouble::Empty,
    };
    Stopped::late(trouble, reading.partial())
}

impl Stopped {
    fn early(trouble: Trouble) -> Self {
        Self::Trouble(trouble, None)
    }

    fn late(trouble: Trouble, partial: Answer) -> Self {
        Self::Trouble(trouble, (!partial.is_empty()).then_some(partial))
    }
}

fn stopped(ended: Ended, partial: Option<Answer>) -> Stopped {
    match ended {
        Ended::Interrupted => Stopped::Interrupted(partial.unwrap_or_default()),
        Ended::Silent(message) => {
            Stopped::late(Trouble::Silent(message), partial.unwrap_or_default())
        }
        Ended::Late(message) => Stopped::late(Trouble::Late(message), partial.unwrap_or_default()),
    }
}

/// Providers and proxies put errors and login pages under status 200, too. Who names no type is believed to send events.
fn is_document(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/html"))
}

/// Unix seconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
