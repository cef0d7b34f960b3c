//! Asks: each gets one end, and nobody is left waiting.

use std::time::Duration;

use ostler_model::ask::{Ask, AskKind, FileChangeAsk, FileChangeKind, FileDiff, ToolCallAsk};
use ostler_model::item::{FileChange, Item, ItemBody};
use ostler_model::thread::{
    AskEnd, Deciders, DecisionRefusal, Echo, Effect, Limits, Machine, Signal, Update, What,
    Withdrawal,
};
use ostler_model::{Decision, Moment};

use crate::rig::{
    Rig, asks, begins, besides_end, command_ask, completed, end, id, interrupted, says,
};

fn opened(ask: &str, content: Ask) -> Effect {
    Effect::Tell(Update::AskOpened { ask: id(ask), content: Box::new(content) })
}

fn closed(ask: &str, how: AskEnd) -> Effect {
    Effect::Tell(Update::AskClosed { ask: id(ask), how })
}

fn put(ask: &str) -> Effect {
    Effect::Put { ask: id(ask) }
}

fn answer(ask: &str, decision: Decision) -> Effect {
    Effect::Answer { ask: id(ask), decision }
}

fn decides(ask: &str, decision: Decision) -> Signal {
    Signal::Decide { ask: id(ask), decision, by: "ann".into() }
}

fn tool_call() -> Ask {
    let call = ToolCallAsk {
        call: "call".into(),
        namespace: None,
        tool: "ours".into(),
        arguments: "{}".into(),
    };
    Ask { kind: AskKind::ToolCall(call), offers: Vec::new(), ..command_ask("t1") }
}

#[test]
fn a_decision_is_answered_and_told() {
    let mut rig = Rig::new().running();

    let effects = rig.feed(asks("a", command_ask("t1")));
    assert_eq!(effects, [opened("a", command_ask("t1")), put("a")]);
    assert_eq!(rig.feed(decides("a", Decision::Once)), [answer("a", Decision::Once)]);
    let effects = rig.feed(Signal::Answered { ask: id("a") });

    let decided = AskEnd::Decided { decision: Decision::Once, by: "ann".into() };
    assert_eq!(effects, [closed("a", decided)]);
}

#[test]
fn an_ask_waits_until_somebody_comes_who_decides() {
    let mut rig = Rig::new().running();
    rig.feed(Signal::Deciders(Deciders::Awaited));

    assert_eq!(rig.feed(asks("a", command_ask("t1"))), [opened("a", command_ask("t1"))]);
    assert_eq!(rig.feed(Signal::Deciders(Deciders::Present)), [put("a")]);
}

#[test]
fn with_nobody_to_ask_it_is_declined_and_the_reason_is_told() {
    let mut rig = Rig::new().running();
    rig.feed(Signal::Deciders(Deciders::Nobody));

    let effects = rig.feed(asks("a", command_ask("t1")));
    assert_eq!(effects, [opened("a", command_ask("t1")), answer("a", Decision::Deny)]);
    let effects = rig.feed(Signal::Answered { ask: id("a") });

    let declined = AskEnd::Declined { reason: "there is nobody to ask".into() };
    assert_eq!(effects, [closed("a", declined)]);
}

#[test]
fn when_the_last_decider_leaves_what_is_open_is_declined() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));

    let effects = rig.feed(Signal::Deciders(Deciders::Nobody));

    assert_eq!(effects, [answer("a", Decision::Deny)]);
}

#[test]
fn a_decider_that_fails_declines() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));

    let reason = "the approver crashed".to_owned();
    let effects = rig.feed(Signal::DeciderFailed { ask: id("a"), reason: reason.clone() });
    assert_eq!(effects, [answer("a", Decision::Deny)]);
    let effects = rig.feed(Signal::Answered { ask: id("a") });

    assert_eq!(effects, [closed("a", AskEnd::Declined { reason })]);
}

#[test]
fn an_ask_that_cannot_be_declined_is_refused() {
    let mut rig = Rig::new().running();
    rig.feed(Signal::Deciders(Deciders::Nobody));
    let content = Ask { offers: vec![Decision::Once], ..command_ask("t1") };

    let effects = rig.feed(asks("a", content.clone()));

    let refuse = Effect::Refuse { ask: id("a") };
    assert_eq!(effects, [opened("a", content), refuse, closed("a", AskEnd::Refused)]);
}

fn refused(ask: &str, why: DecisionRefusal) -> Effect {
    Effect::Tell(Update::DecisionRefused { ask: id(ask), by: "ann".into(), why })
}

#[test]
fn a_decision_that_is_not_offered_leaves_the_ask_open() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));

    let effects = rig.feed(decides("a", Decision::Session));
    assert_eq!(effects, [refused("a", DecisionRefusal::NotOffered)]);

    assert_eq!(rig.feed(decides("a", Decision::Deny)), [answer("a", Decision::Deny)]);
}

#[test]
fn the_first_decision_counts() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));
    rig.feed(decides("a", Decision::Once));

    let effects = rig.feed(decides("a", Decision::Deny));

    assert_eq!(effects, [refused("a", DecisionRefusal::Decided { by: "ann".into() })]);
}

