//! Why a turn failed, or is about to be retried.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::lenient;

/// The error of a turn, in `error` notifications and in failed turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub codex_error_info: Option<ErrorClass>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub additional_details: Option<String>,
}

/// Codex's class of an error with the details it carries.
///
/// On the wire it is a word, or an object whose only key is the word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorClass {
    pub word: ErrorWord,
    pub http_status_code: Option<u16>,
    /// Which kind of turn could not be steered.
    pub turn_kind: Option<String>,
}

/// The classes we act on, and every other word as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorWord {
    ContextWindowExceeded,
    UsageLimitExceeded,
    /// The tokens that the settings allow a session are spent (0.166.0).
    SessionBudgetExceeded,
    RateLimitExceeded,
    ServerOverloaded,
    /// The cheap tier has no room (0.166.0).
    FlexUnavailable,
    /// What may serve this account under its policy has no room (0.166.0).
    PolicyCapacityUnavailable,
    ModelNotFound,
    CyberPolicy,
    MisalignmentPolicyViolation,
    /// The automatic reviewer refused too much of the turn's work (0.166.0).
    TooManyDenials,
    InternalServerError,
    Unauthorized,
    BadRequest,
    SandboxError,
    HttpConnectionFailed,
    ResponseStreamConnectionFailed,
    ResponseStreamDisconnected,
    ResponseTooManyFailedAttempts,
    ActiveTurnNotSteerable,
    Other(String),
}

impl From<String> for ErrorWord {
    fn from(word: String) -> Self {
        match word.as_str() {
            "contextWindowExceeded" => Self::ContextWindowExceeded,
            "usageLimitExceeded" => Self::UsageLimitExceeded,
            "sessionBudgetExceeded" => Self::SessionBudgetExceeded,
            "rateLimitExceeded" => Self::RateLimitExceeded,
            "serverOverloaded" => Self::ServerOverloaded,
            "flexUnavailable" => Self::FlexUnavailable,
            "policyCapacityUnavailable" => Self::PolicyCapacityUnavailable,
            "modelNotFound" => Self::ModelNotFound,
            "cyberPolicy" => Self::CyberPolicy,
            "misalignmentPolicyViolation" => Self::MisalignmentPolicyViolation,
            "tooManyDenials" => Self::TooManyDenials,
            "internalServerError" => Self::InternalServerError,
            "unauthorized" => Self::Unauthorized,
            "badRequest" => Self::BadRequest,
            "sandboxError" => Self::SandboxError,
            "httpConnectionFailed" => Self::HttpConnectionFailed,
            "responseStreamConnectionFailed" => Self::ResponseStreamConnectionFailed,
            "responseStreamDisconnected" => Self::ResponseStreamDisconnected,
            "responseTooManyFailedAttempts" => Self::ResponseTooManyFailedAttempts,
            "activeTurnNotSteerable" => Self::ActiveTurnNotSteerable,
            _ => Self::Other(word),
        }
    }
}

impl<'de> Deserialize<'de> for ErrorClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ErrorClassVisitor)
    }
}

/// What an object form carries below its key.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(default, deserialize_with = "lenient::option")]
    http_status_code: Option<u16>,
    #[serde(default, deserialize_with = "lenient::option")]
    turn_kind: Option<String>,
}

struct ErrorClassVisitor;

