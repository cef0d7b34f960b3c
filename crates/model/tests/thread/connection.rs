//! A broken connection: the turn goes on, or is told as lost; no input and no ask is forgotten.

use ostler_model::TurnEnd;
use ostler_model::failure::FailureClass;
use ostler_model::item::MessagePhase;
use ostler_model::thread::{
    AskEnd, Effect, GiveFailure, IfBusy, SaidEnd, SeenState, ServerWanted, Signal, StrayReason,
    Update, Withdrawal,
};

use crate::rig::{
    Rig, asks, began, begins, besides_end, command, command_ask, completed, end, ends, failure, id,
    message, queued, refused, refused_in_doubt, result, seen, send, started, submit, submitted,
    taken, view,
};

const SAME: Effect = Effect::Reopen { server: ServerWanted::Same };
const ANY: Effect = Effect::Reopen { server: ServerWanted::Any };

fn closed() -> Signal {
    Signal::Closed { reason: "eof".into() }
}

fn disconnected() -> Effect {
    Effect::Tell(Update::Disconnected { reason: "eof".into() })
}

fn reconnected() -> Effect {
    Effect::Tell(Update::Reconnected)
}

#[test]
fn a_turn_that_runs_on_is_joined_again() {
    let mut rig = Rig::new().running();

    assert_eq!(rig.feed(closed()), [disconnected(), SAME]);
    let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
    assert_eq!(rig.feed(Signal::Reopened(active)), [reconnected()]);
    rig.feed(ends("t1", message("m", "done", MessagePhase::Unmarked)));

    let result = result(&rig.feed(completed("t1"))).expect("the turn ends");
    assert_eq!((result.end, result.final_answer), (TurnEnd::Completed, Some("done".into())));
}

#[test]
fn a_turn_that_died_with_its_app_server_is_told_as_such() {
    let mut rig = Rig::new().running();
    rig.feed(send("i2", IfBusy::Queue));
    rig.feed(closed());

    let died = view(SeenState::Idle, vec![seen("t1", Some(SaidEnd::Interrupted), &["i1"])]);
    let effects = rig.feed(Signal::Reopened(died));

    let message = "the app-server ended in the middle of the turn";
    let failure = failure(FailureClass::ServerGone, message);
    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure }, true)));
    assert_eq!(besides_end(effects), [reconnected(), submit("i2")]);
}

#[test]
fn a_turn_that_ended_while_nobody_listened_ends_as_it_did() {
    let mut rig = Rig::new().running();
    rig.feed(closed());

    let over = view(SeenState::Idle, vec![seen("t1", Some(SaidEnd::Completed), &["i1"])]);

    assert_eq!(end(&rig.feed(Signal::Reopened(over))), Some((TurnEnd::Completed, false)));
}

#[test]
fn a_turn_whose_app_server_is_gone_is_lost_and_what_waits_goes_elsewhere() {
    let mut rig = Rig::new().running();
    rig.feed(send("i2", IfBusy::Queue));
    rig.feed(closed());

    let gone = failure(FailureClass::ServerGone, "no socket");
    let effects = rig.feed(Signal::ReopenFailed { failure: gone.clone() });

    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure: gone }, true)));
    assert_eq!(besides_end(effects), [ANY]);
}

#[test]
fn an_opening_that_fails_gives_every_input_back() {
    let mut rig = Rig::new();
    rig.feed(send("given", IfBusy::Queue));
    rig.feed(submitted("given", "t"));
    rig.feed(send("waits", IfBusy::Queue));
    rig.feed(closed());

    let gone = failure(FailureClass::ServerGone, "cannot start");
    let effects = rig.feed(Signal::ReopenFailed { failure: gone.clone() });

    let doubtful = failure(FailureClass::ServerGone, "cannot start; codex may have got this input");
    assert_eq!(effects, [refused_in_doubt("given", doubtful), refused("waits", gone)]);
    assert_eq!(rig.sleeps(), None);
}

#[test]
fn a_connection_that_breaks_while_idle_is_made_again_when_there_is_something_to_do() {
    let mut rig = Rig::new();

    assert_eq!(rig.feed(closed()), [disconnected()]);
    assert_eq!(rig.feed(send("i", IfBusy::Queue)), [ANY, queued("i")]);
    let idle = view(SeenState::Idle, vec![]);
    assert_eq!(rig.feed(Signal::Reopened(idle)), [reconnected(), submit("i")]);
}

#[test]
fn an_input_that_was_answered_while_nobody_listened_is_told_with_its_turn() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(submitted("i", "t"));

    assert_eq!(rig.feed(closed()), [disconnected(), ANY]);
    let over = view(SeenState::Idle, vec![seen("t", Some(SaidEnd::Completed), &["i"])]);
    let effects = rig.feed(Signal::Reopened(over));

    let result = result(&effects).expect("the turn is told");
    assert_eq!((result.inputs, result.end), (vec!["i".into()], TurnEnd::Completed));
    assert_eq!(besides_end(effects), [reconnected(), began("t"), taken("i", "t")]);
}

