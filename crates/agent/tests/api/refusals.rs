//! Failures that do not pass: one request, one typed error.

use ostler_agent::api::{ApiError, Wire};
use ostler_model::FailureClass;
use rstest::rstest;

use crate::stage::{Stage, then_well};

#[rstest]
#[case::request(
    "status = 400, message = \"bad\"",
    FailureClass::BadRequest,
    Some("invalid_request_error")
)]
#[case::context(
    "status = 400, code = \"context_length_exceeded\"",
    FailureClass::ContextWindow,
    Some("context_length_exceeded")
)]
#[case::forbidden("status = 403", FailureClass::Policy, Some("permission_error"))]
#[case::model(
    "status = 404, code = \"model_not_found\"",
    FailureClass::ModelNotFound,
    Some("model_not_found")
)]
#[case::long_rate_limit("status = 429, retry_after_s = 60", FailureClass::RateLimit { retry_after_ms: Some(60_000) }, Some("rate_limit_error"))]
#[case::no_credits("status = 429, code = \"insufficient_quota\"", FailureClass::UsageLimit { resets_at: None }, Some("insufficient_quota"))]
#[case::long_overload(
    "status = 503, retry_after_s = 60",
    FailureClass::Overload,
    Some("server_error")
)]
#[tokio::test]
async fn a_status_has_its_class(
    #[case] fault: &str,
    #[case] class: FailureClass,
    #[case] code: Option<&str>,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let stage = Stage::new(wire, &then_well(&format!("fault = {{ kind = \"status\", {fault} }}")));
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (class, code, None));
    assert_eq!((stage.requests().len(), asked.pieces.len()), (1, 0));
}

#[rstest]
#[case("context_length_exceeded", FailureClass::ContextWindow)]
#[case("insufficient_quota", FailureClass::UsageLimit { resets_at: None })]
#[case("invalid_prompt", FailureClass::Policy)]
#[case("moon_phase", FailureClass::Unknown { word: Some("moon_phase".to_owned()) })]
#[tokio::test]
async fn an_event_has_its_class(
    #[case] code: &str,
    #[case] class: FailureClass,
    #[values("error_event", "failed")] kind: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let fault = format!(
        "text = \"ein zwei\"\nfault = {{ kind = \"{kind}\", after = 1, code = \"{code}\", message = \"m\" }}"
    );
    let stage = Stage::new(wire, &then_well(&fault));
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (class, Some(code), Some("ein ")));
    assert_eq!((asked.message().as_str(), stage.requests().len()), ("m", 1));
}

#[rstest]
#[tokio::test]
async fn a_used_up_plan_says_when_it_is_full_again(
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let fault = "fault = { kind = \"usage_limit\", resets_in_s = 3600 }";
    let stage = Stage::new(wire, &then_well(fault));
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let before = i64::try_from(since.as_secs()).unwrap();
    let asked = stage.go().await;
    let (FailureClass::UsageLimit { resets_at: Some(resets_at) }, ..) = asked.failure() else {
        panic!("{asked:?}");
    };
    assert!((before + 3600..before + 3660).contains(&resets_at), "{resets_at}");
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn the_status_is_told() {
    let stage =
        Stage::new(Wire::Responses, &then_well("fault = { kind = \"status\", status = 403 }"));
    match stage.go().await.answer {
        Err(ApiError::Failed { failure, .. }) => assert_eq!(failure.http_status, Some(403)),
        other => panic!("{other:?}"),
    }
}

/// A proxy's page under status 200.
#[rstest]
#[tokio::test]
async fn a_page_is_no_answer(#[values(Wire::Responses, Wire::Chat)] wire: Wire) {
    let lines = "text = \"hi\"\nheaders = { \"content-type\" = \"text/html\" }";
    let asked = Stage::new(wire, &then_well(lines)).go().await;
    assert_eq!(asked.failure(), (FailureClass::ServerError, None, None));
}
