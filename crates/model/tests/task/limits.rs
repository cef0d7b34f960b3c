//! A limit parks the task until it has passed, and the task goes on once, with all that waited.

use ostler_model::task::machine::{Effect, MayContinue, Owed, Signal, WhyAsk};
use ostler_model::task::{Cause, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, START, deeds, failed, give, moves, result};

const RESET: FailureClass = FailureClass::UsageLimit { resets_at: Some(2_000) };

/// A little after the reset, for clocks that differ.
const WAKE: i64 = 2_005_000;

fn limited() -> Rig {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    rig.end("t1", failed(RESET));
    rig
}

#[test]
fn a_usage_limit_parks_until_the_reset_and_goes_on_once_before_what_waits() {
    let mut rig = limited();
    let failure = Failure::new(RESET, "it failed");
    assert_eq!(rig.machine.task().cause, Cause::LimitReached { failure, until: WAKE });
    assert_eq!((rig.state(), rig.machine.wake_at()), (TaskState::Parked, Some(WAKE)));
    assert!(rig.machine.is_at_rest());

    rig.now = WAKE - 1;
    assert_eq!(rig.step(Signal::Tick), []);
    rig.now = WAKE;
    let woken = rig.step(Signal::Tick);
    assert_eq!(moves(&woken), [TaskState::Queued]);
    assert_eq!(deeds(woken), [Effect::Owe(Owed::AfterLimit)]);
    assert_eq!(rig.step(Signal::Tick), []);

    assert_eq!(rig.owe("ours"), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), [give("ours", IfBusy::Queue)]);
    rig.begin("t2", "ours");
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn a_limit_without_a_reset_waits_until_somebody_says_that_it_has_passed() {
    let mut rig = Rig::working(TaskSettings::default());
    let class = FailureClass::UsageLimit { resets_at: None };
    let end = rig.end("t1", failed(class.clone()));
    assert_eq!(moves(&end), [TaskState::Parked]);
    let TurnEnd::Failed { failure } = failed(class) else { unreachable!() };
    let ask = Effect::AskToContinue(WhyAsk::Limit(failure));
    assert_eq!(deeds(end), [Effect::LeavePlace, ask]);
    assert_eq!(rig.machine.wake_at(), None);

    let (answer, by) = (MayContinue::Yes, "ana".to_owned());
    let woken = rig.step(Signal::MayContinue { answer, by });
    assert_eq!(moves(&woken), [TaskState::Queued]);
    assert_eq!(deeds(woken), [Effect::Owe(Owed::AfterPause)]);
}

#[test]
fn a_reset_that_has_passed_is_not_waited_for_long() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", failed(FailureClass::UsageLimit { resets_at: Some(1) }));
    assert_eq!(rig.machine.wake_at(), Some(START + 5_000));
}

#[test]
fn a_rate_limit_waits_as_long_as_it_says_or_longer_each_time() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", failed(FailureClass::RateLimit { retry_after_ms: Some(700) }));
    assert_eq!(rig.machine.wake_at(), Some(START + 700));

    let unnamed = failed(FailureClass::RateLimit { retry_after_ms: None });
    let mut waits = Vec::new();
    for round in 2..=5 {
        rig.now = rig.machine.wake_at().unwrap_or_default();
        rig.step(Signal::Tick);
        rig.owe("ours");
        rig.placed();
        rig.begin(&format!("t{round}"), "ours");
        rig.end(&format!("t{round}"), unnamed.clone());
        waits.push(rig.machine.wake_at().unwrap_or_default() - rig.now);
    }
    assert_eq!(waits, [120_000, 240_000, 480_000, 960_000]);
}

/// Lets the limit pass and come again at once; whether the turn did anything is up to the caller.
fn again(rig: &mut Rig, round: u32, iterations: u32) -> Vec<TaskState> {
    rig.now = rig.machine.wake_at().unwrap_or_default();
    rig.step(Signal::Tick);
    rig.owe("ours");
    rig.placed();
    let turn = format!("t{round}");
    rig.begin(&turn, "ours");
    let reset = FailureClass::UsageLimit { resets_at: Some(rig.now / 1000 + 60) };
    let mut result = result(&turn, failed(reset));
    result.tool_iterations = iterations;
    let end = ostler_model::thread::Update::TurnEnded { result: Box::new(result) };
    moves(&rig.tell(end))
}

#[test]
fn a_limit_that_comes_again_without_any_work_is_given_up() {
    let mut rig = limited();
    for round in 2..=5 {
        assert_eq!(again(&mut rig, round, 0), [TaskState::Parked]);
    }
    assert_eq!(again(&mut rig, 6, 0), [TaskState::Failed]);
    assert!(matches!(rig.machine.task().cause, Cause::LimitAgain { times: 6, .. }));
    assert_eq!(rig.machine.wake_at(), None);
}

#[test]
fn work_that_was_done_between_two_limits_counts_anew() {
    let mut rig = limited();
    for round in 2..=20 {
        assert_eq!(again(&mut rig, round, 1), [TaskState::Parked]);
    }
}

#[test]
fn a_limit_is_waited_for_over_a_restart() {
    let mut rig = limited();
    assert_eq!(rig.restart(vec![crate::rig::waiting("b")]), []);
    rig.now = WAKE;
    assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::Owe(Owed::AfterLimit)]);
    rig.owe("ours");
    let intents =
        vec![crate::rig::waiting("b"), ostler_model::task::machine::Unsettled::Owed("ours".into())];
    // Ours is the newer one, and goes first all the same.
    assert_eq!(rig.restart(intents), [Effect::WantPlace]);
    rig.placed();
    assert_eq!(deeds(rig.step(Signal::Opened)), [give("ours", IfBusy::Queue)]);
}

#[test]
fn an_input_that_interrupts_takes_the_place_of_what_was_cut_off() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", failed(RESET));
    rig.submit("b", IfBusy::Interrupt);
    assert_eq!(rig.state(), TaskState::Parked);
    rig.now = WAKE;
    assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), [give("b", IfBusy::Queue)]);
}
