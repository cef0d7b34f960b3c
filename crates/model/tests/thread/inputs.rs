//! Inputs: each gets to Codex once, and each is told as taken or refused.

use ostler_model::failure::FailureClass;
use ostler_model::item::{Item, ItemBody};
use ostler_model::thread::{
    Echo, Effect, GiveFailure, IfBusy, Limits, SaidEnd, SeenInput, SeenState, SeenTurn,
    ServerWanted, Signal,
};
use ostler_model::{Interrupter, TurnEnd};

use crate::rig::{
    Rig, began, besides_end, completed, echo, echo_item, end, ends, failure, interrupt,
    interrupted, order, queued, refused, refused_in_doubt, result, seen, send, started, stops,
    submit, submitted, taken, view,
};

fn failed(input: &str, why: GiveFailure) -> Signal {
    Signal::GiveFailed { input: input.into(), why }
}

fn steer(input: &str) -> Effect {
    Effect::Steer { input: input.into(), turn: "t1".into() }
}

/// What Codex 0.130.0 shows of an input.
fn nameless(input: &str) -> SeenInput {
    SeenInput { input: None, text: format!("text of {input}") }
}

#[test]
fn a_steer_is_taken_when_it_is_echoed() {
    let mut rig = Rig::new().running();

    assert_eq!(rig.feed(send("s", IfBusy::Steer)), [steer("s")]);
    assert_eq!(rig.feed(Signal::Steered { input: "s".into() }), []);
    let effects = rig.feed(echo("t1", "s"));

    assert_eq!(effects.last(), Some(&taken("s", "t1")));
    let result = result(&rig.feed(completed("t1"))).expect("the turn ends");
    assert_eq!(result.inputs, ["i1".into(), "s".into()]);
}

#[test]
fn a_steer_that_was_accepted_and_never_echoed_becomes_a_turn_of_its_own() {
    let mut rig = Rig::new().running();
    rig.feed(send("s", IfBusy::Steer));
    rig.feed(Signal::Steered { input: "s".into() });

    assert_eq!(besides_end(rig.feed(interrupted("t1"))), [Effect::Look]);
    let idle = view(SeenState::Idle, vec![seen("t1", Some(SaidEnd::Interrupted), &["i1"])]);

    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [queued("s"), submit("s")]);
}

#[test]
fn a_steer_whose_echo_was_missed_is_found_in_its_turn() {
    let mut rig = Rig::new().running();
    rig.feed(send("s", IfBusy::Steer));
    rig.feed(Signal::Steered { input: "s".into() });
    rig.feed(interrupted("t1"));

    let idle = view(SeenState::Idle, vec![seen("t1", Some(SaidEnd::Interrupted), &["i1", "s"])]);

    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [taken("s", "t1")]);
}

#[test]
fn a_steer_that_the_turn_does_not_take_waits_for_its_end() {
    let mut rig = Rig::new().running();
    rig.feed(send("s", IfBusy::Steer));

    assert_eq!(rig.feed(failed("s", GiveFailure::NotSteerable)), [queued("s")]);
    assert_eq!(besides_end(rig.feed(completed("t1"))), [submit("s")]);
}

#[test]
fn a_steer_into_a_turn_that_codex_does_not_know_makes_us_look() {
    let mut rig = Rig::new().running();
    rig.feed(send("s", IfBusy::Steer));

    assert_eq!(rig.feed(failed("s", GiveFailure::NoSuchTurn)), [queued("s"), Effect::Look]);
}

#[test]
fn a_steer_before_the_turn_has_begun_waits_for_it() {
    let mut rig = Rig::new();
    rig.feed(send("i1", IfBusy::Queue));

    assert_eq!(rig.feed(send("s", IfBusy::Steer)), [queued("s")]);
    assert_eq!(rig.feed(started("t1")), [began("t1"), steer("s")]);
}

#[test]
fn a_busy_thread_refuses_who_does_not_want_to_wait() {
    let mut rig = Rig::new().running();

    let busy = failure(FailureClass::Busy, "the thread is at work");

    assert_eq!(rig.feed(send("i2", IfBusy::Fail)), [refused("i2", busy)]);
}

