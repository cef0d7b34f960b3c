//! Long answers: one JSON object per line, as things happen.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// An empty line at this distance shows the reader that a silent stream is alive, and us that the reader is.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

struct Lines<S> {
    items: Pin<Box<S>>,
    closing: CancellationToken,
}

/// An answer of one line per item. If the daemon closes first, the answer breaks off, so that the reader does not take it
/// for whole.
pub fn ndjson<S>(items: S, closing: CancellationToken) -> Response
where
    S: Stream<Item: Serialize> + Send + 'static,
{
    let lines = Lines { items: Box::pin(items), closing };
    let mut response = Response::new(Body::from_stream(stream::unfold(lines, next)));
    let content_type = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    at_once(response)
}

/// Tells all between here and the reader to hand on each piece as it comes, which nginx and those after its manner obey.
pub(crate) fn at_once(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

async fn next<S>(mut lines: Lines<S>) -> Option<(io::Result<Bytes>, Lines<S>)>
where
    S: Stream<Item: Serialize>,
{
    let line = tokio::select! {
        // First, or a stream that always has more would never let the daemon end.
        biased;
        () = lines.closing.cancelled() => Err(io::Error::other("the daemon is about to end")),
        item = lines.items.next() => match serde_json::to_vec(&item?) {
            Ok(mut line) => {
                line.push(b'\n');
                Ok(Bytes::from(line))
            }
            Err(error) => Err(io::Error::other(error)),
        },
        () = sleep(HEARTBEAT) => Ok(Bytes::from_static(b"\n")),
    };
    Some((line, lines))
}
