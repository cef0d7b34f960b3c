//! The driver was gone: the machine is rebuilt from what was told, and goes on as after any broken connection.

use std::time::Duration;

use ostler_model::item::{ItemEnd, MessagePhase};
use ostler_model::thread::{
    Deciders, Echo, Effect, IfBusy, InputKind, InputState, Limits, Machine, Recalled,
    RecalledInput, RecalledPast, RecalledTurn, Said, SaidEnd, SeenInput, SeenState, SeenTurn,
    ServerWanted, Signal, Update, View, What,
};
use ostler_model::usage::{Tokens, Usage};
use ostler_model::{FailureClass, Goal, Interrupter, Moment, TurnEnd};

use crate::rig::{
    began, besides_end, command, completed, echo_item, end, ends, message, queued, result, says,
    seen, stops, submit, taken, view,
};

struct Back {
    machine: Machine,
}

impl Back {
    fn with(echo: Echo, recalled: Recalled) -> (Self, Vec<Effect>) {
        let now = Moment::from_ms(7);
        let (machine, effects) = Machine::recalled(Limits::default(), echo, now, recalled);
        let mut back = Self { machine };
        back.feed(Signal::Deciders(Deciders::Present));
        (back, effects)
    }

    fn feed(&mut self, signal: Signal) -> Vec<Effect> {
        self.machine.step(Moment::from_ms(8), signal)
    }
}

/// A turn `t` of which an input, a message and a command are known.
fn known_turn() -> RecalledTurn {
    let turn = || "t".into();
    let how = ItemEnd::Reported;
    let told = vec![
        Update::InputTaken { input: "i".into(), turn: turn() },
        Update::ItemEnded { turn: turn(), item: echo_item("i"), how },
        Update::ItemEnded { turn: turn(), item: message("m", "half", MessagePhase::Unmarked), how },
        Update::Usage { turn: turn(), usage: Usage { calls: 1, ..usage(10) } },
        Update::ItemBegan { turn: turn(), item: command("c") },
    ];
    let elapsed = Duration::from_secs(5);
    RecalledTurn { told, elapsed, ..RecalledTurn::new("t".into()) }
}

fn usage(input: u64) -> Usage {
    let tokens = tokens(input);
    Usage { turn: tokens, last_call: tokens, thread: tokens, ..Usage::default() }
}

fn tokens(input: u64) -> Tokens {
    Tokens { input, ..Tokens::default() }
}

fn maybe_sent(input: &str) -> RecalledInput {
    RecalledInput {
        input: input.into(),
        kind: InputKind::Message { text: format!("text of {input}") },
        if_busy: IfBusy::Queue,
        state: InputState::MaybeSent,
    }
}

fn away() -> Effect {
    let reason = "the driver of the thread was gone".into();
    Effect::Tell(Update::Disconnected { reason })
}

fn reconnected() -> Effect {
    Effect::Tell(Update::Reconnected)
}

#[test]
fn a_turn_is_taken_up_and_its_result_is_that_of_the_whole() {
    let recalled = Recalled { turn: Some(known_turn()), ..Recalled::default() };
    let (mut back, effects) = Back::with(Echo::Ids, recalled);
    assert_eq!(effects, [away(), Effect::Reopen { server: ServerWanted::Same }]);

    let active = view(SeenState::Active, vec![seen("t", None, &["i"])]);
    assert_eq!(back.feed(Signal::Reopened(active)), [reconnected()]);
    // What was known is not told again, what was open is ended.
    let again = back.feed(ends("t", message("m", "half", MessagePhase::Unmarked)));
    assert!(matches!(again.as_slice(), [Effect::Tell(Update::Stray { .. })]), "{again:?}");
    back.feed(ends("t", command("c")));
    let (last, thread) = (tokens(20), tokens(30));
    back.feed(says("t", What::Usage { last, thread, context_window: None }));
    let result = result(&back.feed(completed("t"))).expect("the turn ends");

    assert_eq!(
        (result.end, result.inputs, result.final_answer, result.tool_iterations),
        (TurnEnd::Completed, vec!["i".into()], Some("half".into()), 1)
    );
    assert_eq!((result.usage.turn, result.usage.calls), (tokens(30), 2));
    assert_eq!(result.elapsed_ms, 5_001);
}

