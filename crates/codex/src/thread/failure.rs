//! From Codex's error of a turn to a class that a caller can act on.
//!
//! The class comes from `codexErrorInfo`: its word, and the HTTP status it carries. Only where Codex says no more than
//! `other` is the message read, by the one table in `texts`. What Codex writes to stderr never decides: an unrelated
//! 401 of a plugin stands there as well.

mod reset;
mod texts;

use jiff::Zoned;
use ostler_model::{Failure, FailureClass};

use crate::protocol::error::{ErrorWord, TurnError};
use crate::protocol::limits::{RateLimitWindow, RateLimits};

/// What the error means. `limits` are the newest known ones; with them a used-up plan gets its reset time.
pub fn failure(error: &TurnError, limits: Option<&RateLimits>) -> Failure {
    let (class, http_status) = classify(error, limits);
    Failure {
        details: error.additional_details.clone(),
        http_status,
        ..Failure::new(class, error.message.clone())
    }
}

/// The same for an error that has just come in, where the clock may help: without limits, Codex tells the reset time
/// in its message alone, and there as the local time of its own process. `now` is the time in the zone of that process.
pub fn failure_just_now(error: &TurnError, limits: Option<&RateLimits>, now: &Zoned) -> Failure {
    let mut failure = failure(error, limits);
    if let FailureClass::UsageLimit { resets_at: resets_at @ None } = &mut failure.class {
        *resets_at = reset::reset_in_text(&error.message, now);
    }
    failure
}

fn classify(error: &TurnError, limits: Option<&RateLimits>) -> (FailureClass, Option<u16>) {
    let Some(info) = &error.codex_error_info else {
        return texts::read(&error.message);
    };
    let status = info.http_status_code;
    let class = match &info.word {
        ErrorWord::ContextWindowExceeded => FailureClass::ContextWindow,
        ErrorWord::UsageLimitExceeded => {
            FailureClass::UsageLimit { resets_at: limits.and_then(reset_of_limits) }
        }
        // This budget is the session's own; the windows of the account say nothing about it.
        ErrorWord::SessionBudgetExceeded => FailureClass::UsageLimit { resets_at: None },
        ErrorWord::RateLimitExceeded => rate_limit(&error.message),
        ErrorWord::ServerOverloaded
        | ErrorWord::FlexUnavailable
        | ErrorWord::PolicyCapacityUnavailable => FailureClass::Overload,
        ErrorWord::ModelNotFound => FailureClass::ModelNotFound,
        ErrorWord::CyberPolicy
        | ErrorWord::MisalignmentPolicyViolation
        | ErrorWord::TooManyDenials => FailureClass::Policy,
        ErrorWord::InternalServerError => FailureClass::ServerError,
        ErrorWord::Unauthorized => FailureClass::Auth,
        ErrorWord::BadRequest => FailureClass::BadRequest,
        ErrorWord::SandboxError => FailureClass::Sandbox,
        ErrorWord::HttpConnectionFailed
        | ErrorWord::ResponseStreamConnectionFailed
        | ErrorWord::ResponseStreamDisconnected
        | ErrorWord::ResponseTooManyFailedAttempts => match status {
            Some(status) => of_status(status, &error.message),
            None => FailureClass::Network,
        },
        ErrorWord::ActiveTurnNotSteerable => FailureClass::Busy,
        ErrorWord::Other(word) if word == "other" => return texts::read(&error.message),
        ErrorWord::Other(word) => FailureClass::Unknown { word: Some(word.clone()) },
    };
    (class, status)
}

/// What an HTTP status of the model's server means.
///
/// 403 is no matter of the login: in practice it is the provider's firewall, a blocked address or country, or a key or
/// account that may not do this, and people who logged in again were refused again (openai/codex 9271, 9278, 18685).
/// 404 is not always the model: a wrong `base_url` gives it too, and Codex 0.166.0 has a word for the model.
fn of_status(status: u16, message: &str) -> FailureClass {
    match status {
        401 => FailureClass::Auth,
        402 => FailureClass::UsageLimit { resets_at: None },
        403 => FailureClass::Policy,
        // A proxy on the way wants a login of its own, or the server waited too long for the request.
        407 | 408 => FailureClass::Network,
        429 => rate_limit(message),
        400..=499 => FailureClass::BadRequest,
        500..=599 => FailureClass::ServerError,
        _ => FailureClass::Network,
    }
}

fn rate_limit(message: &str) -> FailureClass {
    FailureClass::RateLimit { retry_after_ms: reset::retry_after_ms(message) }
}

/// The reset of the window that is used up; of the later one if both are, for until then the other still holds.
fn reset_of_limits(limits: &RateLimits) -> Option<i64> {
    let used_up = |window: &&RateLimitWindow| window.used_percent.is_some_and(|used| used >= 100);
    let windows = [limits.primary.as_ref(), limits.secondary.as_ref()];
    windows.into_iter().flatten().filter(used_up).filter_map(|window| window.resets_at).max()
}

#[cfg(test)]
mod tests;
