//! Server-sent events as bytes.

use bytes::Bytes;
use serde_json::{Map, Value};

/// One event of the Responses API: its type as the event's name, itself as the data.
pub(crate) fn event(kind: &str, sequence_number: u64, mut fields: Map<String, Value>) -> Bytes {
    fields.insert("type".to_owned(), Value::from(kind));
    fields.insert("sequence_number".to_owned(), Value::from(sequence_number));
    frame(kind, &Value::Object(fields).to_string())
}

/// Data that a script gave verbatim; it is named by its type if it is JSON and has one.
pub(crate) fn verbatim(data: &str) -> Bytes {
    let value = serde_json::from_str::<Value>(data).unwrap_or_default();
    match value.get("type").and_then(Value::as_str) {
        Some(kind) => frame(kind, data),
        None => self::data(data),
    }
}

/// One event of Chat Completions, which have no names.
pub(crate) fn data(data: &str) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

fn frame(kind: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {kind}\ndata: {data}\n\n"))
}

/// A comment, which every client of server-sent events skips.
pub(crate) const KEEP_ALIVE_COMMENT: &[u8] = b": keep-alive\n\n";

/// An event that no client of the Responses API knows.
pub(crate) const KEEP_ALIVE_PING: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// Half a JSON object, properly framed.
pub(crate) const BROKEN_JSON: &[u8] =
    b"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"tor\n\n";

/// Control characters without a field name, closed by a blank line so that the next event is whole.
pub(crate) const GARBAGE: &[u8] = b"\x01\x02\x7f<<not an event>>\x1b[31m\n\n";

/// A well-framed event whose data holds bytes that no UTF-8 text has.
pub(crate) const INVALID_UTF8: &[u8] =
    b"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"\xff\xfe\"}\n\n";