/// Codex starts the turns of a goal by itself, so nothing in them is known again.
#[test]
fn turns_of_a_goal_that_nobody_saw_are_told_and_then_how_the_goal_stands() {
    let goal = |status: &str| Goal {
        objective: "win".to_owned(),
        status: status.to_owned().into(),
        token_budget: None,
        tokens_used: 0,
        seconds_used: 0,
        rounds: 0,
    };
    let past = RecalledPast { id: "s".into(), messages: Vec::new(), inputs: Vec::new() };
    let recalled = Recalled {
        turn: Some(RecalledTurn::new("t".into())),
        past: vec![past],
        after: Some("s".into()),
        goal: Some(goal("active")),
        ..Recalled::default()
    };
    let (mut back, _) = Back::with(Echo::Ids, recalled);
    let complete = What::Goal(Some(goal("complete")));
    assert_eq!(back.feed(Signal::Codex(Said { turn: None, what: complete })), []);
    let over = |turn: &str| {
        let items = vec![message(turn, turn, MessagePhase::Unmarked)];
        SeenTurn { items, ..seen(turn, Some(SaidEnd::Completed), &[]) }
    };
    let before = seen("s", Some(SaidEnd::Completed), &["i"]);
    let turns = vec![before, over("t"), over("u"), over("v")];

    let told = back.feed(Signal::Reopened(view(SeenState::Idle, turns)));

    let ends: Vec<_> = told
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(Update::TurnEnded { result }) => Some(result.turn.to_string()),
            Effect::Tell(Update::Goal { goal }) => goal.as_ref().map(|goal| goal.status.describe()),
            _ => None,
        })
        .collect();
    assert_eq!(ends, ["t", "u", "v", "complete"]);
}

/// A turn of a goal died with its app-server, and Codex has begun the next one before it says how the thread stands.
#[test]
fn a_turn_that_is_followed_by_another_while_the_thread_is_opened_died_with_its_app_server() {
    let turn = Some(RecalledTurn::new("t".into()));
    let (mut back, _) = Back::with(Echo::Ids, Recalled { turn, ..Recalled::default() });
    assert_eq!(back.feed(says("u", What::TurnStarted)), []);

    let turns = vec![seen("t", None, &[])];
    let told = back.feed(Signal::Reopened(view(SeenState::Active, turns)));

    let result = result(&told).unwrap();
    let class = result.failure().map(|failure| failure.class.clone());
    assert_eq!((class, result.retire), (Some(FailureClass::ServerGone), true));
    assert_eq!(told.last(), Some(&began("u")));
}

/// The model may have been away for a moment; an unknown failure would end the task for good.
#[test]
fn a_turn_that_failed_while_nobody_listened_may_be_tried_again() {
    let recalled = [
        Recalled { turn: Some(known_turn()), ..Recalled::default() },
        Recalled { inputs: vec![maybe_sent("i")], ..Recalled::default() },
    ];
    for recalled in recalled {
        let (mut back, _) = Back::with(Echo::Ids, recalled);
        let failed = seen("t", Some(SaidEnd::Failed(None)), &["i"]);
        let mut told = back.feed(Signal::Reopened(view(SeenState::Idle, vec![failed])));
        // What came last of a turn that was known may still come.
        told.extend(back.machine.step(Moment::from_ms(60_000), Signal::Tick));
        let result = result(&told).unwrap();
        let class = result.failure().map(|failure| failure.class.clone());
        assert_eq!(class, Some(FailureClass::ServerError));
    }
}

/// The same for a turn of which nobody had heard yet.
#[test]
fn a_turn_that_is_only_seen_and_followed_by_another_died_with_its_app_server() {
    let inputs = vec![maybe_sent("i")];
    let (mut back, _) = Back::with(Echo::Ids, Recalled { inputs, ..Recalled::default() });
    back.feed(says("u", What::TurnStarted));
    let turns = vec![seen("t", None, &["i"])];
    let told = back.feed(Signal::Reopened(view(SeenState::Active, turns)));
    let class = result(&told).unwrap().failure().map(|failure| failure.class.clone());
    assert_eq!(class, Some(FailureClass::ServerGone));
}

#[test]
fn a_turn_that_ended_before_the_one_that_runs_ended_as_it_is_shown() {
    let turn = Some(RecalledTurn::new("t".into()));
    let (mut back, _) = Back::with(Echo::Ids, Recalled { turn, ..Recalled::default() });

    let turns = vec![seen("t", Some(SaidEnd::Completed), &[]), seen("u", None, &[])];
    let told = back.feed(Signal::Reopened(view(SeenState::Active, turns)));

    assert_eq!(result(&told).unwrap().end, TurnEnd::Completed);
    assert_eq!(told.last(), Some(&began("u")));
}

