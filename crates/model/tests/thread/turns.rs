//! Turns: which events are theirs, and how they end.

use ostler_model::failure::FailureClass;
use ostler_model::item::MessagePhase;
use ostler_model::thread::{Effect, IfBusy, Said, SaidEnd, Signal, StrayReason, Update, What};
use ostler_model::{Interrupter, TurnEnd};

use crate::rig::{
    Rig, began, begins, besides_end, command, completed, echo, end, ends, failure, interrupted,
    message, order, queued, result, says, send, started, stops, submit, submitted, taken,
};

fn stray(why: StrayReason, turn: &str) -> Effect {
    Effect::Tell(Update::Stray { why, turn: Some(turn.into()), item: None })
}

#[test]
fn a_turn_carries_its_input_from_the_submit_to_the_result() {
    let mut rig = Rig::new();

    assert_eq!(rig.feed(send("i1", IfBusy::Queue)), [submit("i1")]);
    assert_eq!(rig.feed(submitted("i1", "t1")), []);
    assert_eq!(rig.feed(started("t1")), [began("t1"), taken("i1", "t1")]);
    let effects = rig.feed(completed("t1"));

    let result = result(&effects).expect("the turn ends");
    assert_eq!((result.inputs, result.end), (vec!["i1".into()], TurnEnd::Completed));
    assert_eq!(rig.sleeps(), None);
}

#[test]
fn a_second_end_of_a_turn_is_a_stray() {
    let mut rig = Rig::new().running();
    rig.feed(completed("t1"));

    assert_eq!(rig.feed(completed("t1")), [stray(StrayReason::Late, "t1")]);
    assert_eq!(rig.feed(started("t1")), [stray(StrayReason::Late, "t1")]);
}

#[test]
fn an_event_of_another_turn_is_not_mixed_in() {
    let mut rig = Rig::new().running();

    let item = command("c");
    let (why, turn) = (StrayReason::Foreign, Some("other".into()));
    let stray = Update::Stray { why, turn, item: Some(item.clone()) };

    assert_eq!(rig.feed(ends("other", item)), [Effect::Tell(stray)]);
}

#[test]
fn what_comes_late_is_not_mixed_into_the_next_turn() {
    let mut rig = Rig::new().running();
    rig.feed(completed("t1"));
    rig.feed(started("t2"));
    rig.feed(echo("t2", "theirs"));

    let (why, turn) = (StrayReason::Late, Some("t1".into()));
    let item = Update::Stray { why, turn, item: Some(command("c")) };

    assert_eq!(rig.feed(ends("t1", command("c"))), [Effect::Tell(item)]);
    assert_eq!(rig.feed(completed("t1")), [stray(StrayReason::Late, "t1")]);
}

#[test]
fn a_turn_that_begins_while_another_runs_ends_the_other_and_nothing_is_submitted_between() {
    let mut rig = Rig::new().running();
    rig.feed(send("i2", IfBusy::Queue));

    let effects = rig.feed(started("t2"));

    let by = Interrupter::Codex;
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, false)));
    assert_eq!(besides_end(effects), [began("t2")]);
}

#[test]
fn a_turn_joined_in_the_middle_begins_with_its_first_event() {
    let mut rig = Rig::new();

    let item = command("c");
    let update = Update::ItemBegan { turn: "t".into(), item: item.clone() };

    assert_eq!(rig.feed(begins("t", item)), [began("t"), Effect::Tell(update)]);
}

#[test]
fn failed_without_an_error_fails_with_the_last_one_that_codex_gave_up_on() {
    let mut rig = Rig::new().running();
    let given_up = failure(FailureClass::Overload, "at capacity");
    rig.feed(says("t1", What::Failing { failure: given_up.clone(), will_retry: false }));

    let effects = rig.feed(says("t1", What::TurnCompleted(SaidEnd::Failed(None))));

    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure: given_up }, false)));
}

#[test]
fn failed_without_any_error_is_still_failed() {
    let mut rig = Rig::new().running();

    let effects = rig.feed(says("t1", What::TurnCompleted(SaidEnd::Failed(None))));

    let unknown = FailureClass::Unknown { word: None };
    let failure = failure(unknown, "codex said that the turn failed, and not why");
    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure }, false)));
}