impl<'de> Visitor<'de> for ErrorClassVisitor {
    type Value = ErrorClass;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an error class: a word or an object with one key")
    }

    fn visit_str<E>(self, word: &str) -> Result<ErrorClass, E> {
        Ok(ErrorClass {
            word: ErrorWord::from(word.to_owned()),
            http_status_code: None,
            turn_kind: None,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ErrorClass, A::Error> {
        let mut class = ErrorClass {
            word: ErrorWord::Other(String::new()),
            http_status_code: None,
            turn_kind: None,
        };
        if let Some(word) = map.next_key::<String>()? {
            let raw = map.next_value::<&'de serde_json::value::RawValue>()?;
            let details: Details = lenient::message(raw).unwrap_or_default();
            class = ErrorClass {
                word: ErrorWord::from(word),
                http_status_code: details.http_status_code,
                turn_kind: details.turn_kind,
            };
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(class)
    }
}

/// The body of an HTTP 400 of the model's server. Every version up to 0.166.0 gives it as the message of a
/// [`TurnError`], as it came, and no other message is a JSON object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RefusalBody {
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
}

/// Both forms that OpenAI's servers use: `{"error":{…}}`, and `{"detail":"…"}` behind a ChatGPT login.
#[derive(Deserialize)]
struct EitherBody {
    #[serde(default, deserialize_with = "lenient::object")]
    error: Option<BodyError>,
    #[serde(default, deserialize_with = "lenient::option")]
    detail: Option<String>,
}

#[derive(Deserialize)]
struct BodyError {
    #[serde(default, deserialize_with = "lenient::option")]
    code: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    message: Option<String>,
}

impl RefusalBody {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let body: EitherBody = lenient::message(serde_json::from_str(text).ok()?).ok()?;
        match (body.error, body.detail) {
            (Some(error), _) => Some(Self { code: error.code, message: error.message }),
            (None, Some(detail)) => Some(Self { code: None, message: Some(detail) }),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorClass, ErrorWord, RefusalBody, TurnError};

    fn read(text: &str) -> Option<ErrorClass> {
        let error: TurnError =
            serde_json::from_str(&format!(r#"{{"message":"m","codexErrorInfo":{text}}}"#)).unwrap();
        assert_eq!(error.message, "m");
        error.codex_error_info
    }

    fn class(word: ErrorWord) -> ErrorClass {
        ErrorClass { word, http_status_code: None, turn_kind: None }
    }

    #[test]
    fn words_and_one_key_objects_are_both_read() {
        assert_eq!(read("\"usageLimitExceeded\""), Some(class(ErrorWord::UsageLimitExceeded)));
        assert_eq!(
            read(r#"{"httpConnectionFailed":{"httpStatusCode":503}}"#),
            Some(ErrorClass {
                http_status_code: Some(503),
                ..class(ErrorWord::HttpConnectionFailed)
            })
        );
        assert_eq!(
            read(r#"{"responseStreamDisconnected":{"httpStatusCode":null}}"#),
            Some(class(ErrorWord::ResponseStreamDisconnected))
        );
        assert_eq!(
            read(r#"{"activeTurnNotSteerable":{"turnKind":"review"}}"#),
            Some(ErrorClass {
                turn_kind: Some("review".into()),
                ..class(ErrorWord::ActiveTurnNotSteerable)
            })
        );
    }

    #[test]
    fn unknown_classes_keep_their_word() {
        let other = |word: &str| Some(class(ErrorWord::Other(word.into())));

        assert_eq!(read("\"threadRollbackFailed\""), other("threadRollbackFailed"));
        assert_eq!(read(r#"{"brandNew":[1,2],"more":{}}"#), other("brandNew"));
        assert_eq!(read("{}"), other(""));
        assert_eq!(read("7"), None);
    }

    #[test]
    fn bodies_of_refusals_have_two_forms() {
        let body = |code: Option<&str>, message: &str| {
            let code = code.map(str::to_owned);
            Some(RefusalBody { code, message: Some(message.to_owned()) })
        };
        assert_eq!(
            RefusalBody::read(
                r#"{"type":"error","status":400,"error":{"code":"c","message":"m"}}"#
            ),
            body(Some("c"), "m")
        );
        assert_eq!(
            RefusalBody::read(r#"{"error":{"code":7,"message":"m"},"detail":"d"}"#),
            body(None, "m")
        );
        assert_eq!(RefusalBody::read(r#"{"detail":"d"}"#), body(None, "d"));
        for other in ["", "[]", "\"m\"", "{}", r#"{"error":"e"}"#, r#"{"detail":[1]}"#, "m {}"] {
            assert_eq!(RefusalBody::read(other), None, "{other}");
        }
    }
}
