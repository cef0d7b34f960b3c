//! Every way in which a stream breaks: asked again once where that is safe, and never taken for a success.

use ostler_agent::api::{Finish, Piece, Wire};
use ostler_model::FailureClass;
use rstest::rstest;

use crate::stage::{Stage, answer, then_well};

const CALL: &str = "calls = [{ tool = \"delete\", id = \"c1\" }]";

/// Text of three deltas and a call, with a fault in it.
fn broken(fault: &str) -> String {
    format!("text = \"ein zwei drei\"\n{CALL}\nfault = {{ {fault} }}")
}

/// The first attempt fails, the second is well: its answer alone counts, and what was shown before is void.
#[rstest]
#[case::refused("kind = \"drop_before_headers\"")]
#[case::reset_at_once("kind = \"drop_before_headers\", how = \"reset\"")]
#[case::closed_mid_stream("kind = \"drop\", after = 2")]
#[case::reset_mid_stream("kind = \"drop\", after = 2, how = \"reset\"")]
#[case::closed_behind_the_call("kind = \"drop\", after = 99")]
#[case::overloaded("kind = \"status\", status = 503, code = \"server_is_overloaded\"")]
#[case::server_error("kind = \"status\", status = 500")]
#[case::bad_gateway("kind = \"status\", status = 502, body = \"<html>bad gateway</html>\"")]
#[case::short_rate_limit("kind = \"status\", status = 429, retry_after_s = 0")]
#[case::error_first("kind = \"first_frame\", frame = \"error\"")]
#[case::error_event("kind = \"error_event\", after = 2, code = \"server_error\", message = \"m\"")]
#[case::failed("kind = \"failed\", after = 99, code = \"server_is_overloaded\", message = \"m\"")]
#[tokio::test]
async fn what_passes_is_asked_again_once(
    #[case] fault: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    // Well in the second attempt.
    let stage = Stage::new(wire, &then_well(&broken(fault)));
    let asked = stage.go().await;
    let found = asked.answer.as_ref().unwrap();
    assert_eq!(
        (found.text.as_str(), &found.calls, &found.finish),
        ("all is well", &vec![], &Finish::Stop)
    );
    assert_eq!((asked.shown().as_str(), asked.again().len()), ("all is well", 1));
    assert_eq!(stage.requests().len(), 2);

    // As bad in the second: there is no third, and no call is given.
    let stage = Stage::new(wire, &(answer(&broken(fault)).repeat(2) + &answer("text = \"never\"")));
    let asked = stage.go().await;
    let (class, ..) = asked.failure();
    assert!(class.is_passing(), "{class:?}");
    assert_eq!((stage.requests().len(), asked.again().len()), (2, 1));
}

/// A server that cannot be reached at all.
#[rstest]
#[tokio::test]
async fn nobody_there(#[values(Wire::Responses, Wire::Chat)] wire: Wire) {
    let stage = Stage::new(wire, &answer("text = \"never\""));
    stage.model.refuse_connections().await.unwrap();
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::Network, None, None));
    assert!(asked.message().starts_with("cannot connect to the provider: "), "{}", asked.message());
    assert_eq!(asked.again().len(), 1);
}

/// Two different troubles in a row each have their remedy.
#[rstest]
#[tokio::test]
async fn each_trouble_has_its_own_remedy(#[values(Wire::Responses, Wire::Chat)] wire: Wire) {
    let script = answer("text = \"ein zwei\"\nfault = { kind = \"drop\", after = 1 }")
        + &then_well("fault = { kind = \"status\", status = 500 }");
    let stage = Stage::new(wire, &script);
    let asked = stage.go().await;
    assert_eq!(asked.answer.as_ref().unwrap().text, "all is well");
    assert_eq!((stage.requests().len(), asked.again().len()), (3, 2));
}

#[rstest]
#[tokio::test]
async fn the_partial_answer_of_a_failure_is_kept(
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let stage = Stage::new(wire, &answer(&broken("kind = \"drop\", after = 2")).repeat(2));
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::Network, None, Some("ein zwei ")));
}

/// The stream ends in order, but not with its own end.
#[rstest]
#[tokio::test]
async fn a_missing_end_is_no_success(#[values(Wire::Responses, Wire::Chat)] wire: Wire) {
    let fault = "text = \"ein zwei\"\nfault = { kind = \"missing_terminal\" }";
    let stage = Stage::new(wire, &answer(fault));
    let asked = stage.go().await;
    let found = asked.answer.unwrap();
    let finish = Finish::Incomplete { reason: "the stream broke off before its end".to_owned() };
    assert_eq!((found.text.as_str(), found.finish, found.calls), ("ein zwei", finish, vec![]));
    assert_eq!(stage.requests().len(), 1);
}

#[rstest]
#[case::nothing("events = ['{\"type\":\"ping\"}']")]
#[case::only_an_opening("events = ['{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}']")]
#[tokio::test]
async fn a_stream_with_nothing_in_it_is_asked_again_and_then_an_error(
    #[case] nothing: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let stage = Stage::new(wire, &then_well(nothing));
    assert_eq!(stage.go().await.answer.unwrap().text, "all is well");
    let stage = Stage::new(wire, &answer(nothing).repeat(2));
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::ServerError, None, None));
    assert_eq!(asked.message(), "the provider ended the stream without an answer");
}