#[test]
fn an_input_that_was_answered_is_not_followed_by_a_submit_into_the_turn_after_it() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(send("waits", IfBusy::Queue));
    rig.feed(submitted("i", "t"));
    rig.feed(closed());

    let over = seen("t", Some(SaidEnd::Completed), &["i"]);
    let goal = view(SeenState::Active, vec![over, seen("goal", None, &[])]);
    let effects = rig.feed(Signal::Reopened(goal));

    let effects = besides_end(effects);
    assert_eq!(effects, [reconnected(), began("t"), taken("i", "t"), began("goal")]);
}

#[test]
fn an_input_that_never_arrived_is_sent_again_after_the_opening() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(closed());

    assert_eq!(
        rig.feed(Signal::GiveFailed { input: "i".into(), why: GiveFailure::InDoubt }),
        [ANY]
    );
    let idle = view(SeenState::Idle, vec![]);
    let effects = rig.feed(Signal::Reopened(idle));

    assert_eq!(effects, [reconnected(), queued("i"), submit("i")]);
}

#[test]
fn a_yes_from_a_connection_that_is_gone_proves_nothing() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(closed());

    assert_eq!(rig.feed(submitted("i", "t")), [ANY]);
}

#[test]
fn asks_are_withdrawn_and_come_again_with_the_thread() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));

    let reason = Withdrawal::Disconnected;
    let withdrawn = Update::AskClosed { ask: id("a"), how: AskEnd::Withdrawn { reason } };
    assert_eq!(rig.feed(closed()), [disconnected(), Effect::Tell(withdrawn), SAME]);
    // Codex sends it before it answers the opening.
    assert_eq!(rig.feed(asks("a", command_ask("t1"))), []);
    let waiting = view(SeenState::Waiting, vec![seen("t1", None, &["i1"])]);
    let effects = rig.feed(Signal::Reopened(waiting));

    let content = Box::new(command_ask("t1"));
    let opened = Effect::Tell(Update::AskOpened { ask: id("a"), content });
    assert_eq!(effects, [reconnected(), opened, Effect::Put { ask: id("a") }]);
}

#[test]
fn a_steer_sent_meanwhile_goes_into_the_turn_that_was_joined_again() {
    let mut rig = Rig::new().running();
    rig.feed(closed());

    assert_eq!(rig.feed(send("s", IfBusy::Steer)), [queued("s")]);
    let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
    let steer = Effect::Steer { input: "s".into(), turn: "t1".into() };

    assert_eq!(rig.feed(Signal::Reopened(active)), [reconnected(), steer]);
}

#[test]
fn a_turn_is_not_lost_to_many_breaks_as_long_as_it_gets_on() {
    let mut rig = Rig::new().running();

    for number in 0..10 {
        assert_eq!(rig.feed(closed()), [disconnected(), SAME]);
        let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
        rig.feed(Signal::Reopened(active));
        rig.feed(begins("t1", command(&format!("c{number}"))));
    }
}

#[test]
fn a_turn_that_never_gets_on_is_given_up_after_three_openings() {
    let mut rig = Rig::new().running();
    rig.feed(send("i2", IfBusy::Queue));

    for _ in 0..3 {
        assert_eq!(rig.feed(closed()), [disconnected(), SAME]);
        let active = view(SeenState::Active, vec![seen("t1", None, &["i1"])]);
        rig.feed(Signal::Reopened(active));
    }
    let effects = rig.feed(closed());

    let failure = failure(FailureClass::ServerGone, "the thread was opened 3 times in vain");
    assert_eq!(end(&effects), Some((TurnEnd::Failed { failure: failure.clone() }, true)));
    assert_eq!(besides_end(effects), [disconnected(), refused("i2", failure)]);
}

#[test]
fn what_is_said_without_a_connection_begins_nothing() {
    let mut rig = Rig::new();
    rig.feed(closed());

    let (why, turn) = (StrayReason::Foreign, Some("t".into()));
    let stray = Effect::Tell(Update::Stray { why, turn, item: None });

    assert_eq!(rig.feed(started("t")), [stray]);
    assert_eq!(rig.feed(asks("a", command_ask("t"))), [Effect::Refuse { ask: id("a") }]);
}

#[test]
fn a_thread_that_is_opened_in_the_middle_of_a_turn_joins_it() {
    let mut rig = Rig::new();

    let old = seen("old", Some(SaidEnd::Completed), &["x"]);
    let active = view(SeenState::Active, vec![old, seen("t", None, &["y"])]);
    assert_eq!(rig.feed(Signal::Looked(Ok(active))), [began("t")]);

    // A command of the old turn that ends only now belongs to no turn of ours.
    rig.feed(completed("t"));
    let (why, turn) = (StrayReason::Late, Some("old".into()));
    let stray = Update::Stray { why, turn, item: Some(command("c")) };
    assert_eq!(rig.feed(ends("old", command("c"))), [Effect::Tell(stray)]);
}