#[test]
fn an_input_that_interrupts_is_answered_next_and_before_what_waited() {
    let mut rig = Rig::new().running();
    rig.feed(send("waits", IfBusy::Queue));

    assert_eq!(rig.feed(send("now", IfBusy::Interrupt)), [stops("t1"), queued("now")]);
    assert_eq!(rig.feed(send("then", IfBusy::Interrupt)), [queued("then")]);
    let effects = rig.feed(interrupted("t1"));

    let by = Interrupter::Caller { name: "a new input".into() };
    assert_eq!(end(&effects), Some((TurnEnd::Interrupted { by }, false)));
    assert_eq!(besides_end(effects), [Effect::CleanTerminals, submit("now")]);
    rig.feed(submitted("now", "t2"));
    rig.feed(started("t2"));
    assert_eq!(besides_end(rig.feed(completed("t2"))), [submit("then")]);
}

#[test]
fn an_input_that_interrupts_what_is_about_to_begin_does_not_interrupt_itself() {
    let mut rig = Rig::new();
    rig.feed(send("i1", IfBusy::Queue));
    rig.feed(send("now", IfBusy::Interrupt));
    let bad = failure(FailureClass::BadRequest, "too long");

    let effects = rig.feed(failed("i1", GiveFailure::Refused(bad.clone())));
    assert_eq!(effects, [refused("i1", bad), submit("now")]);
    rig.feed(submitted("now", "t"));

    assert_eq!(rig.feed(started("t")), [began("t"), taken("now", "t")]);
}

#[test]
fn an_input_that_interrupts_while_the_thread_is_opened_has_nothing_to_interrupt() {
    let mut rig = Rig::new();
    rig.feed(Signal::Closed { reason: "eof".into() });
    let reopen = Effect::Reopen { server: ServerWanted::Any };
    assert_eq!(rig.feed(send("waits", IfBusy::Queue)), [reopen, queued("waits")]);
    rig.feed(send("now", IfBusy::Interrupt));
    rig.feed(Signal::Reopened(view(SeenState::Idle, vec![])));
    rig.feed(submitted("now", "t"));

    assert_eq!(rig.feed(started("t")), [began("t"), taken("now", "t")]);
}

#[test]
fn an_input_in_doubt_that_codex_has_is_not_sent_again() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));

    assert_eq!(rig.feed(failed("i", GiveFailure::InDoubt)), [Effect::Look]);
    rig.feed(started("t"));
    let active = view(SeenState::Active, vec![seen("t", None, &["i"])]);

    assert_eq!(rig.feed(Signal::Looked(Ok(active))), [taken("i", "t")]);
}

#[test]
fn an_input_in_doubt_that_codex_does_not_have_is_sent_again_and_not_for_ever() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));

    for _ in 0..3 {
        rig.feed(failed("i", GiveFailure::InDoubt));
        let idle = view(SeenState::Idle, vec![]);
        assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [queued("i"), submit("i")]);
    }
    rig.feed(failed("i", GiveFailure::InDoubt));

    let unknown = FailureClass::Unknown { word: None };
    let failure = failure(unknown, "codex did not take it in 4 tries");
    let idle = view(SeenState::Idle, vec![]);
    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [refused("i", failure)]);
}

#[test]
fn an_input_that_a_running_turn_may_still_come_to_is_not_sent_again_before_its_end() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(started("theirs"));
    rig.feed(failed("i", GiveFailure::InDoubt));

    let active = view(SeenState::Active, vec![seen("theirs", None, &[])]);
    assert_eq!(rig.feed(Signal::Looked(Ok(active))), []);
    assert_eq!(besides_end(rig.feed(completed("theirs"))), [Effect::Look]);
    let idle = view(SeenState::Idle, vec![seen("theirs", Some(SaidEnd::Completed), &["i"])]);

    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [taken("i", "theirs")]);
}

