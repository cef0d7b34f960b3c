//! What becomes of a turn when the model fails, for every way in which the scripted model can fail: it ends within its
//! time, as what it is, and never as a success.

mod table;
mod told;
mod world;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ostler_codex::driver::DriverSettings;
use ostler_codex::thread::TurnInput;
use ostler_model::thread::{Finding, IfBusy, Limits, OnStall, SeenState, Update};
use ostler_model::{FailureClass, Interrupter, TurnEnd};
use ostler_scripted_model::Fault;
use rstest::rstest;

use table::{Case, cases};
use told::{End, Told, completes, fails, tries_forever};
use world::{STALL_AFTER, WELL, WELL_ANSWER, World, short_limits, stage};

#[rstest]
#[tokio::test]
async fn every_fault_has_its_class(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let cases = cases(version);
    let world = Arc::new(World::set(version, &cases).await);
    let (last, first): (Vec<_>, Vec<_>) = cases.into_iter().partition(Case::touches_others);
    let mut played = world.play_all(first).await;
    for case in last {
        let (told, result) = world.play(&case.prompt, case.limits()).await;
        played.push((case, told, result));
        world.stage.model().accept_connections().await.unwrap();
    }

    let wrong = played.iter().filter(|(case, told, _)| *told != case.told);
    let wrong: Vec<_> = wrong.map(|(case, told, _)| (&case.prompt, told, &case.told)).collect();
    assert!(wrong.is_empty(), "prompt, found, expected: {wrong:#?}");
    // All of them write to one stderr: a failure comes with what is known to be its own, and not with the broken streams of others.
    let failures = played.iter().filter_map(|(case, _, result)| Some((case, result.failure()?)));
    let misled = failures.filter(|(case, failure)| {
        let evidence = failure.evidence.as_deref().unwrap_or_default();
        case.told.retried.is_empty() && evidence.contains("stream disconnected")
    });
    assert_eq!(misled.count(), 0);
    // Codex is none the worse for it.
    assert_eq!(world.play(WELL, Limits::default()).await.0, completes(WELL_ANSWER));
}

/// Unless the caller wants it otherwise, a turn that stands still goes on, and can be ended.
#[rstest]
#[tokio::test]
async fn a_turn_that_stands_still_is_told_of(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let cases: Vec<_> = cases(version).into_iter().filter(Case::never_ends_by_itself).collect();
    assert_ne!(cases.len(), 0);
    let world = World::set(version, &cases).await;
    for case in cases {
        let mut thread = world.thread(short_limits(OnStall::Warn)).await;
        let ticket = thread.thread.send(TurnInput::text(&case.prompt), IfBusy::Fail).await.unwrap();
        let is_stalled = |update: &Update| match update {
            Update::Stalled { quiet_ms, found, .. } => Some((*quiet_ms, found.clone())),
            _ => None,
        };
        let (quiet_ms, found) = thread.until("word of the stall", is_stalled).await.unwrap();
        assert!(u128::from(quiet_ms) >= STALL_AFTER.as_millis(), "{quiet_ms}");
        assert_eq!(found, Finding::Answers { state: SeenState::Active });

        thread.thread.interrupt("the test").await;

        let result = ticket.outcome().await.unwrap().result;
        let by = Interrupter::Caller { name: "the test".into() };
        assert_eq!(result.end, TurnEnd::Interrupted { by }, "{}", case.prompt);
        assert_eq!(thread.turn_end().await.unwrap(), result);
        let told = Told { end: End::Interrupted, ..case.told };
        assert_eq!(Told::of(&thread, &result), told, "{}", case.prompt);
        world.stage.model().accept_connections().await.unwrap();
        let next = thread.run(TurnInput::text(WELL)).await.unwrap().result;
        assert_eq!(
            (next.end, next.final_answer.as_deref()),
            (TurnEnd::Completed, Some(WELL_ANSWER))
        );
    }
}

#[rstest]
#[case("0.130.0", fails(FailureClass::Network).retried(FailureClass::Network), Limits::default())]
#[case("0.142.5", fails(FailureClass::Network).retried(FailureClass::Network), Limits::default())]
#[case("0.166.0", tries_forever(FailureClass::Network), short_limits(OnStall::Fail))]
#[tokio::test]
async fn a_model_that_is_not_there(
    #[case] version: &str,
    #[case] expected: Told,
    #[case] limits: Limits,
) {
    let world = World::set(version, &[]).await;
    world.stage.model().refuse_connections().await.unwrap();
    assert_eq!(world.play(WELL, limits).await.0, expected);
    world.stage.model().accept_connections().await.unwrap();
    assert_eq!(world.play(WELL, Limits::default()).await.0, completes(WELL_ANSWER));
}

#[rstest]
#[tokio::test]
async fn a_key_that_is_not_there(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = stage(&[], version);
    let file = stage.codex_home().join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let keyed = "[model_providers.scripted]\nenv_key = \"OSTLER_NO_SUCH_KEY\"";
    std::fs::write(&file, config.replace("[model_providers.scripted]", keyed)).unwrap();
    let codex = stage.codex().await.unwrap();
    let world = World::on(stage, codex, DriverSettings::default()).await;
    assert_eq!(world.play(WELL, Limits::default()).await.0, fails(FailureClass::Auth));
}

/// Codex tells this time in its message alone, in the time zone of its process, without the seconds, and without the
/// day if it is today.
#[rstest]
#[tokio::test]
async fn a_reset_is_read_from_the_message(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let waits = [120, 3 * 86_400];
    let case = |wait: i64| {
        let resets_in_s = u64::try_from(wait).ok();
        let fault = Fault::UsageLimit { plan_type: None, resets_in_s };
        let class = FailureClass::UsageLimit { resets_at: None };
        Case::new(&format!("used up for {wait}"), fault, fails(class))
    };
    let cases: Vec<_> = waits.into_iter().map(case).collect();
    let stage = stage(&cases, version);
    // Five and a half hours ahead of UTC, so that no other zone gives the same time.
    let zone = "XST-5:30";
    let mut start = stage.start_keeper().unwrap();
    start.environment.retain(|(name, _)| name != "TZ");
    start.environment.push(("TZ".into(), zone.into()));
    let codex = stage.keep(start).await.unwrap();
    let time_zone = TimeZone::posix(zone).unwrap();
    let settings = DriverSettings { time_zone, ..DriverSettings::default() };
    let world = World::on(stage, codex, settings).await;
    for (case, wait) in cases.iter().zip(waits) {
        let before = Timestamp::now().as_second();
        let (told, _) = world.play(&case.prompt, Limits::default()).await;
        let after = Timestamp::now().as_second();
        let End::Failed(FailureClass::UsageLimit { resets_at: Some(resets_at) }) = told.end else {
            panic!("{told:?}");
        };
        let (earliest, latest) = (before + wait, after + wait + 60);
        assert!((earliest..=latest).contains(&resets_at), "{earliest} {resets_at} {latest}");
    }
}