#[test]
fn what_was_used_by_a_turn_that_nobody_saw_is_taken_from_the_word_at_the_opening() {
    let recalled = Recalled {
        inputs: vec![maybe_sent("i")],
        thread_usage: Some(tokens(10)),
        goal: None,
        ..Recalled::default()
    };
    let (mut back, _) = Back::with(Echo::Ids, recalled);
    let (last, thread) = (tokens(5), tokens(30));
    back.feed(says("t", What::Usage { last, thread, context_window: None }));
    let mut over = seen("t", Some(SaidEnd::Completed), &["i"]);
    over.items = vec![message("m", "done", MessagePhase::Unmarked)];
    let effects = back.feed(Signal::Reopened(view(SeenState::Idle, vec![over])));

    let result = result(&effects).expect("the turn is told");
    assert_eq!((result.usage.turn, result.final_answer), (tokens(20), Some("done".into())));
}

#[test]
fn a_turn_that_nobody_saw_and_nobody_interrupted_died_with_its_app_server() {
    let inputs = vec![maybe_sent("i")];
    let (mut back, _) = Back::with(Echo::Ids, Recalled { inputs, ..Recalled::default() });

    let cut = seen("t", Some(SaidEnd::Interrupted), &["i"]);
    let told = back.feed(Signal::Reopened(view(SeenState::Idle, vec![cut])));

    let result = result(&told).unwrap();
    let class = result.failure().map(|failure| failure.class.clone());
    assert_eq!((class, result.retire), (Some(FailureClass::ServerGone), true));
}

#[test]
fn an_input_that_is_not_there_is_sent() {
    let recalled = Recalled { inputs: vec![maybe_sent("i")], ..Recalled::default() };
    let (mut back, effects) = Back::with(Echo::Ids, recalled);
    assert_eq!(effects, [away(), Effect::Reopen { server: ServerWanted::Any }]);

    let effects = back.feed(Signal::Reopened(view(SeenState::Idle, Vec::new())));
    assert_eq!(effects, [reconnected(), queued("i"), submit("i")]);
}

#[test]
fn a_turn_that_began_meanwhile_is_told_with_what_is_over_of_it() {
    let recalled = Recalled { inputs: vec![maybe_sent("i")], ..Recalled::default() };
    let (mut back, _) = Back::with(Echo::Ids, recalled);
    // The end of the second message comes as an event as well.
    let second = message("m2", "two", MessagePhase::Unmarked);
    back.feed(ends("t", second.clone()));
    let mut running = seen("t", None, &["i"]);
    let first = message("m1", "one", MessagePhase::Unmarked);
    running.items = vec![first.clone(), second.clone()];

    let told = |item| {
        let how = ItemEnd::Reported;
        Effect::Tell(Update::ItemEnded { turn: "t".into(), item, how })
    };
    assert_eq!(
        back.feed(Signal::Reopened(view(SeenState::Active, vec![running]))),
        [reconnected(), began("t"), taken("i", "t"), told(first), told(second)]
    );
}

/// Where words are all by which Codex lets an input be known again.
fn old_and_new(view_of_after: &[&str], past: RecalledPast) -> Vec<Effect> {
    let words = |turn: &str, texts: &[&str]| SeenTurn {
        id: turn.into(),
        end: Some(SaidEnd::Completed),
        inputs: texts
            .iter()
            .map(|text| SeenInput { input: None, text: (*text).to_owned() })
            .collect(),
        items: Vec::new(),
    };
    let recalled = Recalled {
        inputs: vec![maybe_sent("i")],
        after: Some(past.id.clone()),
        past: vec![past],
        ..Recalled::default()
    };
    let (mut back, _) = Back::with(Echo::TextOnly, recalled);
    let turns = vec![words("before", &["text of i"]), words("after", view_of_after)];
    back.feed(Signal::Reopened(View { state: SeenState::Idle, turns }))
}

#[test]
fn the_same_words_of_before_are_another_input() {
    let past = |messages: &[&str], inputs: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        RecalledPast { id: "after".into(), messages: texts(messages), inputs: texts(inputs) }
    };
    let sent_again = [reconnected(), queued("i"), submit("i")];

    assert_eq!(old_and_new(&["text of i"], past(&["text of i"], &[])), sent_again);
    assert_eq!(old_and_new(&["text of i"], past(&[], &["text of i"])), sent_again);
    assert_eq!(
        old_and_new(&["text of i", "text of i"], past(&["text of i"], &["text of i"])),
        [reconnected(), taken("i", "after")]
    );
}

