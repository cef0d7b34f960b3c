//! Every fault of the scripted model, and what becomes of the turn on each version.

use FailureClass::{
    Auth, BadRequest, ContextWindow, ModelNotFound, Network, Overload, Policy, ServerError,
};
use ostler_model::FailureClass;
use ostler_scripted_model::{Answer, Cut, Fault, FirstFrame, Malformed};

use super::Ending::{Completes, Fails, NeverEndsByItself};
use super::{Ending, Look};
use crate::text;

const USAGE_LIMIT: FailureClass = FailureClass::UsageLimit { resets_at: None };
const RATE_LIMIT: FailureClass = FailureClass::RateLimit { retry_after_ms: None };
const UNKNOWN: FailureClass = FailureClass::Unknown { word: None };

/// The provider's own text, as people reported it.
const NO_SUCH_MODEL: &str = "The model `gpt-9` does not exist or you do not have access to it.";

/// Far in the future, so that it cannot be confused with a time that was worked out.
const RESET: i64 = 4_000_000_000;

pub(super) struct Case {
    pub(super) prompt: String,
    pub(super) answer: Answer,
    pub(super) ending: Ending,
    /// Set if the turn never ends by itself.
    pub(super) look: Option<Look>,
}

impl Case {
    pub(super) fn new(prompt: &str, fault: Fault, ending: Ending) -> Self {
        let answer = Answer { fault: Some(fault), ..text("Eins, zwei, drei, schöne Grüße.") };
        Self { prompt: format!("case {prompt};"), answer, ending, look: None }
    }

    fn with_headers(mut self, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.answer.headers = headers.collect();
        self
    }

    fn looked_at(self, look: Look) -> Self {
        Self { look: Some(look), ..self }
    }
}

/// All of them, with their endings on this version.
pub(super) fn cases(version: &str) -> Vec<Case> {
    let is_new = version == "0.166.0";
    let by_version = |old: Ending, new: Ending| if is_new { new } else { old };
    let mut cases = refusals(&by_version);
    cases.extend(cuts_and_hangs());
    cases.extend(words_in_the_stream(&by_version));
    cases.extend(odd_streams());
    cases
}

