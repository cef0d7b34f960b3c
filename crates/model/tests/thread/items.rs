//! Items: how they end, and what of them is the answer.

use ostler_model::failure::FailureClass;
use ostler_model::item::{Item, ItemBody, ItemEnd, MessagePhase, Outcome};
use ostler_model::thread::{DeltaKind, Effect, Signal, StrayReason, Update, What};
use ostler_model::usage::{Tokens, Usage};

use crate::rig::{
    Rig, begins, besides_end, command, completed, ends, failure, interrupted, message, result, says,
};

fn ended(item: Item, how: ItemEnd) -> Effect {
    Effect::Tell(Update::ItemEnded { turn: "t1".into(), item, how })
}

fn grows(item: &str, text: &str) -> Signal {
    says("t1", What::Delta { item: item.into(), kind: DeltaKind::Message, text: text.into() })
}

fn cut_off(id: &str) -> Item {
    let mut item = command(id);
    if let ItemBody::Command(command) = &mut item.body {
        command.outcome = Outcome::Interrupted;
    }
    item
}

#[test]
fn the_end_of_a_turn_waits_for_the_end_of_its_command() {
    let mut rig = Rig::new().running();
    rig.feed(begins("t1", command("c")));

    assert_eq!(rig.feed(completed("t1")), []);
    let effects = rig.feed(ends("t1", command("c")));

    assert_eq!(result(&effects).map(|result| result.tool_iterations), Some(1));
    assert_eq!(besides_end(effects), [ended(command("c"), ItemEnd::Reported)]);
}

#[test]
fn a_command_that_does_not_end_in_time_was_interrupted_and_its_late_end_is_a_stray() {
    let mut rig = Rig::new().running();
    rig.feed(begins("t1", command("c")));
    rig.feed(completed("t1"));

    assert_eq!(rig.sleeps(), Some(2));
    let effects = rig.wake();
    assert!(result(&effects).is_some());
    assert_eq!(besides_end(effects), [ended(cut_off("c"), ItemEnd::Interrupted)]);
    let (why, turn) = (StrayReason::Late, Some("t1".into()));
    let stray = Update::Stray { why, turn, item: Some(command("c")) };
    assert_eq!(rig.feed(ends("t1", command("c"))), [Effect::Tell(stray)]);
}

#[test]
fn a_message_cut_off_by_a_retry_is_superseded_and_not_the_answer() {
    let mut rig = Rig::new().running();
    rig.feed(begins("t1", message("m1", "", MessagePhase::Unmarked)));
    rig.feed(grows("m1", "half"));
    let cut = failure(FailureClass::Network, "cut");

    let effects = rig.feed(says("t1", What::Failing { failure: cut.clone(), will_retry: true }));

    let half = message("m1", "half", MessagePhase::Unmarked);
    let retrying = Update::Retrying { turn: "t1".into(), failure: cut, attempt: 1, for_ms: 0 };
    assert_eq!(effects, [ended(half, ItemEnd::Superseded), Effect::Tell(retrying)]);
    let result = result(&rig.feed(completed("t1")));
    assert_eq!(result.map(|it| (it.final_answer, it.retries)), Some((None, 1)));
}

#[test]
fn a_message_that_begins_supersedes_the_one_that_a_steer_cut_off() {
    let mut rig = Rig::new().running();
    rig.feed(begins("t1", message("m1", "", MessagePhase::Unmarked)));
    rig.feed(grows("m1", "half"));

    let effects = rig.feed(begins("t1", message("m2", "", MessagePhase::Unmarked)));

    let half = message("m1", "half", MessagePhase::Unmarked);
    let item = message("m2", "", MessagePhase::Unmarked);
    let began = Update::ItemBegan { turn: "t1".into(), item };
    assert_eq!(effects, [ended(half, ItemEnd::Superseded), Effect::Tell(began)]);
}

#[test]
fn the_completed_text_counts_and_not_its_pieces() {
    let mut rig = Rig::new().running();
    rig.feed(begins("t1", message("m", "", MessagePhase::Unmarked)));
    rig.feed(grows("m", "piec"));
    rig.feed(ends("t1", message("m", "the whole", MessagePhase::Unmarked)));

    let result = result(&rig.feed(completed("t1")));

    assert_eq!(result.and_then(|it| it.final_answer), Some("the whole".into()));
}

#[test]
fn pieces_alone_make_the_answer_of_a_message_that_never_completes() {
    let mut rig = Rig::new().running();
    rig.feed(grows("m", "all "));
    rig.feed(grows("m", "there is"));

    let effects = rig.feed(interrupted("t1"));

    let item = message("m", "all there is", MessagePhase::Unmarked);
    assert_eq!(result(&effects).and_then(|it| it.final_answer), Some("all there is".into()));
    assert_eq!(besides_end(effects), [ended(item, ItemEnd::Interrupted)]);
}

#[test]
fn the_marked_answer_wins_over_whatever_is_said_around_it() {
    let mut rig = Rig::new().running();
    rig.feed(ends("t1", message("m1", "unmarked", MessagePhase::Unmarked)));
    rig.feed(ends("t1", message("m2", "the answer", MessagePhase::FinalAnswer)));
    rig.feed(ends("t1", message("m3", "talk", MessagePhase::Commentary)));
    rig.feed(ends("t1", message("m4", "later talk", MessagePhase::Unmarked)));

    let result = result(&rig.feed(completed("t1")));

    assert_eq!(result.and_then(|it| it.final_answer), Some("the answer".into()));
}

#[test]
fn an_item_told_twice_ends_once() {
    let mut rig = Rig::new().running();
    rig.feed(ends("t1", command("c")));

    let (why, turn) = (StrayReason::Duplicate, Some("t1".into()));
    let stray = Effect::Tell(Update::Stray { why, turn, item: Some(command("c")) });

    let strays = [ends("t1", command("c")), begins("t1", command("c"))].map(|said| rig.feed(said));
    assert_eq!(strays, [vec![stray.clone()], vec![stray]]);
}

#[test]
fn usage_is_summed_over_the_calls_of_the_turn_and_repeated_reports_are_not() {
    let tokens = |input| Tokens { input, ..Tokens::default() };
    let report = |last, thread| What::Usage {
        last: tokens(last),
        thread: tokens(thread),
        context_window: Some(1000),
    };
    let mut rig = Rig::new().running();
    rig.feed(says("t1", report(10, 110)));
    rig.feed(says("t1", report(10, 110)));
    rig.feed(says("t1", report(5, 115)));

    let result = result(&rig.feed(completed("t1")));

    let usage = Usage {
        turn: tokens(15),
        last_call: tokens(5),
        calls: 2,
        thread: tokens(115),
        context_window: Some(1000),
    };
    assert_eq!(result.map(|it| it.usage), Some(usage));
}
