//! What the answer of a chat means: it has the message, it may take it later, or it never will.

use ostler_model::notification::Outcome;
use serde_json::Value;

use super::letter::Answer;

/// What Slack calls errors that pass.
const SLACK_PASSING: [&str; 5] =
    ["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"];

/// Feishu's codes for too many messages.
const FEISHU_TOO_MANY: [i64; 2] = [11232, 99_991_400];

/// What is wrong with the message or the login stays wrong; what is wrong with the service passes.
pub(super) fn status(answer: &Answer) -> Outcome {
    match answer.status {
        _ if answer.is_success() => Outcome::Delivered { answer: answer.words() },
        408 | 425 | 429 => answer.failed(),
        400..500 => answer.refused(),
        _ => answer.failed(),
    }
}

/// Slack says in the body that something is wrong.
pub(super) fn slack(answer: &Answer) -> Outcome {
    if !answer.is_success() {
        return status(answer);
    }
    let said = answer.json();
    let error = said.pointer("/error").and_then(Value::as_str);
    match (said.pointer("/ok").and_then(Value::as_bool), error) {
        (Some(true), _) => delivered(answer, "ts", text(&said, "/ts")),
        (_, Some(error)) if !SLACK_PASSING.contains(&error) => answer.refused(),
        _ => answer.failed(),
    }
}

/// Telegram says in the body how long to wait.
pub(super) fn telegram(answer: &Answer) -> Outcome {
    let said = answer.json();
    let wait = said.pointer("/parameters/retry_after").and_then(Value::as_u64);
    let is_fine = said.pointer("/ok").and_then(Value::as_bool) == Some(true);
    match status(answer) {
        Outcome::Delivered { .. } if !is_fine => answer.failed(),
        Outcome::Delivered { .. } => {
            let message = said.pointer("/result/message_id").and_then(Value::as_i64);
            delivered(answer, "message", message.map(|id| id.to_string()))
        }
        Outcome::Failed { why, retry_after_ms } => {
            let wait = wait.map(|seconds| seconds.saturating_mul(1000));
            Outcome::Failed { why, retry_after_ms: wait.or(retry_after_ms) }
        }
        other => other,
    }
}

/// Feishu says in the body that something is wrong; older bots by another name.
pub(super) fn feishu(answer: &Answer) -> Outcome {
    let said = answer.json();
    let code = said.pointer("/code").or_else(|| said.pointer("/StatusCode"));
    match (status(answer), code.and_then(Value::as_i64)) {
        (Outcome::Delivered { .. }, Some(0)) => delivered(answer, "code", Some("0".to_owned())),
        (Outcome::Delivered { .. }, Some(code)) if !FEISHU_TOO_MANY.contains(&code) => {
            answer.refused()
        }
        (Outcome::Delivered { .. }, _) => answer.failed(),
        (other, _) => other,
    }
}

pub(super) fn ntfy(answer: &Answer) -> Outcome {
    match status(answer) {
        Outcome::Delivered { .. } => delivered(answer, "message", text(&answer.json(), "/id")),
        other => other,
    }
}

fn text(said: &Value, place: &str) -> Option<String> {
    said.pointer(place).and_then(Value::as_str).map(ToOwned::to_owned)
}

/// With what the service calls the message, by which it can be found there.
fn delivered(answer: &Answer, what: &str, name: Option<String>) -> Outcome {
    const MOST: usize = 64;
    let name = name.map(|name| name.chars().take(MOST).collect::<String>());
    let answer = match name {
        Some(name) => format!("HTTP {}, {what} {name}", answer.status),
        None => format!("HTTP {}", answer.status),
    };
    Outcome::Delivered { answer }
}