#[test]
fn an_ask_that_another_client_answered_is_withdrawn() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));

    let effects = rig.feed(says("t1", What::AskResolved { ask: id("a") }));

    let reason = Withdrawal::Elsewhere;
    assert_eq!(effects, [closed("a", AskEnd::Withdrawn { reason })]);
    assert_eq!(rig.feed(says("t1", What::AskResolved { ask: id("a") })), []);
}

#[test]
fn the_end_of_the_turn_withdraws_what_is_open_and_keeps_what_was_decided() {
    let mut rig = Rig::new().running();
    rig.feed(asks("open", command_ask("t1")));
    rig.feed(asks("decided", command_ask("t1")));
    rig.feed(decides("decided", Decision::Once));

    let effects = rig.feed(interrupted("t1"));

    assert!(end(&effects).is_some());
    let decided = AskEnd::Decided { decision: Decision::Once, by: "ann".into() };
    let withdrawn = AskEnd::Withdrawn { reason: Withdrawal::TurnEnded };
    assert_eq!(besides_end(effects), [closed("decided", decided), closed("open", withdrawn)]);
    assert_eq!(rig.feed(Signal::Answered { ask: id("decided") }), []);
}

#[test]
fn an_ask_of_a_turn_that_is_over_is_declined_at_once() {
    let mut rig = Rig::new().running();
    rig.feed(completed("t1"));

    let effects = rig.feed(asks("a", command_ask("t1")));

    assert_eq!(effects, [opened("a", command_ask("t1")), answer("a", Decision::Deny)]);
}

#[test]
fn an_ask_of_an_unknown_kind_is_refused_so_that_the_turn_goes_on() {
    let mut rig = Rig::new().running();
    let kind = AskKind::Other { name: "new/ask".into() };
    let content = Ask { kind, offers: Vec::new(), ..command_ask("t1") };

    let effects = rig.feed(asks("a", content.clone()));

    let refuse = Effect::Refuse { ask: id("a") };
    assert_eq!(effects, [opened("a", content), refuse, closed("a", AskEnd::Refused)]);
}

#[test]
fn a_tool_of_ours_is_served_and_its_time_is_the_time_of_the_turn() {
    let mut rig = Rig::new().running();

    let effects = rig.feed(asks("a", tool_call()));
    assert_eq!(effects, [opened("a", tool_call()), Effect::Serve { ask: id("a") }]);
    assert_eq!(rig.sleeps(), Some(120));
    let effects = rig.feed(Signal::Answered { ask: id("a") });

    assert_eq!(effects, [closed("a", AskEnd::Served)]);
}

#[test]
fn a_tool_that_nobody_has_is_refused() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", tool_call()));

    let effects = rig.feed(Signal::NoHandler { ask: id("a") });

    assert_eq!(effects, [Effect::Refuse { ask: id("a") }, closed("a", AskEnd::Refused)]);
}

#[test]
fn an_ask_that_nobody_answers_in_time_is_declined_and_wakes_nobody_again() {
    let ask_deadline = Some(Duration::from_secs(60));
    let mut rig = Rig::with(Limits { ask_deadline, ..Limits::default() }, Echo::Ids).running();
    rig.feed(asks("a", command_ask("t1")));

    assert_eq!(rig.sleeps(), Some(60));
    assert_eq!(rig.wake(), [answer("a", Decision::Deny)]);
    let effects = rig.feed(Signal::Answered { ask: id("a") });

    let declined = AskEnd::Declined { reason: "nobody answered in time".into() };
    assert_eq!(effects, [closed("a", declined)]);
}

#[test]
fn an_answer_that_could_not_be_written_is_told_as_lost() {
    let mut rig = Rig::new().running();
    rig.feed(asks("a", command_ask("t1")));
    rig.feed(decides("a", Decision::Once));

    let reason = "broken pipe".to_owned();
    let effects = rig.feed(Signal::AnswerLost { ask: id("a"), reason: reason.clone() });

    assert_eq!(effects, [closed("a", AskEnd::Lost { reason })]);
}

#[test]
fn a_file_change_is_shown_with_the_diff_that_its_item_brought() {
    let mut rig = Rig::new().running();
    let diff = FileDiff { path: "a".into(), change: FileChangeKind::Add, diff: "+a".into() };
    let change = FileChange { files: vec![diff.clone()], ..FileChange::default() };
    rig.feed(begins("t1", Item { id: "change".into(), body: ItemBody::FileChange(change) }));
    let ask = |files| Ask {
        item: Some("change".into()),
        kind: AskKind::FileChange(FileChangeAsk { files, grant_root: None }),
        ..command_ask("t1")
    };

    let effects = rig.feed(asks("a", ask(Vec::new())));

    assert_eq!(effects, [opened("a", ask(vec![diff])), put("a")]);
}

#[test]
fn an_ask_begins_a_turn_that_was_joined_in_the_middle() {
    let mut machine = Machine::new(Limits::default(), Echo::Ids);

    let effects = machine.step(Moment::default(), asks("a", command_ask("t1")));

    let began = Effect::Tell(Update::TurnBegan { turn: "t1".into() });
    assert_eq!(effects, [began, opened("a", command_ask("t1"))]);
}
