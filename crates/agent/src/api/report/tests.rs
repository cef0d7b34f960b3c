use rstest::rstest;
use serde_json::json;

use super::*;

const NOW: i64 = 1_000;

#[rstest]
#[case::used_up(429, r#"{"error":{"type":"usage_limit_reached","message":"m","resets_at":1500}}"#, FailureClass::UsageLimit { resets_at: Some(1500) })]
#[case::used_up_in(429, r#"{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":60}}"#, FailureClass::UsageLimit { resets_at: Some(1060) })]
#[case::no_credits(429, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#, FailureClass::UsageLimit { resets_at: None })]
#[case::unpaid(402, "{}", FailureClass::UsageLimit { resets_at: None })]
#[case::burst(429, r#"{"error":{"code":"rate_limit_exceeded","message":"Please try again in 1.5s."}}"#, FailureClass::RateLimit { retry_after_ms: Some(1500) })]
#[case::burst_bare(429, "slow down", FailureClass::RateLimit { retry_after_ms: None })]
#[case::full(
    503,
    r#"{"error":{"code":"server_is_overloaded","message":"m"}}"#,
    FailureClass::Overload
)]
#[case::full_bare(529, "", FailureClass::Overload)]
#[case::long(
    400,
    r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#,
    FailureClass::ContextWindow
)]
#[case::long_in_words(
    400,
    r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#,
    FailureClass::ContextWindow
)]
#[case::key(
    401,
    r#"{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}"#,
    FailureClass::Auth
)]
#[case::model(
    404,
    r#"{"error":{"message":"The model `x` does not exist"}}"#,
    FailureClass::ModelNotFound
)]
#[case::model_in_400(
    400,
    r#"{"error":{"code":"model_not_found","message":"m"}}"#,
    FailureClass::ModelNotFound
)]
#[case::place(404, "not here", FailureClass::BadRequest)]
#[case::shape(
    400,
    r#"{"error":{"message":"m","type":"invalid_request_error","param":"input[2]"}}"#,
    FailureClass::BadRequest
)]
#[case::moved(302, "", FailureClass::BadRequest)]
#[case::forbidden(403, "<html>challenge</html>", FailureClass::Policy)]
#[case::flagged(400, r#"{"error":{"code":"invalid_prompt","message":"m"}}"#, FailureClass::Policy)]
#[case::broken(
    500,
    r#"{"error":{"message":"m","type":"server_error"}}"#,
    FailureClass::ServerError
)]
#[case::gateway(502, "<html>bad gateway</html>", FailureClass::ServerError)]
fn a_response_has_its_class(#[case] status: u16, #[case] body: &str, #[case] class: FailureClass) {
    let report = of_response(status, None, body, NOW);
    assert_eq!((report.failure.class, report.failure.http_status), (class, Some(status)));
}

#[rstest]
#[case::top(json!({"type":"error","code":"server_error","message":"m","param":null}), FailureClass::ServerError)]
#[case::nested(json!({"type":"error","error":{"type":"rate_limit_error","message":"m"}}), FailureClass::RateLimit { retry_after_ms: None })]
#[case::failed(json!({"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"m"}}}), FailureClass::ContextWindow)]
#[case::number(json!({"error":{"code":502,"message":"m"}}), FailureClass::ServerError)]
#[case::new_word(json!({"type":"error","code":"moon_phase","message":"m"}), FailureClass::Unknown { word: Some("moon_phase".to_owned()) })]
#[case::nothing(json!({"type":"error"}), FailureClass::Unknown { word: None })]
fn an_event_has_its_class(#[case] event: Value, #[case] class: FailureClass) {
    assert_eq!(of_event(&event, NOW).failure.class, class);
}

#[test]
fn the_words_of_the_provider_are_kept() {
    let body = r#"{"error":{"message":"bad item","type":"invalid_request_error","param":"input[2]","code":"bad"}}"#;
    let failure =
        Failure { http_status: Some(400), ..Failure::new(FailureClass::BadRequest, "bad item") };
    let expected = Report {
        failure,
        code: Some("bad".to_owned()),
        param: Some("input[2]".to_owned()),
        retry_after: None,
    };
    assert_eq!(of_response(400, None, body, NOW), expected);
}

#[rstest]
#[case(r#"{"detail":"Instructions are required"}"#, "Instructions are required")]
#[case(r#"{"error":"no such key"}"#, "no such key")]
#[case("plain words", "plain words")]
#[case("<html>", "the provider answers with status 400 and does not say why")]
#[case("", "the provider answers with status 400 and does not say why")]
fn the_message_is_found_wherever_it_stands(#[case] body: &str, #[case] message: &str) {
    assert_eq!(of_response(400, None, body, NOW).failure.message, message);
}

#[rstest]
#[case("Please try again in 1.898s. Visit", Some(1898))]
#[case("try again in 20ms.", Some(20))]
#[case("try again in 2 minutes", Some(120_000))]
#[case("try again in a while", None)]
#[case("try again later", None)]
fn the_pause_is_read_from_the_message(#[case] message: &str, #[case] expected: Option<u64>) {
    assert_eq!(pause_in(message), expected.map(Duration::from_millis));
}

#[test]
fn a_long_message_is_cut() {
    let report = of_response(500, None, &"ä".repeat(5000), NOW);
    assert_eq!(report.failure.message.chars().count(), SHOWN_CHARS + 1);
}
