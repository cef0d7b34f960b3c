//! Every fault of the scripted model, and what becomes of the turn on each version.

use FailureClass::{
    Auth, BadRequest, ContextWindow, ModelNotFound, Network, Overload, Policy, ServerError,
};
use ostler_model::FailureClass;
use ostler_model::thread::{Limits, OnStall};
use ostler_scripted_model::{Answer, Cut, Fault, FirstFrame, Malformed};

use super::told::{Told, completes, fails, hangs, tries_forever};
use super::world::short_limits;
use crate::text;

const USAGE_LIMIT: FailureClass = FailureClass::UsageLimit { resets_at: None };
const RATE_LIMIT: FailureClass = FailureClass::RateLimit { retry_after_ms: None };
const UNKNOWN: FailureClass = FailureClass::Unknown { word: None };

/// The provider's own text, as people reported it.
const NO_SUCH_MODEL: &str = "The model `gpt-9` does not exist or you do not have access to it.";

/// Far in the future, so that it cannot be confused with a time that was worked out.
const RESET: i64 = 4_000_000_000;

/// What the model says if nothing keeps it from it, as a whole and up to its first words.
const ANSWER: &str = "Eins, zwei, drei, schöne Grüße.";
const ONE_WORD: &str = "Eins, ";
const TWO_WORDS: &str = "Eins, zwei, ";

pub(super) struct Case {
    pub(super) prompt: String,
    pub(super) answer: Answer,
    pub(super) told: Told,
}

impl Case {
    pub(super) fn new(prompt: &str, fault: Fault, told: Told) -> Self {
        let answer = Answer { fault: Some(fault), ..text(ANSWER) };
        Self { prompt: format!("case {prompt};"), answer, told }
    }

    fn with_headers(mut self, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.answer.headers = headers.collect();
        self
    }

    /// Whether Codex leaves it to us to end the turn.
    pub(super) fn never_ends_by_itself(&self) -> bool {
        !self.told.stalled.is_empty()
    }

    pub(super) fn limits(&self) -> Limits {
        if self.never_ends_by_itself() { short_limits(OnStall::Fail) } else { Limits::default() }
    }

    /// Whether turns beside or behind it have to do with it: a refusal closes the door for all, and limits are the
    /// account's.
    pub(super) fn touches_others(&self) -> bool {
        matches!(self.answer.fault, Some(Fault::Refuse { .. })) || !self.answer.headers.is_empty()
    }
}

/// All of them, with what is told of each on this version.
pub(super) fn cases(version: &str) -> Vec<Case> {
    let is_new = version == "0.166.0";
    let by_version = |old: Told, new: Told| if is_new { new } else { old };
    let mut cases = refusals(&by_version);
    cases.extend(cuts_and_hangs(&by_version));
    cases.extend(words_in_the_stream(&by_version));
    cases.extend(odd_streams());
    cases
}

