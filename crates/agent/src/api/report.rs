//! What a provider says about a failure, and which class it is of.

use std::time::Duration;

use ostler_model::{Failure, FailureClass};
use serde_json::Value;

/// A failure in a provider's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) failure: Failure,
    pub(crate) code: Option<String>,
    pub(crate) param: Option<String>,
    /// How long the provider asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

/// A message that is shown is cut here; an HTML page of a proxy would hide everything else.
const SHOWN_CHARS: usize = 600;

/// The provider's words for an account that has nothing left.
const USED_UP: [&str; 6] = [
    "usage_limit_reached",
    "usage_not_included",
    "usage_limit_exceeded",
    "insufficient_quota",
    "quota_exceeded",
    "billing_hard_limit_reached",
];

/// Of an HTTP response that is no success. `now` is in Unix seconds.
pub(crate) fn of_response(
    status: u16,
    retry_after: Option<Duration>,
    body: &str,
    now: i64,
) -> Report {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let mut words = Words::find(&value);
    if words.message.is_empty() {
        let text = body.trim();
        words.message = match text.is_empty() || text.starts_with('<') {
            true => format!("the provider answers with status {status} and does not say why"),
            false => text.to_owned(),
        };
    }
    words.into_report(Some(status), retry_after, now)
}

/// Of an event, or of the `error` in one.
pub(crate) fn of_event(event: &Value, now: i64) -> Report {
    let mut words = Words::find(event);
    if words.message.is_empty() {
        words.message = "the provider reports an error and does not say which".to_owned();
    }
    words.into_report(None, None, now)
}

impl Report {
    /// The provider could not read reasoning that it is said to have encrypted.
    pub(crate) fn is_about_encrypted_reasoning(&self) -> bool {
        let message = &self.failure.message;
        self.code.as_deref() == Some("invalid_encrypted_content")
            || (self.failure.http_status == Some(400)
                && message.contains("encrypted content")
                && message.contains("could not be"))
    }
}

#[derive(Debug, Default)]
struct Words {
    code: Option<String>,
    kind: Option<String>,
    message: String,
    param: Option<String>,
    status: Option<u16>,
    resets_at: Option<i64>,
    resets_in: Option<i64>,
}

impl Words {
    /// They stand at the top, in `error`, or in `response.error`; ChatGPT's servers write only `detail`.
    fn find(value: &Value) -> Self {
        let nested = ["/response/error", "/error"].into_iter().find_map(|at| value.pointer(at));
        let error = nested.filter(|error| !error.is_null()).unwrap_or(value);
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| error.get(name).and_then(Value::as_f64).map(|n| n as i64);
        let detail = value.pointer("/detail/message").or_else(|| value.get("detail"));
        let message = text("message")
            .or_else(|| error.as_str().map(str::to_owned))
            .or_else(|| detail.and_then(Value::as_str).map(str::to_owned));
        Self {
            code: text("code").or_else(|| number("code").map(|code| code.to_string())),
            kind: text("type").filter(|kind| kind != "error"),
            message: message.unwrap_or_default(),
            param: text("param"),
            status: number("code").or_else(|| number("status")).and_then(|n| u16::try_from(n).ok()),
            resets_at: number("resets_at"),
            resets_in: number("resets_in_seconds"),
        }
    }

    fn into_report(self, status: Option<u16>, asked: Option<Duration>, now: i64) -> Report {
        let status = status.or(self.status);
        let retry_after = asked.or_else(|| pause_in(&self.message));
        let resets_at = self.resets_at.or(self.resets_in.map(|time| now.saturating_add(time)));
        let class = self.class(status, retry_after, resets_at);
        let message = clipped(&self.message);
        let failure = Failure { http_status: status, ..Failure::new(class, message) };
        let code = self.code.or(self.kind);
        Report { failure, code, param: self.param, retry_after }
    }

    /// Words count before the status: a plan that is used up and a short burst are both 429.
    fn class(
        &self,
        status: Option<u16>,
        retry_after: Option<Duration>,
        resets_at: Option<i64>,
    ) -> FailureClass {
        let words = [self.code.as_deref(), self.kind.as_deref()];
        let says = |known: &[&str]| words.iter().flatten().any(|word| known.contains(word));
        let message = self.message.to_ascii_lowercase();
        let retry_after_ms = retry_after.and_then(|time| u64::try_from(time.as_millis()).ok());
        if says(&USED_UP) {
            return FailureClass::UsageLimit { resets_at };
        }
        if says(&["context_length_exceeded", "context_window_exceeded", "string_above_max_length"])
            || message.contains("maximum context length")
            || message.contains("exceeds the context window")
        {
            return FailureClass::ContextWindow;
        }
        if says(&["model_not_found", "model_not_available", "deployment_not_found"]) {
            return FailureClass::ModelNotFound;
        }
        if says(&["server_is_overloaded", "slow_down", "overloaded_error", "engine_overloaded"]) {
            return FailureClass::Overload;
        }
        if says(&["rate_limit_exceeded", "rate_limit_error", "too_many_requests"]) {
            return FailureClass::RateLimit { retry_after_ms };
        }
        if says(&["content_policy_violation", "invalid_prompt", "content_filter", "cyber_policy"]) {
            return FailureClass::Policy;
        }
        match status {
            Some(401) => FailureClass::Auth,
            Some(402) => FailureClass::UsageLimit { resets_at },
            Some(403) => FailureClass::Policy,
            Some(404) if message.contains("model") => FailureClass::ModelNotFound,
            Some(408) => FailureClass::Network,
            Some(429) => FailureClass::RateLimit { retry_after_ms },
            Some(503 | 529) => FailureClass::Overload,
            Some(status) if status >= 500 => FailureClass::ServerError,
            Some(300..=499) => FailureClass::BadRequest,
            _ if says(&["invalid_api_key", "authentication_error", "token_expired"]) => {
                FailureClass::Auth
            }
            _ if says(&["permission_error"]) => FailureClass::Policy,
            _ if says(&[
                "server_error",
                "internal_server_error",
                "internal_error",
                "api_error",
            ]) =>
            {
                FailureClass::ServerError
            }
            _ if says(&["invalid_request_error", "invalid_encrypted_content"]) => {
                FailureClass::BadRequest
            }
            _ => FailureClass::Unknown { word: self.code.clone().or_else(|| self.kind.clone()) },
        }
    }
}

/// Without a header, OpenAI writes the pause into the message: "Please try again in 1.898s."
fn pause_in(message: &str) -> Option<Duration> {
    let (_, behind) = message.split_once("try again in ")?;
    let end = behind.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = behind.split_at(end);
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let unit = unit.trim_start();
    let factor = if unit.starts_with("ms") {
        0.001
    } else if unit.starts_with('s') {
        1.0
    } else if unit.starts_with('m') {
        60.0
    } else {
        return None;
    };
    Duration::try_from_secs_f64(number * factor).ok()
}

fn clipped(message: &str) -> String {
    match message.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
