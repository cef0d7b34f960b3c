//! Every error an HTTP client sees: one RFC 9457 document.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The media type of RFC 9457.
pub const CONTENT_TYPE: &str = "application/problem+json";

const TYPE_PREFIX: &str = "urn:ostler:problem:";

/// What went wrong, for a program by `type` and `data`, for a person by `detail` and `hint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    #[serde(default)]
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whatever else a program may want to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
}

/// The kinds of problem. Each has one HTTP status; kinds are added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The request makes no sense.
    BadRequest,
    /// The process belongs to another user.
    StrangerRefused,
    /// Only people may do this.
    AgentRefused,
    NotFound,
    MethodNotAllowed,
    /// The request came too slowly.
    TooSlow,
    /// What is asked for does not fit the state that things are in.
    Conflict,
    TooLarge,
    /// Every place is taken.
    TooManyConnections,
    /// The daemon is about to end.
    Closing,
    /// It cannot be done now, and may be later.
    Unavailable,
    Internal,
}

impl Trouble {
    fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", 400, "the request cannot be understood"),
            Self::StrangerRefused => ("stranger-refused", 403, "this daemon serves another user"),
            Self::AgentRefused => ("agent-refused", 403, "only a person may do this"),
            Self::NotFound => ("not-found", 404, "there is no such thing"),
            Self::MethodNotAllowed => ("method-not-allowed", 405, "this cannot be done here"),
            Self::TooSlow => ("too-slow", 408, "the request came too slowly"),
            Self::Conflict => ("conflict", 409, "this does not fit the present state"),
            Self::TooLarge => ("too-large", 413, "the request is too large"),
            Self::TooManyConnections => ("too-many-connections", 503, "all places are taken"),
            Self::Closing => ("closing", 503, "the daemon is about to end"),
            Self::Unavailable => ("unavailable", 503, "not possible at the moment"),
            Self::Internal => ("internal", 500, "a fault of the daemon"),
        }
    }

    /// The kind for a status that came without a problem document.
    fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            403 => Self::AgentRefused,
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::TooSlow,
            409 => Self::Conflict,
            413 => Self::TooLarge,
            503 => Self::Unavailable,
            400..=499 => Self::BadRequest,
            _ => Self::Internal,
        }
    }
}

impl Problem {
    pub fn new(trouble: Trouble, detail: impl Into<String>) -> Self {
        let (slug, status, title) = trouble.row();
        Self {
            kind: format!("{TYPE_PREFIX}{slug}"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            hint: None,
            data: None,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    pub fn is(&self, trouble: Trouble) -> bool {
        self.kind.strip_prefix(TYPE_PREFIX) == Some(trouble.row().0)
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    /// The document. It holds only text and numbers, so it can always be written.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(CONTENT_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response
    }
}

/// Errors of the framework itself are plain text; callers are promised a problem document for every error.
pub(crate) async fn only_problems(response: Response) -> Response {
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let is_problem = content_type.is_some_and(|value| value == CONTENT_TYPE);
    if is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    // The framework's sentences are short; anything longer is not one of them.
    let text = axum::body::to_bytes(response.into_body(), 4096).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let trouble = Trouble::of_status(status);
    let detail = if text.is_empty() { trouble.row().2.to_owned() } else { text };
    Problem::new(trouble, detail).into_response()
}
