//! A task that is loaded from what was written of it.

use ostler_model::TurnEnd;
use ostler_model::task::machine::{Effect, Signal, Unsettled};
use ostler_model::task::{Cause, IntentState, NotDone, Receipt, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;

use crate::rig::{Rig, deeds, give, moves, settled, taken, waiting};

fn interrupt(intent: &str) -> Unsettled {
    Unsettled::Interrupt { intent: intent.into(), by: "ana".to_owned() }
}

#[test]
fn a_turn_that_ran_is_found_again() {
    let mut rig = Rig::working(TaskSettings::default());
    let loaded = rig.restart(vec![waiting("b")]);
    assert_eq!(moves(&loaded), [TaskState::Recovering]);
    assert_eq!(deeds(loaded), [Effect::KeepPlace, Effect::Open]);
    // Twice in a row says it once.
    assert_eq!(rig.restart(vec![waiting("b")]), [Effect::KeepPlace, Effect::Open]);
    assert_eq!(moves(&rig.step(Signal::Opened)), [TaskState::Working]);
    assert_eq!(rig.machine.task().cause, Cause::Rejoined);
    assert_eq!(rig.end("t1", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn an_input_that_may_have_arrived_is_never_given_again() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.restart(vec![Unsettled::Sent("a".into())]);
    assert_eq!(rig.step(Signal::Opened), []);
    assert_eq!(rig.state(), TaskState::Recovering);
    assert_eq!(moves(&rig.begin("t1", "a")), [TaskState::Working]);
}

#[test]
fn a_steer_that_is_found_in_the_turn_that_ended_ends_the_task_as_that_turn_did() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("b", IfBusy::Steer);
    rig.end("t1", TurnEnd::Completed);
    rig.restart(vec![Unsettled::Sent("b".into())]);
    rig.step(Signal::Opened);
    assert_eq!(moves(&rig.tell(taken("b", "t1"))), [TaskState::Completed]);
}

#[test]
fn what_was_sent_to_a_task_that_is_over_and_never_heard_is_heard() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", TurnEnd::Completed);
    let loaded = rig.restart(vec![waiting("b")]);
    assert_eq!(moves(&loaded), [TaskState::Queued]);
    assert_eq!(deeds(loaded), [Effect::WantPlace]);
}

#[test]
fn an_interrupt_that_was_never_heard_takes_back_what_came_before_it_alone() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", TurnEnd::Completed);
    rig.submit("b", IfBusy::Queue);
    let loaded = rig.restart(vec![waiting("b"), interrupt("i"), waiting("c")]);
    let withdrawn = IntentState::NotDone { why: NotDone::Withdrawn { by: "ana".to_owned() } };
    let nothing = IntentState::Done { receipt: Receipt::Nothing };
    assert_eq!(settled(&loaded), [("i".into(), nothing), ("b".into(), withdrawn)]);
    assert_eq!(moves(&loaded), [TaskState::Cancelled, TaskState::Queued]);
    rig.placed();
    assert_eq!(deeds(rig.step(Signal::Opened)), [give("c", IfBusy::Queue)]);
}

#[test]
fn an_interrupt_of_a_turn_that_ran_is_passed_on() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.restart(vec![interrupt("i")]);
    let stop = Effect::Interrupt { by: "ana".to_owned() };
    assert_eq!(deeds(rig.step(Signal::Opened)), [stop]);
}

#[test]
fn a_task_that_is_over_is_left_alone() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", TurnEnd::Completed);
    assert_eq!(rig.restart(Vec::new()), []);
    assert!(rig.machine.is_at_rest());
}
