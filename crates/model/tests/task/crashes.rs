//! What becomes of a task whose app-server died in the middle of a turn.

use ostler_model::task::machine::{AskedOf, Effect, MayContinue, Owed, Signal, WhyAsk};
use ostler_model::task::{Cause, OnCrash, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, deeds, failed, give, moves};

fn working(on_crash: OnCrash) -> Rig {
    Rig::working(TaskSettings { on_crash, ..TaskSettings::default() })
}

fn died() -> TurnEnd {
    failed(FailureClass::ServerGone)
}

#[test]
fn it_goes_on_by_itself_before_what_waits() {
    let mut rig = working(OnCrash::Continue);
    rig.submit("b", IfBusy::Queue);
    let end = rig.end("t1", died());
    assert_eq!(moves(&end), [TaskState::Recovering]);
    assert_eq!(deeds(end), [Effect::Owe(Owed::AfterCrash)]);
    assert_eq!(rig.owe("ours"), [give("ours", IfBusy::Queue)]);
    rig.begin("t2", "ours");
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn what_was_asked_in_the_turn_that_died_waits_for_nobody_in_the_next() {
    let mut rig = working(OnCrash::Continue);
    rig.step(Signal::Asked { ask: "q".into(), of: AskedOf::Approval });
    assert_eq!(rig.state(), TaskState::WaitingForApproval);
    rig.end("t1", died());
    rig.owe("ours");
    assert_eq!(moves(&rig.begin("t2", "ours")), [TaskState::Working]);
}

#[test]
fn it_fails_if_it_is_to_fail() {
    let mut rig = working(OnCrash::Fail);
    let end = rig.end("t1", died());
    assert_eq!((moves(&end), deeds(end)), (vec![TaskState::Failed], vec![Effect::LeavePlace]));
}

#[test]
fn somebody_decides_if_somebody_is_to() {
    for (answer, expected) in
        [(MayContinue::Yes, TaskState::Queued), (MayContinue::No, TaskState::Cancelled)]
    {
        let mut rig = working(OnCrash::Ask);
        let failure = Failure::new(FailureClass::ServerGone, "it failed");
        let end = rig.end("t1", died());
        assert_eq!(moves(&end), [TaskState::Parked]);
        let ask = Effect::AskToContinue(WhyAsk::Crash(failure));
        assert_eq!(deeds(end), [Effect::LeavePlace, ask]);
        assert_eq!(rig.machine.wake_at(), None);

        let by = "ana".to_owned();
        let answered = rig.step(Signal::MayContinue { answer, by: by.clone() });
        assert_eq!(moves(&answered), [expected]);
        // A second word changes nothing.
        assert_eq!(rig.step(Signal::MayContinue { answer: MayContinue::Yes, by }), []);
    }
}

#[test]
fn one_that_dies_each_time_is_given_up_whatever_it_did() {
    let mut rig = working(OnCrash::Continue);
    for round in 1..=3 {
        let turn = format!("t{round}");
        let mut result = crate::rig::result(&turn, died());
        result.tool_iterations = 7;
        let end = ostler_model::thread::Update::TurnEnded { result: Box::new(result) };
        assert_eq!(moves(&rig.tell(end)), [TaskState::Recovering]);
        rig.owe("ours");
        rig.begin(&format!("t{}", round + 1), "ours");
    }
    assert_eq!(moves(&rig.end("t4", died())), [TaskState::Failed]);
    let failure = Failure::new(FailureClass::ServerGone, "it failed");
    assert_eq!(rig.machine.task().cause, Cause::TurnFailed { failure });
}

#[test]
fn a_turn_that_ended_by_itself_makes_crashes_count_anew() {
    let mut rig = working(OnCrash::Continue);
    for round in 1..=9 {
        assert_eq!(moves(&rig.end(&format!("t{round}"), died())), [TaskState::Recovering]);
        rig.owe("ours");
        rig.begin("good", "ours");
        rig.submit("b", IfBusy::Queue);
        rig.end("good", TurnEnd::Completed);
        rig.begin(&format!("t{}", round + 1), "b");
    }
}

#[test]
fn one_that_somebody_wanted_to_end_is_not_taken_up_again() {
    let mut rig = working(OnCrash::Continue);
    rig.interrupt("i");
    assert_eq!(moves(&rig.end("t1", died())), [TaskState::Cancelled]);

    let mut rig = working(OnCrash::Continue);
    rig.submit("b", IfBusy::Interrupt);
    let end = rig.end("t1", died());
    assert_eq!(deeds(end), [give("b", IfBusy::Queue)]);
}
