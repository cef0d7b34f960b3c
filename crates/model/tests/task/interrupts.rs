//! An interrupt at every point of a task.

use ostler_model::task::machine::{Effect, Loaded, Machine, Signal};
use ostler_model::task::{Cause, IntentState, NotDone, OnCrash, Receipt, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{
    Rig, START, deeds, failed, give, interrupted, moves, refused, settled, task, waiting,
};

fn too_late() -> IntentState {
    IntentState::NotDone { why: NotDone::TooLate }
}

fn nothing() -> IntentState {
    IntentState::Done { receipt: Receipt::Nothing }
}

fn withdrawn() -> IntentState {
    IntentState::NotDone { why: NotDone::Withdrawn { by: "ana".to_owned() } }
}

fn stopped(turn: &str) -> IntentState {
    IntentState::Done { receipt: Receipt::Interrupted { turn: turn.into() } }
}

#[test]
fn in_line_it_takes_back_all_that_waits() {
    let loaded = Loaded { intents: vec![waiting("a")], ..Loaded::default() };
    let (machine, _) = Machine::load(START, task(TaskSettings::default()), loaded);
    let mut rig = Rig { machine, now: START };
    rig.submit("b", IfBusy::Queue);
    let effects = rig.interrupt("i");
    let expected = [("i".into(), nothing()), ("a".into(), withdrawn()), ("b".into(), withdrawn())];
    assert_eq!(settled(&effects), expected);
    assert_eq!(moves(&effects), [TaskState::Cancelled]);
    assert_eq!(deeds(effects), [Effect::LeavePlace]);
}

#[test]
fn while_the_thread_is_opened_it_takes_back_all_that_waits() {
    let loaded = Loaded { intents: vec![waiting("a")], ..Loaded::default() };
    let (machine, _) = Machine::load(START, task(TaskSettings::default()), loaded);
    let mut rig = Rig { machine, now: START };
    rig.placed();
    assert_eq!(moves(&rig.interrupt("i")), [TaskState::Cancelled]);
    // The opening comes to its end, and nobody wants it.
    assert!(!rig.machine.is_at_rest());
    assert_eq!(rig.step(Signal::Opened), []);
    assert!(rig.machine.is_at_rest());
    assert_eq!(rig.state(), TaskState::Cancelled);
}

#[test]
fn an_input_that_was_given_is_stopped_as_soon_as_its_turn_begins() {
    let mut rig = Rig::given(TaskSettings::default());
    assert_eq!(rig.interrupt("i"), [Effect::Interrupt { by: "ana".to_owned() }]);
    rig.begin("t1", "a");
    let end = rig.end("t1", interrupted("ana"));
    assert_eq!(settled(&end), [("i".into(), stopped("t1"))]);
    assert_eq!(moves(&end), [TaskState::Cancelled]);
}

#[test]
fn an_input_that_comes_to_nothing_leaves_nothing_to_interrupt() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.interrupt("i");
    let failure = Failure::new(FailureClass::BadRequest, "no");
    let refused = rig.tell(refused("a", failure));
    assert_eq!(settled(&refused)[1..], [("i".into(), too_late())]);
    assert_eq!(moves(&refused), [TaskState::Failed]);
}

#[test]
fn a_turn_is_ended_and_what_waits_goes_on() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    assert_eq!(rig.interrupt("i"), [Effect::Interrupt { by: "ana".to_owned() }]);
    let end = rig.end("t1", interrupted("ana"));
    assert_eq!(settled(&end), [("i".into(), stopped("t1"))]);
    assert_eq!(deeds(end), [give("b", IfBusy::Queue)]);
}

#[test]
fn a_turn_that_ended_by_itself_was_faster() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.interrupt("i");
    let end = rig.end("t1", TurnEnd::Completed);
    assert_eq!(settled(&end), [("i".into(), too_late())]);
    assert_eq!(moves(&end), [TaskState::Completed]);
    assert_eq!(settled(&rig.interrupt("j")), [("j".into(), too_late())]);
}

#[test]
fn a_parked_task_is_cancelled_and_does_not_wake() {
    for (on_crash, class) in [
        (OnCrash::Ask, FailureClass::ServerGone),
        (OnCrash::Ask, FailureClass::UsageLimit { resets_at: Some(2_000) }),
    ] {
        let mut rig = Rig::working(TaskSettings { on_crash, ..TaskSettings::default() });
        rig.end("t1", failed(class));
        assert_eq!(rig.state(), TaskState::Parked);
        let effects = rig.interrupt("i");
        assert_eq!(settled(&effects), [("i".into(), nothing())]);
        assert_eq!(rig.machine.task().cause, Cause::Withdrawn { by: "ana".to_owned() });
        assert_eq!(rig.machine.wake_at(), None);
        rig.now = i64::MAX;
        assert_eq!(rig.step(Signal::Tick), []);
    }
}

#[test]
fn one_that_waits_for_the_thread_is_passed_on_when_it_is_open() {
    let mut rig = Rig::working(TaskSettings::default());
    assert_eq!(rig.step(Signal::ThreadLost), [Effect::Open]);
    assert_eq!(rig.interrupt("i"), []);
    assert_eq!(deeds(rig.step(Signal::Opened)), [Effect::Interrupt { by: "ana".to_owned() }]);

    // One that was passed on before is passed on again: the thread may not have it.
    assert_eq!(rig.step(Signal::ThreadLost), [Effect::Open]);
    assert_eq!(deeds(rig.step(Signal::Opened)), [Effect::Interrupt { by: "ana".to_owned() }]);
}

#[test]
fn one_that_comes_after_a_turn_died_while_a_steer_is_in_doubt_ends_the_task() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("s", IfBusy::Steer);
    rig.end("t1", failed(FailureClass::ServerGone));
    rig.interrupt("i");
    let gone = rig.tell(refused("s", Failure::new(FailureClass::ServerGone, "it died")));
    let receipt = Receipt::Interrupted { turn: "t1".into() };
    assert!(settled(&gone).contains(&("i".into(), IntentState::Done { receipt })), "{gone:?}");
    assert_eq!(moves(&gone), [TaskState::Cancelled]);
}
