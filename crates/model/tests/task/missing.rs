//! What the task needs is gone: it waits for a person with all that waits, and nothing is ended for good.

use ostler_model::task::machine::{Effect, MayContinue, Signal, WhyAsk};
use ostler_model::task::{TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, deeds, give, moves};

fn missing() -> Failure {
    Failure::new(FailureClass::Missing, "it is gone")
}

/// Parked, with the question, and the input waits again.
fn waits(effects: Vec<Effect>) {
    assert_eq!(moves(&effects), [TaskState::Parked]);
    let back = Effect::GiveBack { intent: "a".into() };
    assert_eq!(
        deeds(effects),
        [back, Effect::LeavePlace, Effect::AskToContinue(WhyAsk::Missing(missing()))]
    );
}

fn goes_on(rig: &mut Rig) {
    let (answer, by) = (MayContinue::Yes, "ana".to_owned());
    let woken = rig.step(Signal::MayContinue { answer, by });
    assert_eq!(moves(&woken), [TaskState::Queued]);
    assert_eq!(deeds(woken), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), [give("a", IfBusy::Queue)]);
}

#[test]
fn an_input_that_cannot_be_given_waits_as_the_first_one() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    waits(rig.step(Signal::CannotGive { intent: "a".into(), failure: missing() }));
    goes_on(&mut rig);
    // Still gone.
    waits(rig.step(Signal::CannotGive { intent: "a".into(), failure: missing() }));
    goes_on(&mut rig);
    rig.begin("t1", "a");
    assert_eq!(rig.end("t1", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn an_input_that_a_lost_thread_refuses_waits_too() {
    let mut rig = Rig::given(TaskSettings::default());
    let refused =
        Update::InputRefused { input: "a".into(), failure: missing(), may_have_run: false };
    waits(rig.tell(refused));
    goes_on(&mut rig);
}

#[test]
fn a_person_may_end_it() {
    let mut rig = Rig::given(TaskSettings::default());
    waits(rig.step(Signal::CannotGive { intent: "a".into(), failure: missing() }));
    let (answer, by) = (MayContinue::No, "ana".to_owned());
    let ended = rig.step(Signal::MayContinue { answer, by });
    assert_eq!(moves(&ended), [TaskState::Cancelled]);
}