#[test]
fn an_answer_from_before_the_doubt_does_not_settle_it() {
    let mut rig = Rig::new().running();
    rig.feed(send("s1", IfBusy::Steer));
    assert_eq!(rig.feed(failed("s1", GiveFailure::InDoubt)), [Effect::Look]);
    rig.feed(completed("t1"));
    // The look is still under way when another doubt arises.
    rig.feed(Signal::Closed { reason: "eof".into() });
    rig.feed(Signal::Reopened(view(
        SeenState::Idle,
        vec![seen("t1", Some(SaidEnd::Completed), &[])],
    )));
    rig.feed(failed("s1", GiveFailure::InDoubt));

    let older = view(SeenState::Idle, vec![]);

    assert_eq!(rig.feed(Signal::Looked(Ok(older))), [Effect::Look]);
}

#[test]
fn a_turn_that_never_begins_leaves_its_input_in_doubt_until_it_is_looked_for() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(submitted("i", "phantom"));

    assert_eq!(rig.sleeps(), Some(15));
    assert_eq!(rig.wake(), [Effect::Look]);
    let idle = view(SeenState::Idle, vec![]);
    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [queued("i"), submit("i")]);
}

#[test]
fn a_submit_that_became_a_steer_is_taken_where_it_is_echoed() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));
    rig.feed(started("theirs"));
    rig.feed(submitted("i", "phantom"));

    assert_eq!(rig.feed(echo("theirs", "i")).last(), Some(&taken("i", "theirs")));
}

#[test]
fn an_order_in_doubt_is_refused_because_nothing_shows_it() {
    let mut rig = Rig::new();
    rig.feed(order("review"));
    rig.feed(failed("review", GiveFailure::InDoubt));

    let message = "the connection broke before codex began it; it may or may not run";
    let failure = failure(FailureClass::ServerGone, message);
    let idle = view(SeenState::Idle, vec![]);

    assert_eq!(rig.feed(Signal::Looked(Ok(idle))), [refused_in_doubt("review", failure)]);
}

#[test]
fn a_thread_that_is_not_loaded_is_opened_again() {
    let mut rig = Rig::new();
    rig.feed(send("i", IfBusy::Queue));

    let reopen = Effect::Reopen { server: ServerWanted::Any };
    assert_eq!(rig.feed(failed("i", GiveFailure::ThreadGone)), [queued("i"), reopen]);
    let effects = rig.feed(Signal::Reopened(view(SeenState::Idle, vec![])));

    assert_eq!(effects.last(), Some(&submit("i")));
}

#[test]
fn where_codex_keeps_no_ids_the_words_are_those_of_one_input_only() {
    let mut rig = Rig::with(Limits::default(), Echo::TextOnly);
    let shown = |input: &str| {
        let mut item = echo_item(input);
        if let ItemBody::UserMessage(message) = &mut item.body {
            message.input = None;
        }
        item
    };
    let same_words = |id: &str| Item { id: id.into(), ..shown("same") };
    rig.feed(send("same", IfBusy::Queue));
    rig.feed(submitted("same", "t1"));
    rig.feed(started("t1"));
    rig.feed(ends("t1", same_words("m1")));
    // The same words once more, and nobody knows whether they arrived.
    rig.feed(send("same", IfBusy::Steer));
    rig.feed(failed("same", GiveFailure::InDoubt));
    rig.feed(completed("t1"));
    let turn = |inputs| SeenTurn {
        id: "t1".into(),
        end: Some(SaidEnd::Completed),
        inputs,
        items: Vec::new(),
    };
    let once = view(SeenState::Idle, vec![turn(vec![nameless("same")])]);
    let twice = view(SeenState::Idle, vec![turn(vec![nameless("same"), nameless("same")])]);
    let mut other = rig.clone();

    // The look that was under way when the turn ended, then the one that counts.
    rig.feed(Signal::Looked(Ok(once.clone())));
    other.feed(Signal::Looked(Ok(once.clone())));

    assert_eq!(rig.feed(Signal::Looked(Ok(once))), [queued("same"), submit("same")]);
    assert_eq!(other.feed(Signal::Looked(Ok(twice))), [taken("same", "t1")]);
}

#[test]
fn an_interrupt_before_the_turn_has_begun_ends_it_when_it_begins() {
    let mut rig = Rig::new();
    rig.feed(send("i1", IfBusy::Queue));

    assert_eq!(rig.feed(interrupt()), []);
    assert_eq!(rig.feed(started("t1")), [began("t1"), stops("t1")]);
}