/// HTTP errors in place of a stream.
fn refusals(by_version: &dyn Fn(Ending, Ending) -> Ending) -> Vec<Case> {
    let unsupported = r#"{"detail":"The 'gpt-9' model is not supported when using Codex with a ChatGPT account."}"#;
    let not_included = r#"{"error":{"type":"usage_not_included","message":"no"}}"#;
    let status = |status, code: Option<&str>, ending| {
        let prompt = format!("status {status} {}", code.unwrap_or("plain"));
        let fault = Fault::Status {
            status,
            code: code.map(str::to_owned),
            message: (code == Some("model_not_found")).then(|| NO_SUCH_MODEL.to_owned()),
            retry_after_s: None,
            body: None,
        };
        Case::new(&prompt, fault, ending)
    };
    let body = |prompt, status, body: &str, ending| {
        let body = Some(body.to_owned());
        let (code, message, retry_after_s) = (None, None, None);
        Case::new(prompt, Fault::Status { status, code, message, retry_after_s, body }, ending)
    };
    // Codex keeps the wait that the header asks for to itself.
    let asked_to_wait = Fault::Status {
        status: 429,
        code: None,
        message: None,
        retry_after_s: Some(1),
        body: None,
    };
    let used_up = || Fault::UsageLimit { plan_type: Some("plus".to_owned()), resets_in_s: None };
    let known_reset = Fails(FailureClass::UsageLimit { resets_at: Some(RESET) });
    vec![
        status(400, None, Fails(BadRequest)),
        status(400, Some("context_length_exceeded"), Fails(ContextWindow)),
        status(400, Some("model_not_found"), Fails(ModelNotFound)),
        status(400, Some("cyber_policy"), Fails(Policy)),
        body("status 400 unsupported", 400, unsupported, Fails(ModelNotFound)),
        body("status 400 without json", 400, "bad request", Fails(UNKNOWN)),
        status(401, None, Fails(Auth)),
        status(402, None, Fails(USAGE_LIMIT)),
        status(403, None, Fails(Policy)),
        status(404, None, Fails(BadRequest)),
        status(404, Some("model_not_found"), Fails(ModelNotFound)),
        status(429, None, Fails(RATE_LIMIT)),
        Case::new("status 429 with a wait", asked_to_wait, Fails(RATE_LIMIT)),
        status(429, Some("insufficient_quota"), by_version(Fails(RATE_LIMIT), Fails(USAGE_LIMIT))),
        body("status 429 not included", 429, not_included, Fails(USAGE_LIMIT)),
        status(500, None, Fails(ServerError)),
        status(503, None, Fails(ServerError)),
        status(503, Some("server_is_overloaded"), Fails(Overload)),
        Case::new("usage limit", used_up(), Fails(USAGE_LIMIT)),
        Case::new("usage limit with headers", used_up(), known_reset).with_headers(&[
            ("x-codex-primary-used-percent", "100"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-at", "4000000000"),
        ]),
    ]
}

/// Connections that end or stand still.
fn cuts_and_hangs() -> Vec<Case> {
    let hang = Fault::HangBeforeHeaders { for_ms: None };
    let network = || Fails(Network);
    vec![
        Case::new("refuse", Fault::Refuse { for_ms: None }, network()),
        Case::new("drop early close", Fault::DropBeforeHeaders { how: Cut::Close }, network()),
        Case::new("drop early reset", Fault::DropBeforeHeaders { how: Cut::Reset }, network()),
        Case::new("drop late close", Fault::Drop { after: 2, how: Cut::Close }, network()),
        Case::new("drop late reset", Fault::Drop { after: 2, how: Cut::Reset }, network()),
        Case::new("hang early", hang, NeverEndsByItself).looked_at(Look::AtRequest),
        Case::new("hang early a while", Fault::HangBeforeHeaders { for_ms: Some(100) }, Completes),
        Case::new("hang late", Fault::Hang { after: 2, for_ms: None }, network()),
        Case::new("hang late a while", Fault::Hang { after: 2, for_ms: Some(100) }, Completes),
    ]
}

/// Failures that the stream itself tells.
fn words_in_the_stream(by_version: &dyn Fn(Ending, Ending) -> Ending) -> Vec<Case> {
    let failed = |code: &str, message: &str, ending| {
        let fault = Fault::Failed { after: 1, code: code.into(), message: message.into() };
        Case::new(&format!("failed {code}"), fault, ending)
    };
    // Up to 0.142.5 a code that Codex does not know is a failure of the server.
    let since_new = |class| by_version(Fails(ServerError), Fails(class));
    let error_event = |code: &str, class| {
        let fault = Fault::ErrorEvent { after: 1, code: code.into(), message: "no".into() };
        Case::new(&format!("error event {code}"), fault, Fails(class))
    };
    let limited = "Rate limit reached for gpt-5.5 in organization org-1 on tokens per min (TPM): Limit 1, Used 1, \
                   Requested 1. Please try again in 20ms. Visit https://platform.openai.com/account/rate-limits.";
    let wait = FailureClass::RateLimit { retry_after_ms: Some(20) };
    let incomplete = |reason: &str, class| {
        let fault = Fault::Incomplete { reason: reason.to_owned() };
        Case::new(&format!("incomplete {reason}"), fault, Fails(class))
    };
    vec![
        failed("context_length_exceeded", "no", Fails(ContextWindow)),
        failed("rate_limit_exceeded", limited, Fails(wait)),
        failed("slow_down", "no", by_version(Fails(Overload), Fails(RATE_LIMIT))),
        failed("server_is_overloaded", "no", Fails(Overload)),
        failed("model_not_found", NO_SUCH_MODEL, Fails(ModelNotFound)),
        // Codex passes the server's text on and says no more about it.
        failed("invalid_prompt", "no", Fails(UNKNOWN)),
        failed("bio_policy", "", since_new(Policy)),
        failed("cyber_policy", "no", Fails(Policy)),
        failed("misalignment_policy_violation", "no", since_new(Policy)),
        failed("insufficient_quota", "no", Fails(USAGE_LIMIT)),
        failed("usage_not_included", "no", Fails(USAGE_LIMIT)),
        failed("organization_spend_limit_exceeded", "no", since_new(USAGE_LIMIT)),
        failed("server_error", "no", Fails(ServerError)),
        failed("never_heard_of", "no", Fails(ServerError)),
        // Codex passes over `error` events; what it sees is a stream that ends too early.
        error_event("server_error", Network),
        error_event("rate_limit_exceeded", Network),
        incomplete("max_output_tokens", BadRequest),
        incomplete("content_filter", Policy),
    ]
}

/// Streams that are not what they should be.
fn odd_streams() -> Vec<Case> {
    let frame = |name: &str, frame, ending| {
        Case::new(&format!("first frame {name}"), Fault::FirstFrame { frame }, ending)
    };
    let malformed = |name: &str, how, ending| {
        Case::new(&format!("malformed {name}"), Fault::Malformed { how, after: 1 }, ending)
    };
    vec![
        frame("rate limits", FirstFrame::RateLimits, Completes),
        frame("in progress", FirstFrame::InProgress, Completes),
        frame("error", FirstFrame::Error, Fails(Network)),
        Case::new("empty output", Fault::EmptyOutput, Completes),
        Case::new("missing terminal", Fault::MissingTerminal, Fails(Network)),
        malformed("broken json", Malformed::BrokenJson, Completes),
        malformed("no blank line", Malformed::NoBlankLine, Completes),
        malformed("garbage", Malformed::Garbage, Completes),
        malformed("invalid utf-8", Malformed::InvalidUtf8, Fails(Network)),
        malformed("crlf", Malformed::Crlf, Completes),
        malformed("split utf-8", Malformed::SplitUtf8, Completes),
    ]
}
