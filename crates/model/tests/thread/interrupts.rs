//! Interrupts: sent once, to a turn that can hear them, and not waited for without end.

use ostler_model::failure::FailureClass;
use ostler_model::thread::{
    Echo, Effect, Finding, IfBusy, Limits, SaidEnd, SeenState, ServerWanted, Signal, Update,
};
use ostler_model::{Decision, Interrupter, TurnEnd};
use std::time::Duration;

use crate::rig::{
    Rig, asks, besides_end, command_ask, completed, end, failure, id, interrupt, interrupted,
    queued, seen, send, started, stops, view,
};

#[test]
fn who_interrupted_first_is_told() {
    let mut rig = Rig::new().running();

    assert_eq!(rig.feed(interrupt()), [stops("t1")]);
    assert_eq!(rig.feed(Signal::Interrupt { by: "bob".into() }), []);
    let effects = rig.feed(interrupted("t1"));

    let by = Interrupter::Caller { name: "ann".into() };
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, false)));
    assert_eq!(besides_end(effects), [Effect::CleanTerminals]);
}

#[test]
fn a_turn_announced_twice_is_interrupted_once() {
    let mut rig = Rig::new().running();
    rig.feed(interrupt());

    assert_eq!(rig.feed(started("t1")), []);
}

#[test]
fn a_turn_that_completes_in_spite_of_an_interrupt_is_completed() {
    let mut rig = Rig::new().running();
    rig.feed(interrupt());

    assert_eq!(end(&rig.feed(completed("t1"))), Some((TurnEnd::Completed, false)));
}

#[test]
fn an_interrupt_with_nothing_to_interrupt_does_not_hit_the_next_turn() {
    let mut rig = Rig::new();

    assert_eq!(rig.feed(interrupt()), []);
    rig.feed(send("i1", IfBusy::Queue));

    assert!(!rig.feed(started("t1")).contains(&stops("t1")));
}

#[test]
fn a_turn_that_does_not_obey_is_looked_at_then_given_up_with_its_app_server() {
    let mut rig = Rig::new().running();
    rig.feed(send("i2", IfBusy::Queue));
    rig.feed(interrupt());

    assert_eq!(rig.sleeps(), Some(15));
    assert_eq!(rig.wake(), [Effect::Look]);
    let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
    assert_eq!(rig.feed(Signal::Looked(Ok(active))), []);
    let effects = rig.wake();

    let by = Interrupter::Caller { name: "ann".into() };
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, true)));
    // The next input must not get into the turn that does not end.
    assert_eq!(besides_end(effects), [Effect::Reopen { server: ServerWanted::Fresh }]);
}

#[test]
fn an_interrupt_that_failed_shows_the_end_that_was_missed() {
    let mut rig = Rig::new().running();
    rig.feed(interrupt());

    assert_eq!(rig.feed(Signal::InterruptFailed { turn: "t1".into() }), [Effect::Look]);
    let idle = view(SeenState::Idle, vec![seen("t1", Some(SaidEnd::Completed), &["i1"])]);
    // What Codex said of the turn may still be on its way.
    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [Effect::CleanTerminals]);

    assert_eq!(rig.sleeps(), Some(2));
    assert_eq!(end(&rig.wake()), Some((TurnEnd::Completed, false)));
}

#[test]
fn an_interrupt_without_a_connection_waits_for_one() {
    let mut rig = Rig::new().running();
    rig.feed(Signal::Closed { reason: "eof".into() });

    assert_eq!(rig.feed(interrupt()), []);
    let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
    let effects = rig.feed(Signal::Reopened(active));

    assert_eq!(effects, [Effect::Tell(Update::Reconnected), stops("t1")]);
}

#[test]
fn an_ask_answered_with_cancel_ends_the_turn_in_the_name_of_who_decided() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));
    rig.feed(Signal::Decide { ask: id("a"), decision: Decision::Cancel, by: "ann".into() });

    let by = Interrupter::Decision { by: "ann".into() };
    assert_eq!(end(&rig.feed(interrupted("t1"))), Some((TurnEnd::Interrupted { by }, false)));
}

#[test]
fn a_turn_that_used_up_its_time_is_ended_as_failed() {
    let budget = Some(Duration::from_secs(30));
    let mut rig = Rig::with(Limits { budget, ..Limits::default() }, Echo::Ids).running();

    assert_eq!(rig.sleeps(), Some(30));
    assert_eq!(rig.wake(), [stops("t1")]);
    let failure = failure(FailureClass::TimedOut, "the turn used up its 30 s");

    assert_eq!(end(&rig.feed(interrupted("t1"))), Some((TurnEnd::Failed { failure }, true)));
}

#[test]
fn the_time_of_a_turn_stands_while_a_person_is_asked() {
    let budget = Some(Duration::from_secs(30));
    let mut rig = Rig::with(Limits { budget, ..Limits::default() }, Echo::Ids).running();
    rig.wait(10);
    rig.feed(asks("a", command_ask("t1")));

    assert_eq!(rig.sleeps(), None);
    rig.wait(3600);
    assert_eq!(rig.feed(Signal::Tick), []);
    rig.feed(Signal::Decide { ask: id("a"), decision: Decision::Once, by: "ann".into() });

    assert_eq!(rig.sleeps(), Some(20));
}

#[test]
fn a_stalled_turn_is_interrupted_only_if_it_still_stands_when_codex_answers() {
    let on_stall = ostler_model::thread::OnStall::Interrupt;
    let mut rig = Rig::with(Limits { on_stall, ..Limits::default() }, Echo::Ids).running();
    rig.wake();
    rig.feed(crate::rig::says("t1", ostler_model::thread::What::Sign));
    let active = || view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
    assert_eq!(rig.feed(Signal::Looked(Ok(active()))), []);

    rig.wake();
    let effects = rig.feed(Signal::Looked(Ok(active())));

    let stalled = Update::Stalled {
        turn: "t1".into(),
        quiet_ms: 120_000,
        found: Finding::Answers { state: SeenState::Active },
        retrying: None,
    };
    assert_eq!(effects, [Effect::Tell(stalled), stops("t1")]);
}

#[test]
fn a_caller_who_sends_and_interrupts_gets_the_answer_to_what_was_sent() {
    let mut rig = Rig::new().running();

    rig.feed(interrupt());

    assert_eq!(rig.feed(send("i2", IfBusy::Interrupt)), [queued("i2")]);
}
