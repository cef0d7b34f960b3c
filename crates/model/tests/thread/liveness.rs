//! Silence: it is looked into, told, and acted upon as the caller chose.

use ostler_model::failure::FailureClass;
use ostler_model::thread::{
    Echo, Effect, Finding, Limits, OnStall, SaidEnd, SeenState, ServerWanted, Signal, Update, What,
};
use ostler_model::{Interrupter, TurnEnd};

use crate::rig::{
    Rig, asks, command_ask, completed, end, failure, interrupted, says, seen, started, stops, view,
};

fn rig(on_stall: OnStall) -> Rig {
    Rig::with(Limits { on_stall, ..Limits::default() }, Echo::Ids).running()
}

fn active() -> Signal {
    Signal::Looked(Ok(view(SeenState::Active, vec![seen("t1", None, &["i1"])])))
}

fn stalled(quiet_ms: u64, found: Finding) -> Effect {
    let update = Update::Stalled { turn: "t1".into(), quiet_ms, found, retrying: None };
    Effect::Tell(update)
}

#[test]
fn a_silent_turn_is_looked_at_and_told_again_at_growing_intervals() {
    let mut rig = rig(OnStall::Warn);

    assert_eq!(rig.sleeps(), Some(120));
    assert_eq!(rig.wake(), [Effect::Look]);
    let found = Finding::Answers { state: SeenState::Active };
    assert_eq!(rig.feed(active()), [stalled(120_000, found.clone())]);
    assert_eq!(rig.sleeps(), Some(240));
    assert_eq!(rig.wake(), [Effect::Look]);
    assert_eq!(rig.feed(active()), [stalled(360_000, found)]);
    assert_eq!(rig.sleeps(), Some(480));
}

#[test]
fn an_app_server_that_does_not_answer_is_told_as_silent() {
    let mut rig = rig(OnStall::Warn);
    rig.wake();

    let reason = "no answer in 10 s".to_owned();
    let effects = rig.feed(Signal::Looked(Err(reason.clone())));

    assert_eq!(effects, [stalled(120_000, Finding::Silent { reason })]);
}

#[test]
fn a_stall_interrupts_if_the_caller_chose_so() {
    let mut rig = rig(OnStall::Interrupt);
    rig.wake();

    assert_eq!(rig.feed(active()).last(), Some(&stops("t1")));
    let by = Interrupter::Stall;
    assert_eq!(end(&rig.feed(interrupted("t1"))), Some((TurnEnd::Interrupted { by }, false)));
}

#[test]
fn a_stall_fails_with_the_reason_of_the_retries_if_the_caller_chose_so() {
    let mut rig = rig(OnStall::Fail);
    let cut = failure(FailureClass::Network, "waiting for network");
    rig.feed(says("t1", What::Failing { failure: cut.clone(), will_retry: true }));
    rig.wake();
    rig.feed(active());

    assert_eq!(end(&rig.feed(interrupted("t1"))), Some((TurnEnd::Failed { failure: cut }, false)));
}

#[test]
fn retries_are_no_progress() {
    let mut rig = rig(OnStall::Warn);
    rig.wait(100);
    let cut = failure(FailureClass::Network, "cut");
    rig.feed(says("t1", What::Failing { failure: cut, will_retry: true }));

    assert_eq!(rig.sleeps(), Some(20));
}

#[test]
fn nobody_looks_while_a_person_is_asked() {
    let mut rig = rig(OnStall::Fail);
    rig.feed(asks("a", command_ask("t1")));

    assert_eq!(rig.sleeps(), None);
}

#[test]
fn nobody_looks_while_a_sub_agent_waits_for_a_person() {
    let mut rig = rig(OnStall::Fail);
    rig.feed(Signal::ChildSpoke { waiting: true });
    assert_eq!(rig.sleeps(), None);

    rig.feed(Signal::ChildSpoke { waiting: false });
    assert_eq!(rig.sleeps(), Some(120));
}

#[test]
fn a_question_that_we_do_not_have_is_fetched_by_opening_the_thread_again() {
    let mut rig = rig(OnStall::Interrupt);
    let waiting = || view(SeenState::Waiting, vec![seen("t1", None, &["i1"])]);

    for _ in 0..3 {
        rig.wake();
        let effects = rig.feed(Signal::Looked(Ok(waiting())));
        assert_eq!(effects.last(), Some(&Effect::Reopen { server: ServerWanted::Same }));
        rig.feed(Signal::Reopened(waiting()));
    }
    rig.wake();

    // It does not come; now the rule for turns that stand still holds.
    assert_eq!(rig.feed(Signal::Looked(Ok(waiting()))).last(), Some(&stops("t1")));
}

#[test]
fn a_missed_end_is_found_by_looking() {
    let mut rig = rig(OnStall::Warn);
    rig.wake();

    let over = vec![seen("t1", Some(SaidEnd::Completed), &["i1"])];
    assert_eq!(rig.feed(Signal::Looked(Ok(view(SeenState::Idle, over)))), []);

    assert_eq!(end(&rig.wake()), Some((TurnEnd::Completed, false)));
}

#[test]
fn an_end_that_comes_after_the_look_tells_the_rest() {
    let mut rig = rig(OnStall::Warn);
    rig.wake();
    let over = vec![seen("t1", Some(SaidEnd::Completed), &["i1"])];
    rig.feed(Signal::Looked(Ok(view(SeenState::Idle, over))));

    assert_eq!(end(&rig.feed(completed("t1"))), Some((TurnEnd::Completed, false)));
}

#[test]
fn a_turn_that_codex_forgot_has_failed() {
    let mut rig = rig(OnStall::Warn);
    rig.wake();
    rig.feed(Signal::Looked(Ok(view(SeenState::Idle, vec![]))));

    let message = "codex no longer runs this turn, and does not say how it ended";
    let failure = failure(FailureClass::Unknown { word: None }, message);
    assert_eq!(end(&rig.wake()), Some((TurnEnd::Failed { failure }, false)));
}

#[test]
fn an_answer_from_before_the_turn_does_not_end_it() {
    let mut rig = rig(OnStall::Warn);
    rig.wake();
    rig.feed(completed("t1"));
    rig.feed(started("t2"));

    let effects = rig.feed(Signal::Looked(Ok(view(SeenState::Idle, vec![]))));

    assert_eq!(effects, []);
    assert_eq!(rig.sleeps(), Some(120));
}
