use super::texts::TEXTS;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::*;
use FailureClass::{
    Auth, BadRequest, Busy, ContextWindow, ModelNotFound, Network, Overload, Policy, Sandbox,
    ServerError,
};

const RATE_LIMIT: FailureClass = FailureClass::RateLimit { retry_after_ms: None };
const USAGE_LIMIT: FailureClass = FailureClass::UsageLimit { resets_at: None };
const UNKNOWN: FailureClass = FailureClass::Unknown { word: None };

/// An error as Codex writes it.
fn error(info: &str, message: &str) -> TurnError {
    let message = serde_json::to_string(message).unwrap();
    let text =
        format!(r#"{{"message":{message},"codexErrorInfo":{info},"additionalDetails":"d"}}"#);
    serde_json::from_str(&text).unwrap()
}

fn other(message: &str) -> (FailureClass, Option<u16>) {
    let failure = failure(&error("\"other\"", message), None);
    assert_eq!(failure.message, message);
    (failure.class, failure.http_status)
}

#[test]
fn every_word_has_its_class() {
    let rows = [
        ("contextWindowExceeded", ContextWindow),
        ("usageLimitExceeded", USAGE_LIMIT),
        ("sessionBudgetExceeded", USAGE_LIMIT),
        ("rateLimitExceeded", RATE_LIMIT),
        ("serverOverloaded", Overload),
        ("flexUnavailable", Overload),
        ("policyCapacityUnavailable", Overload),
        ("modelNotFound", ModelNotFound),
        ("cyberPolicy", Policy),
        ("misalignmentPolicyViolation", Policy),
        ("tooManyDenials", Policy),
        ("internalServerError", ServerError),
        ("unauthorized", Auth),
        ("badRequest", BadRequest),
        ("sandboxError", Sandbox),
        (
            "threadRollbackFailed",
            FailureClass::Unknown { word: Some("threadRollbackFailed".into()) },
        ),
        ("brandNew", FailureClass::Unknown { word: Some("brandNew".into()) }),
        ("other", UNKNOWN),
    ];
    for (word, class) in rows {
        // The message lies on purpose: a word that says more than `other` is never overruled by it.
        let message = if word == "other" { "m" } else { "unexpected status 401 Unauthorized: m" };
        let expected = Failure { details: Some("d".to_owned()), ..Failure::new(class, message) };
        assert_eq!(failure(&error(&format!("\"{word}\""), message), None), expected, "{word}");
    }
    let steered = error(r#"{"activeTurnNotSteerable":{"turnKind":"review"}}"#, "m");
    assert_eq!(failure(&steered, None).class, Busy);
    assert_eq!(failure(&error("null", "m"), None).class, UNKNOWN);
}

#[test]
fn a_status_decides_for_the_words_that_carry_one() {
    let rows = [
        ("null", Network),
        ("400", BadRequest),
        ("401", Auth),
        ("402", USAGE_LIMIT),
        ("403", Policy),
        ("404", BadRequest),
        ("407", Network),
        ("408", Network),
        ("413", BadRequest),
        ("429", RATE_LIMIT),
        ("500", ServerError),
        ("503", ServerError),
        ("504", ServerError),
        ("302", Network),
    ];
    let words = [
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    ];
    for (status, class) in rows {
        for word in words {
            let info = format!(r#"{{"{word}":{{"httpStatusCode":{status}}}}}"#);
            let failure = failure(&error(&info, "Reconnecting... 1/5"), None);
            let found = (failure.class, failure.http_status);
            assert_eq!(found, (class.clone(), status.parse().ok()), "{info}");
        }
    }
}

#[test]
fn texts_are_read_where_codex_says_other() {
    let url = "url: http://127.0.0.1:44379/v1/responses";
    let status = |status: &str| format!("unexpected status {status}: no, {url}");
    let broken = |why: &str| format!("stream disconnected before completion: {why}");
    let after = |time| FailureClass::RateLimit { retry_after_ms: Some(time) };
    let rows = [
        // Written by 0.130.0 and 0.142.5, and by 0.166.0 with a better word.
        (status("401 Unauthorized"), Auth, Some(401)),
        (status("403 Forbidden"), Policy, Some(403)),
        (status("404 Not Found"), BadRequest, Some(404)),
        (status("503 Service Unavailable"), ServerError, Some(503)),
        (
            format!("unexpected status 404 Not Found: The model `gpt-9` does not exist or you do not have access to it., {url}"),
            ModelNotFound,
            Some(404),
        ),
        (format!("unexpected status 404 Not Found: Model not found gpt-5.4, {url}"), ModelNotFound, Some(404)),
        (broken("The model `gpt-9` does not exist or you do not have access to it."), ModelNotFound, None),
        (
            broken("Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 250000, Used 250000, Requested 58487. Please try again in 14.036s. Visit https://platform.openai.com/account/rate-limits to learn more."),
            after(14_036),
            None,
        ),
        (broken("Rate limit is exceeded. Try again in 17 seconds."), after(17_000), None),
        (broken("Incomplete response returned, reason: max_output_tokens"), BadRequest, None),
        // Written by all three.
        (broken("Incomplete response returned, reason: content_filter"), Policy, None),
        (broken("stream closed before response.completed"), Network, None),
        (broken("Transport error: network error: error decoding response body"), Network, None),
        (broken("idle timeout waiting for SSE"), Network, None),
        (broken("An error occurred"), ServerError, None),
        ("auth refresh request timed out after 10s".to_owned(), Auth, None),
        ("Missing environment variable: `OSTLER_KEY`. Set it.".to_owned(), Auth, None),
        (r#"{"error": {"message": "bad req", "type": "invalid_request_error", "code": "x"}}"#.to_owned(), BadRequest, Some(400)),
        (r#"{"error": {"code": "context_length_exceeded", "message": "too long"}}"#.to_owned(), ContextWindow, Some(400)),
        (r#"{"error": {"code": "model_not_found", "message": "m"}}"#.to_owned(), ModelNotFound, Some(400)),
        (
            r#"{"detail":"The 'gpt-5.3-codex' model is not supported when using Codex with a ChatGPT account."}"#.to_owned(),
            ModelNotFound,
            Some(400),
        ),
        (broken("UTF8 error: invalid utf-8 sequence of 1 bytes from index 0"), Network, None),
        // Written by 0.130.0 and 0.142.5 only.
        (broken("error sending request for url (http://127.0.0.1:1/v1/responses)"), Network, None),
        // Written by 0.166.0 only.
        (broken("error sending request"), Network, None),
        ("This content was flagged for possible biological risk.".to_owned(), Policy, None),
        ("Incomplete response returned, reason: max_output_tokens".to_owned(), BadRequest, None),
    ];
    for (message, class, status) in &rows {
        assert_eq!(other(message), (class.clone(), *status), "{message}");
    }
}

#[test]
fn a_text_is_read_from_its_beginning_only() {
    for message in [
        "",
        "m",
        "401 Unauthorized",
        "the oauth token of the plugin: unexpected status 401 Unauthorized: no",
        "unexpected status 401",
        "unexpected status 4010 Odd: no",
        "unexpected status x Odd: no",
        "Stream disconnected before completion",
        "I read: stream disconnected before completion: An error occurred",
        "Missing environment variable: none",
        "[401]",
        "{}",
        "Invalid prompt: flagged",
    ] {
        assert_eq!(other(message), (UNKNOWN, None), "{message}");
    }
}

#[test]
fn every_text_says_where_it_was_seen() {
    for (at, row) in TEXTS.iter().enumerate() {
        assert!(row.seen_on.contains(['0', '#']), "row {at}");
    }
}

fn window(used_percent: i64, resets_at: Option<i64>) -> Option<RateLimitWindow> {
    Some(RateLimitWindow {
        used_percent: Some(used_percent),
        resets_at,
        ..RateLimitWindow::default()
    })
}

#[test]
fn the_reset_is_that_of_the_window_which_is_used_up() {
    let rows = [
        (window(100, Some(50)), window(30, Some(900)), Some(50)),
        (window(42, Some(50)), window(101, Some(900)), Some(900)),
        (window(100, Some(50)), window(100, Some(900)), Some(900)),
        (window(99, Some(50)), window(99, Some(900)), None),
        (window(100, None), None, None),
        (Some(RateLimitWindow { resets_at: Some(50), ..RateLimitWindow::default() }), None, None),
        (None, None, None),
    ];
    for (primary, secondary, resets_at) in rows {
        let limits = RateLimits { primary, secondary, ..RateLimits::default() };
        let used_up = failure(&error("\"usageLimitExceeded\"", "m"), Some(&limits));
        assert_eq!(used_up.class, FailureClass::UsageLimit { resets_at }, "{limits:?}");
        let budget = failure(&error("\"sessionBudgetExceeded\"", "m"), Some(&limits));
        assert_eq!(budget.class, USAGE_LIMIT, "the account's windows are not the session's");
    }
}

/// The reset time read from a message at this time.
fn reset(message: &str, now: &Zoned) -> Option<i64> {
    let failure = failure_just_now(&error("\"usageLimitExceeded\"", message), None, now);
    match failure.class {
        FailureClass::UsageLimit { resets_at } => resets_at,
        other => panic!("{other:?}"),
    }
}

/// A time in a zone that is written out, so that the machine needs no list of zones.
fn time(time: &str, zone: &str) -> Zoned {
    let zone = TimeZone::posix(zone).unwrap();
    time.parse::<DateTime>().unwrap().to_zoned(zone).unwrap()
}

#[test]
fn the_reset_is_read_from_the_message() {
    const UTC: &str = "UTC0";
    const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
    let at = |written: &str, zone| Some(time(written, zone).timestamp().as_second());
    let now = &time("2026-11-16T01:00", UTC);
    let old = "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at ";
    let new = "You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again at ";
    let rows = [
        (format!("{old}3:33 AM."), now, at("2026-11-16T03:34", UTC)),
        (format!("{new}3:33 PM."), now, at("2026-11-16T15:34", UTC)),
        (format!("{old}12:05 PM."), now, at("2026-11-16T12:06", UTC)),
        (format!("{new}Nov 19th, 2026 1:46 AM."), now, at("2026-11-19T01:47", UTC)),
        (format!("{old}Jan 1st, 2027 12:00 AM."), now, at("2027-01-01T00:01", UTC)),
        (
            "You've hit your usage limit. Try again at 3:33 AM.".to_owned(),
            now,
            at("2026-11-16T03:34", UTC),
        ),
        // The zone of Codex's process counts.
        (
            format!("{new}3:33 AM."),
            &time("2026-11-16T01:00", NEW_YORK),
            at("2026-11-16T03:34", NEW_YORK),
        ),
        // Gone by; twice a year; never that year.
        (format!("{old}12:33 AM."), now, None),
        (format!("{old}Nov 1st, 2026 1:30 AM."), &time("2026-10-30T01:00", NEW_YORK), None),
        (format!("{old}Mar 8th, 2026 2:30 AM."), &time("2026-03-01T01:00", NEW_YORK), None),
        (format!("{old}Nov 31st, 2026 1:46 AM."), now, None),
    ];
    for (message, now, expected) in &rows {
        assert_eq!(reset(message, now), *expected, "{message}");
    }
    for unsure in [
        "later.",
        "3:33 AM",
        "3:33.",
        "33:33 AM.",
        "0:33 AM.",
        "3:3 AM.",
        "15:33 PM.",
        "19 Nov 2026 1:46 AM.",
    ] {
        assert_eq!(reset(&format!("{old}{unsure}"), now), None, "{unsure}");
    }
    assert_eq!(reset("Quota exceeded. Check your plan and billing details.", now), None);
}

#[test]
fn what_the_limits_say_comes_before_the_text() {
    let limits = RateLimits { primary: window(100, Some(1_800_000_000)), ..RateLimits::default() };
    let now = time("2026-11-16T01:00", "UTC0");
    let error =
        error("\"usageLimitExceeded\"", "You've hit your usage limit. Try again at 3:33 AM.");
    let expected = FailureClass::UsageLimit { resets_at: Some(1_800_000_000) };
    assert_eq!(failure_just_now(&error, Some(&limits), &now).class, expected);
}

#[test]
fn the_wait_is_read_from_the_message() {
    let rows = [
        ("rate limit exceeded: Rate limit reached. Please try again in 1.2s.", Some(1200)),
        ("Please try again in 37ms. Visit https://platform.openai.com", Some(37)),
        ("Try again in 17 seconds.", Some(17_000)),
        ("Please try again in 6m0s.", Some(360_000)),
        ("Please try again in 1h2m3.5s.", Some(3_723_500)),
        ("Please try again in 0.0001s.", Some(1)),
        ("Please try again in 11 seconds", Some(11_000)),
        ("Please try again in 5", None),
        ("Please try again in 5 parsecs.", None),
        ("Please try again in 1.2.3s.", None),
        ("Please try again in 1.2sand more", None),
        ("Please try again in 40h.", None),
        ("Please try again later.", None),
        ("", None),
    ];
    for (message, retry_after_ms) in rows {
        let failure = failure(&error("\"rateLimitExceeded\"", message), None);
        assert_eq!(failure.class, FailureClass::RateLimit { retry_after_ms }, "{message}");
    }
}