#[rstest]
#[case::responses(Wire::Responses, "max_output_tokens")]
#[case::chat(Wire::Chat, "length")]
#[tokio::test]
async fn an_answer_that_was_cut_says_so(#[case] wire: Wire, #[case] word: &str) {
    let cut = |reason: &str| {
        let fault =
            format!("text = \"ein\"\nfault = {{ kind = \"incomplete\", reason = \"{reason}\" }}");
        Stage::new(wire, &answer(&fault))
    };
    let found = cut("max_output_tokens").go().await.answer.unwrap();
    assert_eq!(found.finish, Finish::Incomplete { reason: word.to_owned() });
    let found = cut("content_filter").go().await.answer.unwrap();
    assert_eq!(found.finish, Finish::ContentFilter);
}

#[rstest]
#[case("codex.rate_limits")]
#[case("response.in_progress")]
#[tokio::test]
async fn another_first_frame_is_harmless(
    #[case] frame: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let fault = format!("text = \"hi\"\nfault = {{ kind = \"first_frame\", frame = \"{frame}\" }}");
    let found = Stage::new(wire, &answer(&fault)).go().await.answer.unwrap();
    assert_eq!((found.text.as_str(), found.finish), ("hi", Finish::Stop));
}

/// The Responses API says everything twice, so a delta may be lost; Chat Completions do not.
#[rstest]
#[case::responses(Wire::Responses, Finish::Stop)]
#[case::chat(Wire::Chat, Finish::Incomplete { reason: "a part of the answer could not be read".to_owned() })]
#[tokio::test]
async fn an_unreadable_event_is_no_silent_loss(
    #[case] wire: Wire,
    #[case] finish: Finish,
    #[values("broken_json", "invalid_utf8")] how: &str,
) {
    let fault = format!("text = \"hi\"\nfault = {{ kind = \"malformed\", how = \"{how}\" }}");
    let found = Stage::new(wire, &answer(&fault)).go().await.answer.unwrap();
    assert_eq!((found.text.as_str(), found.finish), ("hi", finish));
}

/// What the provider says of itself, in both of its ways.
#[tokio::test]
async fn reasoning_that_cannot_be_read_is_left_out_for_good() {
    use crate::stage::{ISSUER, entry, go};
    use ostler_agent::api::{Entry, Question, Replay};
    use ostler_model::Message;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    let refused = "fault = { kind = \"status\", status = 400, code = \"invalid_encrypted_content\", message = \"no\" }";
    let stage = Stage::new(Wire::Responses, &(then_well(refused) + &answer("text = \"again\"")));
    let thought = json!({"type": "reasoning", "encrypted_content": "E", "summary": []});
    let replay = Replay { issuer: ISSUER.to_owned(), items: vec![thought] };
    let mut history = go().history;
    history.push(Entry { replay: Some(replay), ..entry(Message::assistant("hi".to_owned())) });
    history.push(entry(Message::user("on".to_owned())));
    let question = Question { history, ..go() };
    for _ in 0..2 {
        stage.ask(&question, &CancellationToken::new()).await.answer.unwrap();
    }
    let reasoning = stage.requests().into_iter().map(|request| {
        let input = request.json()["input"].clone();
        input.as_array().unwrap().iter().filter(|item| item["type"] == "reasoning").count()
    });
    assert_eq!(reasoning.collect::<Vec<_>>(), [1, 0, 0]);
}

#[rstest]
#[tokio::test]
async fn a_stop_in_the_middle_ends_at_once_with_what_had_come(
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    use ostler_agent::api::ApiError;
    let stage = Stage::new(wire, &answer(&broken("kind = \"hang\", after = 2")));
    let stopped = stage.stop_at(|piece| *piece == Piece::Text("zwei ".to_owned())).await;
    match stopped {
        Err(ApiError::Interrupted { partial }) => {
            assert_eq!((partial.text.as_str(), partial.calls), ("ein zwei ", vec![]));
        }
        other => panic!("{other:?}"),
    }
    // Before anything comes, and while it is waited for the next attempt.
    for fault in
        ["kind = \"hang_before_headers\"", "kind = \"status\", status = 429, retry_after_s = 4"]
    {
        let stage = Stage::new(wire, &answer(&broken(fault)));
        let stop = tokio_util::sync::CancellationToken::new();
        let question = crate::stage::go();
        let asking = stage.ask(&question, &stop);
        let stopping = async {
            stage.model.wait_for_requests(1, crate::stage::DEADLINE).await.unwrap();
            stop.cancel();
        };
        let begin = std::time::Instant::now();
        let (asked, ()) = tokio::join!(asking, stopping);
        assert!(matches!(asked.answer, Err(ApiError::Interrupted { .. })), "{asked:?}");
        assert!(begin.elapsed().as_secs() < 4, "{fault} was waited for");
    }
}