#[test]
fn an_end_in_a_word_we_do_not_know_is_a_failure_that_names_it() {
    let mut rig = Rig::new().running();

    let effects = rig.feed(says("t1", What::TurnCompleted(SaidEnd::Other("paused".into()))));

    let unknown = FailureClass::Unknown { word: Some("paused".into()) };
    let failure = failure(unknown, "codex ended the turn as `paused`");
    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure }, false)));
}

#[test]
fn the_old_marker_of_an_aborted_turn_ends_it_if_nothing_else_does() {
    let mut rig = Rig::new().running();
    let marker = message("m", "<turn_aborted> by user", MessagePhase::Unmarked);
    rig.feed(ends("t1", marker));

    let effects = rig.wake();

    let by = Interrupter::Codex;
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, false)));
    assert_eq!(besides_end(effects), [stops("t1"), Effect::CleanTerminals]);
}

#[test]
fn the_marker_makes_a_completed_turn_an_interrupted_one() {
    let mut rig = Rig::new().running();
    rig.feed(ends("t1", message("m", "<turn_aborted>", MessagePhase::Unmarked)));

    let by = Interrupter::Codex;
    assert_eq!(end(&rig.feed(completed("t1"))), Some((TurnEnd::Interrupted { by }, false)));
}

#[test]
fn the_marker_of_a_turn_that_was_interrupted_asks_for_no_second_interrupt() {
    let mut rig = Rig::new().running();
    rig.feed(Signal::Interrupt { by: "ann".into() });
    rig.feed(ends("t1", message("m", "<turn_aborted>", MessagePhase::Unmarked)));

    let effects = rig.wake();

    let by = Interrupter::Caller { name: "ann".into() };
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, false)));
    assert_eq!(besides_end(effects), [Effect::CleanTerminals]);
}

#[test]
fn a_review_is_one_turn_under_two_names() {
    let mut rig = Rig::new();
    rig.feed(order("review"));
    rig.feed(submitted("review", "items"));
    assert_eq!(rig.feed(started("announced")), [began("announced"), taken("review", "announced")]);

    rig.feed(ends("items", command("c")));
    let effects = rig.feed(completed("items"));

    let result = result(&effects).expect("the turn ends");
    assert_eq!((result.turn, result.tool_iterations), ("announced".into(), 1));
}

#[test]
fn a_review_whose_answer_is_lost_is_known_by_its_first_item() {
    let mut rig = Rig::new();
    rig.feed(started("announced"));

    rig.feed(ends("items", command("c")));

    assert!(result(&rig.feed(completed("items"))).is_some());
}

#[test]
fn a_review_is_interrupted_by_the_name_that_was_announced() {
    let mut rig = Rig::new();
    rig.feed(order("review"));
    rig.feed(begins("items", command("c")));

    assert_eq!(rig.feed(Signal::Interrupt { by: "ann".into() }), []);
    assert_eq!(rig.feed(started("announced")), [stops("announced")]);
}

#[test]
fn what_waits_is_answered_after_the_turn() {
    let mut rig = Rig::new().running();

    assert_eq!(rig.feed(send("i2", IfBusy::Queue)), [queued("i2")]);
    assert_eq!(besides_end(rig.feed(completed("t1"))), [submit("i2")]);
}

#[test]
fn a_turn_of_another_client_runs_without_an_input_of_ours() {
    let mut rig = Rig::new();
    rig.feed(started("t"));
    rig.feed(echo("t", "theirs"));

    let result = result(&rig.feed(interrupted("t"))).expect("the turn ends");

    let by = Interrupter::Codex;
    assert_eq!((result.inputs, result.end), (vec![], TurnEnd::Interrupted { by }));
}

#[test]
fn an_event_without_a_turn_begins_none() {
    let mut rig = Rig::new();
    let diff = Signal::Codex(Said { turn: None, what: What::Diff("d".into()) });

    let stray = Update::Stray { why: StrayReason::Foreign, turn: None, item: None };

    assert_eq!(rig.feed(diff), [Effect::Tell(stray)]);
}