#[test]
fn an_interrupt_is_said_again_to_a_turn_that_runs_on() {
    let by = Interrupter::Caller { name: "ann".into() };
    let recalled = Recalled {
        turn: Some(known_turn()),
        interrupted_by: Some(by.clone()),
        ..Recalled::default()
    };
    let (mut back, _) = Back::with(Echo::Ids, recalled);

    let active = view(SeenState::Active, vec![seen("t", None, &["i"])]);
    assert_eq!(back.feed(Signal::Reopened(active)), [reconnected(), stops("t")]);
}

#[test]
fn a_turn_that_was_cancelled_by_a_decision_did_not_die() {
    let by = "ann".to_owned();
    let recalled = Recalled {
        turn: Some(known_turn()),
        interrupted_by: Some(Interrupter::Decision { by: by.clone() }),
        ..Recalled::default()
    };
    let (mut back, _) = Back::with(Echo::Ids, recalled);

    let over = view(SeenState::Idle, vec![seen("t", Some(SaidEnd::Interrupted), &["i"])]);
    // Its command may still be told as ended.
    back.feed(Signal::Reopened(over));
    let effects = back.feed(ends("t", command("c")));
    let interrupted = TurnEnd::Interrupted { by: Interrupter::Decision { by } };
    assert_eq!(end(&effects), Some((interrupted, false)));
}

/// Only one of a review's two names was told; in the history each stands as a turn.
#[test]
fn a_review_is_known_by_both_its_names() {
    let announced = || seen("t", Some(SaidEnd::Interrupted), &[]);
    let told = vec![Update::InputTaken { input: "i".into(), turn: "t".into() }];
    let turn = RecalledTurn { told, ..RecalledTurn::new("t".into()) };
    let recalled = Recalled { turn: Some(turn), ..Recalled::default() };
    let (mut back, _) = Back::with(Echo::Ids, recalled);

    let active = view(SeenState::Active, vec![announced(), seen("items", None, &[])]);
    assert_eq!(back.feed(Signal::Reopened(active)), [reconnected()]);
    let effects = back.feed(completed("items"));
    assert_eq!(end(&effects), Some((TurnEnd::Completed, false)));
    assert_eq!(besides_end(effects), []);
}

/// The last message comes on the new connection before the answer that says how the turn ended: it is part of its result.
#[test]
fn a_last_message_that_comes_before_the_word_of_the_end_is_the_answer() {
    let recalled = Recalled { turn: Some(known_turn()), ..Recalled::default() };
    let (mut back, _) = Back::with(Echo::Ids, recalled);
    let last = message("last", "All of it.", MessagePhase::FinalAnswer);
    assert_eq!(back.feed(ends("t", command("c"))), []);
    assert_eq!(back.feed(ends("t", last.clone())), []);
    back.feed(completed("t"));
    // Codex may list it as well, or not yet.
    let missed = Signal::Missed { turn: "t".into(), item: last };
    assert_eq!(back.feed(missed), []);
    let over = seen("t", Some(SaidEnd::Completed), &["i"]);
    let effects = back.feed(Signal::Reopened(view(SeenState::Idle, vec![over])));

    let result = result(&effects).expect("the turn ends");
    assert_eq!((result.end, result.final_answer), (TurnEnd::Completed, Some("All of it.".into())));
    let strays = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(Update::Stray { item, .. }) => item.clone(),
        _ => None,
    });
    assert_eq!(strays.collect::<Vec<_>>(), []);
}

/// The same of a turn that began and ended while nobody was there.
#[test]
fn a_last_message_of_a_turn_that_nobody_saw_is_its_answer() {
    let recalled = Recalled { inputs: vec![maybe_sent("i")], ..Recalled::default() };
    let (mut back, _) = Back::with(Echo::Ids, recalled);
    let (first, last) = (
        message("first", "First.", MessagePhase::Unmarked),
        message("last", "All of it.", MessagePhase::Unmarked),
    );
    back.feed(ends("t", last));
    let mut over = seen("t", Some(SaidEnd::Completed), &["i"]);
    over.items = vec![first];
    let effects = back.feed(Signal::Reopened(view(SeenState::Idle, vec![over])));

    let result = result(&effects).expect("the turn is told");
    assert_eq!(result.final_answer, Some("All of it.".into()));
}
