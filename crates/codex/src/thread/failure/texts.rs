//! The texts that must be read because Codex gives no better word than `other`.

use ostler_model::FailureClass;

use super::{of_status, rate_limit};
use crate::protocol::error::RefusalBody;

/// One text. All of it must hold; nothing is looked for in the middle of a message that begins otherwise.
pub(super) struct Text {
    place: Place,
    begins: &'static str,
    /// What follows somewhere behind the beginning; for the name of a model that stands between.
    then: &'static str,
    class: FailureClass,
    /// The versions it was seen on. A number with `#` is a report to openai/codex with the provider's real text.
    #[cfg_attr(not(test), expect(dead_code, reason = "the table says where each text is from"))]
    pub(super) seen_on: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Codex's message.
    Message,
    /// `error.code` of an HTTP 400's body, which Codex passes on as its message.
    BodyCode,
    /// `error.message` or `detail` of such a body.
    BodyMessage,
}

const RATE_LIMIT: FailureClass = FailureClass::RateLimit { retry_after_ms: None };

/// The first that fits counts.
#[rustfmt::skip]
pub(super) const TEXTS: &[Text] = &[
    text("Missing environment variable: `", "`.", FailureClass::Auth, "0.130.0 0.142.5 0.166.0"),
    text("auth refresh request ", "", FailureClass::Auth, "0.130.0 0.142.5 0.166.0"),
    text("unexpected status 404 Not Found: The model `", "` does not exist", FailureClass::ModelNotFound, "≤0.142.5 #43420"),
    text("unexpected status 404 Not Found: Model not found ", "", FailureClass::ModelNotFound, "≤0.142.5 #18790"),
    // `response.failed` with a code that this version does not know ends like a broken stream.
    text("stream disconnected before completion: The model `", "` does not exist", FailureClass::ModelNotFound, "≤0.142.5"),
    text("stream disconnected before completion: Rate limit ", "", RATE_LIMIT, "≤0.142.5 #10062 #3764"),
    // Other providers have other words for it, and OpenAI's for the time.
    text("stream disconnected before completion: ", "lease try again in ", RATE_LIMIT, "≤0.142.5"),
    text("stream disconnected before completion: Incomplete response returned, reason: content_filter", "", FailureClass::Policy, "0.130.0 0.142.5 0.166.0"),
    text("stream disconnected before completion: Incomplete response returned, reason: ", "", FailureClass::BadRequest, "0.130.0 0.142.5"),
    text("Incomplete response returned, reason: ", "", FailureClass::BadRequest, "0.166.0"),
    text("stream disconnected before completion: stream closed before response.completed", "", FailureClass::Network, "0.130.0 0.142.5 0.166.0"),
    text("stream disconnected before completion: Transport error: ", "", FailureClass::Network, "0.130.0 0.142.5 0.166.0"),
    text("stream disconnected before completion: idle timeout waiting for SSE", "", FailureClass::Network, "0.130.0 0.142.5 0.166.0"),
    text("stream disconnected before completion: UTF8 error: ", "", FailureClass::Network, "0.130.0 0.142.5 0.166.0"),
    // Up to 0.142.5 with ` for url (…)` behind it.
    text("stream disconnected before completion: error sending request", "", FailureClass::Network, "0.130.0 0.142.5 0.166.0"),
    // All other ends of this kind are the server's own words for a failure it did not name.
    text("stream disconnected before completion: ", "", FailureClass::ServerError, "0.130.0 0.142.5 0.166.0"),
    text("This content was flagged for possible biological risk.", "", FailureClass::Policy, "0.166.0"),
    code("context_length_exceeded", FailureClass::ContextWindow, "0.130.0 0.142.5 0.166.0"),
    code("model_not_found", FailureClass::ModelNotFound, "0.130.0 0.142.5 0.166.0"),
    body("The '", "' model is not supported when using Codex with a ChatGPT account.", FailureClass::ModelNotFound, "0.136.0 #17642 #26053"),
];

const fn text(
    begins: &'static str,
    then: &'static str,
    class: FailureClass,
    seen_on: &'static str,
) -> Text {
    Text { place: Place::Message, begins, then, class, seen_on }
}

const fn code(begins: &'static str, class: FailureClass, seen_on: &'static str) -> Text {
    Text { place: Place::BodyCode, begins, then: "", class, seen_on }
}

const fn body(
    begins: &'static str,
    then: &'static str,
    class: FailureClass,
    seen_on: &'static str,
) -> Text {
    Text { place: Place::BodyMessage, begins, then, class, seen_on }
}

/// The class of a message, and the HTTP status it names.
pub(super) fn read(message: &str) -> (FailureClass, Option<u16>) {
    let status = status_in(message);
    if let Some(class) = find(Place::Message, message) {
        return (with_time(class, message), status);
    }
    if let Some(status) = status {
        return (of_status(status, message), Some(status));
    }
    if let Some(body) = RefusalBody::read(message) {
        let code = body.code.as_deref().and_then(|code| find(Place::BodyCode, code));
        let class = code.or_else(|| find(Place::BodyMessage, body.message.as_deref()?));
        return (class.unwrap_or(FailureClass::BadRequest), Some(400));
    }
    (FailureClass::Unknown { word: None }, None)
}

fn find(place: Place, text: &str) -> Option<FailureClass> {
    let fits = |row: &&Text| match place {
        Place::BodyCode => text == row.begins,
        Place::Message | Place::BodyMessage => {
            text.strip_prefix(row.begins).is_some_and(|rest| rest.contains(row.then))
        }
    };
    let row = TEXTS.iter().filter(|row| row.place == place).find(fits)?;
    Some(row.class.clone())
}

fn with_time(class: FailureClass, message: &str) -> FailureClass {
    match class {
        FailureClass::RateLimit { .. } => rate_limit(message),
        class => class,
    }
}

/// The status in `unexpected status 503 Service Unavailable: …`, which up to 0.142.5 is the only place that has it.
fn status_in(message: &str) -> Option<u16> {
    let rest = message.strip_prefix("unexpected status ")?;
    let (digits, _) = rest.split_once(' ')?;
    let status = digits.parse().ok()?;
    (100..=599).contains(&status).then_some(status)
}
