//! Every error an HTTP client sees: one RFC 9457 document.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_model::AuditKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::Audited;

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
    /// What to do about it. Every problem of ours has one; another daemon's may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whatever else a program may want to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
    /// Seconds; a header, and no part of the document.
    #[serde(skip)]
    retry_after: Option<u16>,
    /// As what it is written into the audit log; no part of the document.
    #[serde(skip)]
    audited: Option<AuditKind>,
}

/// The kinds of problem. Each has one HTTP status; kinds are added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The request makes no sense.
    BadRequest,
    /// Nobody is logged in, and no token was given that counts.
    Unauthorized,
    /// The token is not good for this.
    ScopeMissing,
    /// A page changes something without the word that only our own page knows.
    CsrfRefused,
    /// The request is for another name than ours, or from a page that is not ours.
    OriginRefused,
    /// The path leads out of where it may lead.
    FileRefused,
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
    /// The task is at work, and what is sent shall not wait for it.
    Busy,
    TooLarge,
    /// A part of a file that is not there.
    NotSatisfiable,
    /// Too many tokens or codes were tried that are none.
    TooManyFailures,
    /// Every place is taken.
    TooManyConnections,
    /// The daemon is about to end.
    Closing,
    /// It cannot be done now, and may be later.
    Unavailable,
    Internal,
}

/// For requests that could not be read.
pub(crate) const WHAT_IT_TAKES: &str =
    "GET /openapi.json says what each route takes, and /docs shows it";

impl Trouble {
    fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", 400, "the request cannot be understood"),
            Self::Unauthorized => ("unauthorized", 401, "a login or a token is needed"),
            Self::ScopeMissing => ("scope-missing", 403, "the token is not good for this"),
            Self::CsrfRefused => ("csrf-refused", 403, "the request is not from our page"),
            Self::OriginRefused => ("origin-refused", 403, "the request is not meant for us"),
            Self::FileRefused => ("file-refused", 403, "this file is not the task's"),
            Self::StrangerRefused => ("stranger-refused", 403, "this daemon serves another user"),
            Self::AgentRefused => ("agent-refused", 403, "only a person may do this"),
            Self::NotFound => ("not-found", 404, "there is no such thing"),
            Self::MethodNotAllowed => ("method-not-allowed", 405, "this cannot be done here"),
            Self::TooSlow => ("too-slow", 408, "the request came too slowly"),
            Self::Conflict => ("conflict", 409, "this does not fit the present state"),
            Self::Busy => ("busy", 409, "the task is at work"),
            Self::TooLarge => ("too-large", 413, "the request is too large"),
            Self::NotSatisfiable => ("not-satisfiable", 416, "there is no such part"),
            Self::TooManyFailures => ("too-many-failures", 429, "too many failed attempts"),
            Self::TooManyConnections => ("too-many-connections", 503, "all places are taken"),
            Self::Closing => ("closing", 503, "the daemon is about to end"),
            Self::Unavailable => ("unavailable", 503, "not possible at the moment"),
            Self::Internal => ("internal", 500, "a fault of the daemon"),
        }
    }

    /// What to do about it, unless the caller of `new` says more.
    fn usual_hint(self) -> &'static str {
        match self {
            Self::BadRequest => "correct that, and try again",
            Self::MethodNotAllowed => WHAT_IT_TAKES,
            Self::Unauthorized => {
                "`ostler token new` makes a token for a program, `ostler open` logs a browser in"
            }
            Self::ScopeMissing => "`ostler token new --scope SCOPE` makes a token that has it",
            Self::CsrfRefused => "load our own page again; programs use a token",
            Self::OriginRefused => {
                "ask by a name that is the daemon's own (`hosts` in [server] adds one), and from no other page"
            }
            Self::FileRefused => {
                "name a file below the folder of the task, without links that lead out"
            }
            Self::StrangerRefused => {
                "use a daemon of your own: `ostler daemon start` as your own user"
            }
            Self::AgentRefused => "let a person do it, from a terminal of their own",
            Self::NotFound => {
                "`ostler ls --all` lists tasks, `ostler asks` what is asked; look at the id"
            }
            Self::TooSlow => "send it again, all of it at once",
            Self::Conflict => "look how things stand now, and ask for what fits",
            Self::Busy => "wait for the end of its turn, or send it as a steer or to the queue",
            Self::TooLarge => "put large input into a file and name the file",
            Self::NotSatisfiable => "ask for a part that is there, or without Range for all of it",
            Self::TooManyFailures => "wait a minute, then use a token or code that counts",
            Self::TooManyConnections => "close some, or try again later",
            Self::Closing => "try again in a moment; `ostler daemon start` starts a daemon",
            Self::Unavailable => "try again in a moment; `ostler doctor` looks for what is wrong",
            Self::Internal => {
                "the daemon's log says more; `ostler daemon status` shows where it is"
            }
        }
    }

    /// The kind for a status that came without a problem document.
    fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            401 => Self::Unauthorized,
            403 => Self::AgentRefused,
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::TooSlow,
            409 => Self::Conflict,
            413 => Self::TooLarge,
            416 => Self::NotSatisfiable,
            429 => Self::TooManyFailures,
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
            hint: Some(trouble.usual_hint().to_owned()),
            data: None,
            retry_after: None,
            audited: None,
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

    /// When it makes sense to try again.
    pub(crate) fn retry_after(mut self, seconds: u16) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// That this refusal is written into the audit log.
    #[must_use]
    pub(crate) fn audited(mut self, kind: AuditKind) -> Self {
        self.audited = Some(kind);
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
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(kind) = self.audited {
            response.extensions_mut().insert(Audited { kind, why: self.detail });
        }
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

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    /// Also what the framework refuses by itself.
    #[tokio::test]
    async fn every_problem_says_what_to_do() {
        for status in 400..600 {
            let mut response = Response::new(Body::from("the framework's own words"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let body = only_problems(response).await.into_body();
            let problem: Problem =
                serde_json::from_slice(&to_bytes(body, 4096).await.unwrap()).unwrap();
            assert_eq!(problem.detail, "the framework's own words");
            assert!(problem.hint.is_some_and(|hint| !hint.is_empty()), "{status}");
        }
    }
}
