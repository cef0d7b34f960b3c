//! HTTP errors: those that a script asks for, and our own.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::fault::Fault;

/// A response that is not a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Plain {
    pub(crate) fn json(status: StatusCode, body: &Value) -> Self {
        let content_type = ("content-type".to_owned(), "application/json".to_owned());
        Self { status, headers: vec![content_type], body: body.to_string() }
    }

    /// An error in the form of the Responses API.
    pub(crate) fn error(status: StatusCode, code: Option<&str>, message: &str) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let error = json!({"message": message, "type": kind, "param": null, "code": code});
        Self::json(status, &json!({"error": error}))
    }

    /// The error that a fault asks for; none if the fault is not an HTTP error.
    pub(crate) fn of_fault(fault: &Fault, now_s: u64) -> Option<Self> {
        match fault {
            Fault::Status { status, code, message, retry_after_s, body } => {
                let status = StatusCode::from_u16(*status).ok()?;
                let default = format!("the scripted model answers with status {status}");
                let message = message.as_deref().unwrap_or(&default);
                let mut plain = Self::error(status, code.as_deref(), message);
                plain.body = body.clone().unwrap_or(plain.body);
                let retry_after = retry_after_s.map(|time| ("retry-after", time.to_string()));
                let retry_after = retry_after.map(|(name, value)| (name.to_owned(), value));
                plain.headers.extend(retry_after);
                Some(plain)
            }
            Fault::UsageLimit { plan_type, resets_in_s } => {
                let error = json!({
                    "type": "usage_limit_reached",
                    "message": "The usage limit has been reached",
                    "plan_type": plan_type.as_deref().unwrap_or("pro"),
                    "resets_at": resets_in_s.map(|time| now_s.saturating_add(time)),
                    "resets_in_seconds": resets_in_s,
                });
                let status = StatusCode::TOO_MANY_REQUESTS;
                Some(Self::json(status, &json!({"error": error})))
            }
            _ => None,
        }
    }

    /// The list of models, in OpenAI's form and in Codex's. Codex keeps its own catalogue when `models` is
    /// empty, and asks for this only with a login.
    pub(crate) fn models() -> Self {
        let model = json!({"id": MODEL, "object": "model", "created": 0, "owned_by": "scripted"});
        let list = json!({"object": "list", "data": [model], "models": []});
        Self::json(StatusCode::OK, &list)
    }
}

/// A model of Codex's own catalogue from 0.125 on: only for those does it offer every tool, `apply_patch` as
/// a custom tool among them.
pub(crate) const MODEL: &str = "gpt-5.5";