/// HTTP errors in place of a stream.
fn refusals(by_version: &dyn Fn(Told, Told) -> Told) -> Vec<Case> {
    let unsupported = r#"{"detail":"The 'gpt-9' model is not supported when using Codex with a ChatGPT account."}"#;
    let not_included = r#"{"error":{"type":"usage_not_included","message":"no"}}"#;
    let status = |status, code: Option<&str>, told| {
        let prompt = format!("status {status} {}", code.unwrap_or("plain"));
        let fault = Fault::Status {
            status,
            code: code.map(str::to_owned),
            message: (code == Some("model_not_found")).then(|| NO_SUCH_MODEL.to_owned()),
            retry_after_s: None,
            body: None,
        };
        Case::new(&prompt, fault, told)
    };
    let body = |prompt, status, body: &str, told| {
        let body = Some(body.to_owned());
        let (code, message, retry_after_s) = (None, None, None);
        Case::new(prompt, Fault::Status { status, code, message, retry_after_s, body }, told)
    };
    // Codex keeps the wait that the header asks for to itself.
    let asked_to_wait = Fault::Status {
        status: 429,
        code: None,
        message: None,
        retry_after_s: Some(1),
        body: None,
    };
    let wait = by_version(fails(RATE_LIMIT), fails(RATE_LIMIT).retried(RATE_LIMIT));
    let used_up = || Fault::UsageLimit { plan_type: Some("plus".to_owned()), resets_in_s: None };
    // Up to 0.142.5 Codex takes it for any other 404.
    let unknown_model = by_version(fails(ModelNotFound).retried(BadRequest), fails(ModelNotFound));
    let known_reset = fails(FailureClass::UsageLimit { resets_at: Some(RESET) });
    vec![
        status(400, None, fails(BadRequest)),
        status(400, Some("context_length_exceeded"), fails(ContextWindow)),
        status(400, Some("model_not_found"), fails(ModelNotFound)),
        status(400, Some("cyber_policy"), fails(Policy)),
        body("status 400 unsupported", 400, unsupported, fails(ModelNotFound)),
        body("status 400 without json", 400, "bad request", fails(UNKNOWN)),
        status(401, None, fails(Auth).retried(Auth)),
        status(402, None, fails(USAGE_LIMIT).retried(USAGE_LIMIT)),
        status(403, None, fails(Policy).retried(Policy)),
        status(404, None, fails(BadRequest).retried(BadRequest)),
        status(404, Some("model_not_found"), unknown_model),
        status(429, None, fails(RATE_LIMIT)),
        Case::new("status 429 with a wait", asked_to_wait, wait),
        status(429, Some("insufficient_quota"), by_version(fails(RATE_LIMIT), fails(USAGE_LIMIT))),
        body("status 429 not included", 429, not_included, fails(USAGE_LIMIT)),
        status(500, None, fails(ServerError).retried(Network)),
        status(503, None, fails(ServerError).retried(ServerError)),
        status(503, Some("server_is_overloaded"), fails(Overload)),
        Case::new("usage limit", used_up(), fails(USAGE_LIMIT)),
        Case::new("usage limit with headers", used_up(), known_reset).with_headers(&[
            ("x-codex-primary-used-percent", "100"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-at", "4000000000"),
        ]),
    ]
}

/// Connections that end or stand still.
fn cuts_and_hangs(by_version: &dyn Fn(Told, Told) -> Told) -> Vec<Case> {
    let hang = Fault::HangBeforeHeaders { for_ms: None };
    let broken = || fails(Network).retried(Network);
    let cut = || broken().saying(TWO_WORDS);
    let whole = || completes(ANSWER);
    // Codex up to 0.142.5 takes a refused connection for any other that fails.
    let refused = by_version(broken(), tries_forever(Network));
    vec![
        Case::new("refuse", Fault::Refuse { for_ms: None }, refused),
        Case::new("drop early close", Fault::DropBeforeHeaders { how: Cut::Close }, broken()),
        Case::new("drop early reset", Fault::DropBeforeHeaders { how: Cut::Reset }, broken()),
        Case::new("drop late close", Fault::Drop { after: 2, how: Cut::Close }, cut()),
        Case::new("drop late reset", Fault::Drop { after: 2, how: Cut::Reset }, cut()),
        Case::new("hang early", hang, hangs()),
        Case::new("hang early a while", Fault::HangBeforeHeaders { for_ms: Some(100) }, whole()),
        Case::new("hang late", Fault::Hang { after: 2, for_ms: None }, cut()),
        Case::new("hang late a while", Fault::Hang { after: 2, for_ms: Some(100) }, whole()),
    ]
}

/// Failures that the stream itself tells.
fn words_in_the_stream(by_version: &dyn Fn(Told, Told) -> Told) -> Vec<Case> {
    let failed = |code: &str, message: &str, told: Told| {
        let fault = Fault::Failed { after: 1, code: code.into(), message: message.into() };
        Case::new(&format!("failed {code}"), fault, told.saying(ONE_WORD))
    };
    // A code that Codex does not know is a failure of the server and worth another try. Up to 0.142.5 it knows few.
    let server_error = || fails(ServerError).retried(Network);
    let since_new = |class| by_version(server_error(), fails(class));
    let error_event = |code: &str, class| {
        let fault = Fault::ErrorEvent { after: 1, code: code.into(), message: "no".into() };
        let told = fails(class).retried(Network).saying(ONE_WORD);
        Case::new(&format!("error event {code}"), fault, told)
    };
    let limited = "Rate limit reached for gpt-5.5 in organization org-1 on tokens per min (TPM): Limit 1, Used 1, \
                   Requested 1. Please try again in 20ms. Visit https://platform.openai.com/account/rate-limits.";
    let wait = FailureClass::RateLimit { retry_after_ms: Some(20) };
    let incomplete = |reason: &str, told: Told| {
        let fault = Fault::Incomplete { reason: reason.to_owned() };
        Case::new(&format!("incomplete {reason}"), fault, told.saying(ANSWER))
    };
    let unknown_model = by_version(fails(ModelNotFound).retried(Network), fails(ModelNotFound));
    let slow_down = by_version(fails(Overload), fails(RATE_LIMIT).retried(Network));
    let too_long = by_version(fails(BadRequest).retried(Network), fails(BadRequest));
    vec![
        failed("context_length_exceeded", "no", fails(ContextWindow)),
        failed("rate_limit_exceeded", limited, fails(wait).retried(Network)),
        failed("slow_down", "no", slow_down),
        failed("server_is_overloaded", "no", fails(Overload)),
        failed("model_not_found", NO_SUCH_MODEL, unknown_model),
        // Codex passes the server's text on and says no more about it.
        failed("invalid_prompt", "no", fails(UNKNOWN)),
        failed("bio_policy", "", since_new(Policy)),
        failed("cyber_policy", "no", fails(Policy)),
        failed("misalignment_policy_violation", "no", since_new(Policy)),
        failed("insufficient_quota", "no", fails(USAGE_LIMIT)),
        failed("usage_not_included", "no", fails(USAGE_LIMIT)),
        failed("organization_spend_limit_exceeded", "no", since_new(USAGE_LIMIT)),
        failed("server_error", "no", server_error()),
        failed("never_heard_of", "no", server_error()),
        // Codex passes over `error` events; what it sees is a stream that ends too early.
        error_event("server_error", Network),
        error_event("rate_limit_exceeded", Network),
        incomplete("max_output_tokens", too_long),
        incomplete("content_filter", fails(Policy).retried(Network)),
    ]
}

/// Streams that are not what they should be.
fn odd_streams() -> Vec<Case> {
    let frame = |name: &str, frame, told| {
        Case::new(&format!("first frame {name}"), Fault::FirstFrame { frame }, told)
    };
    let malformed = |name: &str, how, told| {
        Case::new(&format!("malformed {name}"), Fault::Malformed { how, after: 1 }, told)
    };
    let whole = || completes(ANSWER);
    let broken = || fails(Network).retried(Network);
    vec![
        frame("rate limits", FirstFrame::RateLimits, whole()),
        frame("in progress", FirstFrame::InProgress, whole()),
        frame("error", FirstFrame::Error, broken()),
        Case::new("empty output", Fault::EmptyOutput, whole()),
        Case::new("missing terminal", Fault::MissingTerminal, broken().saying(ANSWER)),
        malformed("broken json", Malformed::BrokenJson, whole()),
        malformed("no blank line", Malformed::NoBlankLine, whole()),
        malformed("garbage", Malformed::Garbage, whole()),
        malformed("invalid utf-8", Malformed::InvalidUtf8, broken().saying(ONE_WORD)),
        malformed("crlf", Malformed::Crlf, whole()),
        malformed("split utf-8", Malformed::SplitUtf8, whole()),
    ]
}
