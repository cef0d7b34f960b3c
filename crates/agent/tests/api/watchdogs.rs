//! Silence: noticed, given up, and asked again once.

use std::time::Duration;

use ostler_agent::api::patience::Idle;
use ostler_agent::api::{KeySource, Patience, Piece, Question, Wire};
use ostler_model::FailureClass;
use rstest::rstest;
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, answer, calm, go, then_well};

const SHORT: Option<Duration> = Some(Duration::from_millis(60));

fn idle(limit: Option<Duration>) -> Idle {
    Idle { up_to_10k: limit, up_to_50k: limit, up_to_100k: limit, above: limit }
}

/// The same limits, each of two seconds.
fn longer(patience: &Patience) -> Patience {
    let seconds = |limit: Option<Duration>| limit.map(|_| Duration::from_secs(2));
    Patience {
        no_byte: seconds(patience.no_byte),
        thinking: seconds(patience.thinking),
        idle: idle(seconds(patience.idle.up_to_10k)),
        ..patience.clone()
    }
}

fn stage(wire: Wire, answers: &str, patience: Patience) -> Stage {
    Stage::with(wire, answers, patience, KeySource::None)
}

fn hanging(fault: &str) -> String {
    format!("text = \"ein zwei drei\"\nfault = {{ {fault} }}")
}

#[rstest]
#[case::no_byte("kind = \"hang_before_headers\"", Patience { no_byte: SHORT, ..calm() }, None)]
#[case::before_the_first_word("kind = \"hang\"", Patience { thinking: SHORT, ..calm() }, None)]
#[case::while_writing("kind = \"hang\", after = 2", Patience { idle: idle(SHORT), ..calm() }, Some("ein zwei "))]
#[tokio::test]
async fn a_silent_provider_is_asked_again_once(
    #[case] fault: &str,
    #[case] patience: Patience,
    #[case] partial: Option<&str>,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    // The second attempt must be in time on a busy machine, too.
    let well = stage(wire, &then_well(&hanging(fault)), longer(&patience));
    let asked = well.go().await;
    assert_eq!(asked.answer.as_ref().unwrap().text, "all is well");
    assert_eq!((asked.shown().as_str(), asked.again().len()), ("all is well", 1));

    let silent = stage(wire, &answer(&hanging(fault)).repeat(2), patience);
    let asked = silent.go().await;
    assert_eq!(asked.failure(), (FailureClass::TimedOut, None, partial));
    assert!(asked.message().ends_with("for 60ms"), "{}", asked.message());
    assert_eq!(silent.requests().len(), 2);
}

/// Where a limit is None, another one decides: here the one for everything, which nobody asks again after.
#[rstest]
#[case::before_headers("kind = \"hang_before_headers\"", None)]
#[case::mid_stream("kind = \"hang\", after = 2", Some("ein zwei "))]
#[tokio::test]
async fn the_whole_question_has_its_time(
    #[case] fault: &str,
    #[case] partial: Option<&str>,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let patience = Patience { total: Some(Duration::from_secs(2)), ..calm() };
    let stage = stage(wire, &then_well(&hanging(fault)), patience);
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::TimedOut, None, partial));
    assert_eq!(asked.message(), "the answer did not come within 2s");
    assert_eq!(stage.requests().len(), 1);
}

/// Comments and unknown events are signs of life.
#[rstest]
#[tokio::test]
async fn signs_of_life_count(
    #[values("comment", "ping")] sign: &str,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let lines = format!(
        "{}\npace = {{ keep_alive_ms = 20, keep_alive = \"{sign}\" }}",
        hanging("kind = \"hang\", after = 2, for_ms = 1500")
    );
    // Shorter than the silence between the words, longer than that between the signs on a busy machine.
    let limit = Some(Duration::from_millis(1000));
    let patience = Patience { idle: idle(limit), thinking: limit, ..calm() };
    let stage = stage(wire, &answer(&lines), patience);
    assert_eq!(stage.go().await.answer.unwrap().text, "ein zwei drei");
}

#[tokio::test]
async fn a_surface_is_told_that_nothing_comes() {
    let patience = Patience {
        notice: Some(Duration::from_millis(30)),
        no_byte: Some(Duration::from_millis(200)),
        ..calm()
    };
    let stage =
        stage(Wire::Chat, &answer(&hanging("kind = \"hang_before_headers\"")).repeat(2), patience);
    let asked = stage.go().await;
    let notices = asked.pieces.iter().filter(|piece| **piece == Piece::Waiting { seconds: 0 });
    assert!(notices.count() >= 2, "{:?}", asked.pieces);
}

/// A fuller context is waited for longer: the same silence is too long for one and not for the other.
#[tokio::test]
async fn the_context_decides_how_long_a_pause_may_be() {
    let limits = Idle { above: None, ..idle(SHORT) };
    let patience = Patience { idle: limits, ..calm() };
    let fault = hanging("kind = \"hang\", after = 2, for_ms = 600");
    let stage = stage(Wire::Responses, &answer(&fault).repeat(3), patience);
    let full = Question { context_tokens: 200_000, ..go() };
    let asked = stage.ask(&full, &CancellationToken::new()).await;
    assert_eq!((asked.answer.unwrap().text.as_str(), stage.requests().len()), ("ein zwei drei", 1));
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::TimedOut, None, Some("ein zwei ")));
}

/// After three silences in a row, a fourth is not followed by another attempt.
#[tokio::test]
async fn a_provider_that_stays_silent_is_not_waited_for_twice() {
    let patience = Patience { no_byte: SHORT, ..calm() };
    let lines = format!("{}\nrepeat = true", hanging("kind = \"hang_before_headers\""));
    let stage = stage(Wire::Chat, &answer(&lines), patience);
    let mut requests = Vec::new();
    for _ in 0..3 {
        stage.go().await.answer.unwrap_err();
        requests.push(stage.requests().len());
    }
    assert_eq!(requests, [2, 4, 5]);
}
