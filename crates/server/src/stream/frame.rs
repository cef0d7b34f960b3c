//! One piece of a stream, and the two ways to write it: server-sent events for pages, lines of JSON for programs.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::ndjson::at_once;

/// At this distance a silent stream shows that it is alive, and the reader that it reads. Proxies cut what is silent for a minute.
const PING: Duration = Duration::from_secs(15);

/// How soon a page tries again: a daemon that is replaced is back within a second.
const FIRST_WORDS: &str = "retry: 1000\n\n";

/// Written out once, however many read it and in whichever manner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// As a server-sent event.
    event: Bytes,
    /// The object in it, with the line break behind it.
    line: Bytes,
}

impl Frame {
    pub(crate) fn new(tag: &'static str, line: &impl Serialize) -> Self {
        Self::write(format!("event: {tag}\ndata: "), line)
    }

    /// One by which a reader says where it stands.
    pub(crate) fn at(seq: u64, tag: &'static str, line: &impl Serialize) -> Self {
        Self::write(format!("id: {seq}\nevent: {tag}\ndata: "), line)
    }

    /// In bytes.
    pub(crate) fn size(&self) -> usize {
        self.event.len()
    }

    #[cfg(test)]
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        self.event.as_ptr() == other.event.as_ptr()
    }

    /// The same as part of another stream: what was a line of its own stands in a line of this name.
    pub(crate) fn within(&self, tag: &str) -> Self {
        let inner = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let head = format!("event: {tag}\ndata: ");
        let start = head.len();
        let mut text = head.into_bytes();
        text.extend_from_slice(format!("{{\"line\":\"{tag}\",\"{tag}\":").as_bytes());
        text.extend_from_slice(inner);
        text.extend_from_slice(b"}\n\n");
        let event = Bytes::from(text);
        let line = event.slice(start..event.len().saturating_sub(1));
        Self { event, line }
    }

    fn write(head: String, line: &impl Serialize) -> Self {
        let start = head.len();
        let mut text = head.into_bytes();
        // Our own types hold text and numbers, which can always be written; JSON has no line break in it.
        if serde_json::to_writer(&mut text, line).is_err() {
            text.truncate(start);
        }
        text.extend_from_slice(b"\n\n");
        let event = Bytes::from(text);
        let line = event.slice(start..event.len().saturating_sub(1));
        Self { event, line }
    }
}

/// How a stream is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Lines,
    Events,
}

impl Manner {
    /// Whoever names server-sent events gets them.
    pub(crate) fn wanted(headers: &HeaderMap) -> Self {
        let mut accepted =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        match accepted.any(|value| value.contains("text/event-stream")) {
            true => Self::Events,
            false => Self::Lines,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    fn ping(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Lines => b"\n",
            Self::Events => b": ping\n\n",
        })
    }
}

struct Writing<S> {
    frames: Pin<Box<S>>,
    manner: Manner,
    closing: CancellationToken,
}

/// An answer that goes on. If the daemon closes first, it breaks off, so that nobody takes it for whole.
pub(crate) fn answer<S>(frames: S, manner: Manner, closing: CancellationToken) -> Response
where
    S: Stream<Item = Frame> + Send + 'static,
{
    let writing = Writing { frames: Box::pin(frames), manner, closing };
    let pieces = stream::unfold(writing, next);
    let first = match manner {
        Manner::Lines => None,
        Manner::Events => Some(Ok(Bytes::from_static(FIRST_WORDS.as_bytes()))),
    };
    let mut response = Response::new(Body::from_stream(stream::iter(first).chain(pieces)));
    let kind = HeaderValue::from_static(manner.kind());
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    at_once(response)
}

async fn next<S: Stream<Item = Frame>>(
    mut writing: Writing<S>,
) -> Option<(io::Result<Bytes>, Writing<S>)> {
    let piece = tokio::select! {
        // First, or a stream that always has more would never let the daemon end.
        biased;
        () = writing.closing.cancelled() => Err(io::Error::other("the daemon is about to end")),
        frame = writing.frames.next() => match (writing.manner, frame?) {
            (Manner::Lines, frame) => Ok(frame.line),
            (Manner::Events, frame) => Ok(frame.event),
        },
        () = sleep(PING) => Ok(writing.manner.ping()),
    };
    Some((piece, writing))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// Whoever has nothing to say shows that it lives, often enough for all between here and the reader.
    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_shows_that_it_lives() {
        for (manner, ping) in [(Manner::Events, ": ping\n\n"), (Manner::Lines, "\n")] {
            let silent = stream::pending::<Frame>();
            let response = answer(silent, manner, CancellationToken::new());
            let mut body = response.into_body().into_data_stream();
            if manner == Manner::Events {
                assert_eq!(body.next().await.unwrap().unwrap(), FIRST_WORDS);
            }
            let begin = Instant::now();
            for beats in 1..4 {
                assert_eq!(body.next().await.unwrap().unwrap(), ping);
                assert_eq!(begin.elapsed(), PING * beats);
            }
        }
    }

    #[test]
    fn a_frame_is_one_event_whatever_it_says() {
        let frame = Frame::at(7, "event", &serde_json::json!({ "text": "a\nb\r\n\ndata: x" }));
        let line = "{\"text\":\"a\\nb\\r\\n\\ndata: x\"}\n";
        assert_eq!(frame.event, format!("id: 7\nevent: event\ndata: {line}\n"));
        assert_eq!(frame.line, line);
        let within = frame.within("board");
        let line = format!("{{\"line\":\"board\",\"board\":{}}}\n", line.trim_end());
        assert_eq!(within.event, format!("event: board\ndata: {line}\n"));
        assert_eq!(within.line, line);
    }
}
