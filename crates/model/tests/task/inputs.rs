//! What is sent to a task: in order, once, and settled once.

use ostler_model::task::machine::{Effect, Signal};
use ostler_model::task::{Cause, IntentState, NotDone, Receipt, TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, deeds, failed, give, interrupted, moves, refused, settled, taken};

fn working() -> Rig {
    Rig::working(TaskSettings::default())
}

fn refused_as(class: FailureClass, message: &str) -> IntentState {
    IntentState::NotDone { why: NotDone::Refused { failure: Failure::new(class, message) } }
}

#[test]
fn inputs_are_given_one_after_the_other_in_their_order() {
    let mut rig = working();
    assert_eq!(rig.submit("b", IfBusy::Queue), []);
    assert_eq!(rig.submit("c", IfBusy::Queue), []);

    assert_eq!(rig.end("t1", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
    rig.begin("t2", "b");
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("c", IfBusy::Queue)]);
    rig.begin("t3", "c");
    let end = rig.end("t3", TurnEnd::Completed);
    assert_eq!((moves(&end), deeds(end)), (vec![TaskState::Completed], vec![Effect::LeavePlace]));
}

#[test]
fn more_can_be_sent_to_a_task_that_is_over() {
    let mut rig = working();
    rig.end("t1", TurnEnd::Completed);

    let sent = rig.submit("b", IfBusy::Fail);
    assert_eq!((moves(&sent), deeds(sent)), (vec![TaskState::Queued], vec![Effect::WantPlace]));
    let placed = rig.placed();
    assert_eq!(moves(&placed), [TaskState::Starting]);
    assert_eq!(deeds(placed), [give("b", IfBusy::Queue)]);
    assert!(rig.machine.task().ended_at.is_none());
}

#[test]
fn a_steer_goes_into_the_turn_that_runs() {
    let mut rig = working();
    assert_eq!(rig.submit("b", IfBusy::Steer), [give("b", IfBusy::Steer)]);
    let done = IntentState::Done { receipt: Receipt::Taken { turn: "t1".into() } };
    assert_eq!(settled(&rig.tell(taken("b", "t1"))), [("b".into(), done)]);
    assert_eq!(moves(&rig.end("t1", TurnEnd::Completed)), [TaskState::Completed]);
}

#[test]
fn a_steer_that_comes_before_the_turn_waits_for_it() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.step(Signal::ThreadLost);
    // The thread is being opened again; nobody can be given anything.
    assert_eq!(rig.submit("b", IfBusy::Steer), []);
    rig.step(Signal::Opened);
    let began = rig.begin("t1", "a");
    assert_eq!(deeds(began), [give("b", IfBusy::Steer)]);
}

#[test]
fn an_input_that_interrupts_goes_before_those_that_wait() {
    let mut rig = working();
    rig.submit("b", IfBusy::Queue);
    let stop = Effect::Interrupt { by: "a new input".to_owned() };
    assert_eq!(rig.submit("c", IfBusy::Interrupt), std::slice::from_ref(&stop));
    // Two with the same wish keep their order.
    assert_eq!(rig.submit("d", IfBusy::Interrupt), [stop]);

    assert_eq!(rig.end("t1", interrupted("a new input")), [give("c", IfBusy::Queue)]);
    rig.begin("t2", "c");
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("d", IfBusy::Queue)]);
    rig.begin("t3", "d");
    assert_eq!(rig.end("t3", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn an_input_that_must_not_wait_is_refused_while_anything_is_to_be_done() {
    let busy = refused_as(FailureClass::Busy, "the task is at work");
    let mut rig = Rig::given(TaskSettings::default());
    assert_eq!(settled(&rig.submit("b", IfBusy::Fail)), [("b".into(), busy.clone())]);
    rig.begin("t1", "a");
    assert_eq!(settled(&rig.submit("c", IfBusy::Fail)), [("c".into(), busy.clone())]);
    rig.end("t1", failed(FailureClass::RateLimit { retry_after_ms: Some(1) }));
    assert_eq!(rig.state(), TaskState::Parked);
    assert_eq!(settled(&rig.submit("d", IfBusy::Fail)), [("d".into(), busy)]);
}

#[test]
fn a_steer_that_is_proven_after_its_turn_does_not_leave_the_task_at_work() {
    let mut rig = working();
    rig.submit("b", IfBusy::Steer);
    // Nobody knows yet whether the turn took it.
    assert_eq!(rig.end("t1", TurnEnd::Completed), []);
    assert_eq!(rig.state(), TaskState::Working);

    assert_eq!(moves(&rig.tell(taken("b", "t1"))), [TaskState::Completed]);
}

#[test]
fn a_steer_that_is_refused_after_its_turn_does_not_make_the_task_fail() {
    let mut rig = working();
    rig.submit("b", IfBusy::Steer);
    rig.end("t1", TurnEnd::Completed);
    let failure = Failure::new(FailureClass::BadRequest, "no");
    let refused = rig.tell(refused("b", failure));
    assert_eq!(settled(&refused), [("b".into(), refused_as(FailureClass::BadRequest, "no"))]);
    assert_eq!(moves(&refused), [TaskState::Completed]);
}

#[test]
fn a_steer_that_was_lost_with_its_turn_gets_a_turn_of_its_own() {
    let mut rig = working();
    rig.submit("b", IfBusy::Steer);
    rig.submit("c", IfBusy::Queue);
    let limit = failed(FailureClass::UsageLimit { resets_at: Some(2_000) });
    // The thread looks for it and gives it again; until then it is not known whether the task stands still.
    assert_eq!(rig.end("t1", limit), []);
    assert_eq!(settled(&rig.begin("t2", "b")).len(), 1);
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("c", IfBusy::Queue)]);
}

#[test]
fn what_waits_behind_a_failure_is_not_done_and_says_why() {
    let mut rig = working();
    rig.submit("b", IfBusy::Queue);
    let end = rig.end("t1", failed(FailureClass::Sandbox));
    assert_eq!(settled(&end), [("b".into(), refused_as(FailureClass::Sandbox, "it failed"))]);
    assert_eq!(moves(&end), [TaskState::Failed]);
}

#[test]
fn an_input_that_codex_refuses_makes_room_for_the_next() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    let failure = Failure::new(FailureClass::BadRequest, "no");
    let refused = rig.tell(refused("a", failure));
    assert_eq!(deeds(refused), [give("b", IfBusy::Queue)]);
    assert_eq!(rig.state(), TaskState::Starting);
}

#[test]
fn a_thread_that_cannot_be_opened_ends_the_task_and_all_that_waits() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    rig.submit("c", IfBusy::Queue);
    rig.step(Signal::ThreadLost);
    let failure = Failure::new(FailureClass::BadRequest, "no such thread");
    let effects = rig.step(Signal::OpenFailed { failure: failure.clone() });

    let why = "the thread could not be opened again: no such thread".to_owned();
    let refused = refused_as(FailureClass::BadRequest, "no such thread");
    let expected = [
        ("a".into(), IntentState::Unknown { why }),
        ("b".into(), refused.clone()),
        ("c".into(), refused),
    ];
    assert_eq!(settled(&effects), expected);
    assert_eq!(rig.machine.task().cause, Cause::StartFailed { failure });
}

#[test]
fn a_place_that_comes_too_late_is_given_back_and_one_that_is_held_is_kept() {
    let mut rig = working();
    // Codex began by itself while the task was in line.
    assert_eq!(rig.placed(), []);
    rig.end("t1", TurnEnd::Completed);
    assert_eq!(rig.placed(), [Effect::LeavePlace]);
}

/// The place was another's by the time that the task heard of it: with both at work one too many would run.
#[test]
fn a_place_that_was_given_back_unseen_is_not_taken_for_the_next_one() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", TurnEnd::Completed);
    rig.submit("b", IfBusy::Queue);
    let stale = Signal::Placed { want: rig.machine.wants() };
    assert_eq!(deeds(rig.interrupt("i")).last(), Some(&Effect::LeavePlace));
    assert_eq!(deeds(rig.submit("c", IfBusy::Queue)), [Effect::WantPlace]);

    assert_eq!(rig.step(stale), []);
    assert_eq!(deeds(rig.placed()), [give("c", IfBusy::Queue)]);
}

#[test]
fn a_thread_is_never_opened_twice_at_once() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.step(Signal::ThreadLost);
    let failure = Failure::new(FailureClass::BadRequest, "no");
    rig.tell(refused("a", failure));
    assert_eq!(rig.state(), TaskState::Failed);

    // The opening is still under way when somebody wants the thread again.
    assert_eq!(deeds(rig.submit("b", IfBusy::Queue)), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), []);
    assert_eq!(deeds(rig.step(Signal::Opened)), [give("b", IfBusy::Queue)]);
}

#[test]
fn a_turn_that_codex_begins_by_itself_counts() {
    let mut rig = working();
    rig.end("t1", TurnEnd::Completed);
    let began = rig.tell(Update::TurnBegan { turn: "t2".into() });
    assert_eq!(moves(&began), [TaskState::Working]);
    assert_eq!(deeds(began), [Effect::KeepPlace]);
    assert_eq!(deeds(rig.end("t2", TurnEnd::Completed)), [Effect::LeavePlace]);
}

#[test]
fn a_steer_only_begins_no_turn() {
    let too_late = IntentState::NotDone { why: NotDone::TooLate };
    let mut rig = Rig::working(TaskSettings::default());
    assert_eq!(deeds(rig.submit("b", IfBusy::SteerOnly)), [give("b", IfBusy::Steer)]);
    rig.tell(taken("b", "t1"));
    rig.end("t1", TurnEnd::Completed);
    let effects = rig.submit("c", IfBusy::SteerOnly);
    assert_eq!(effects, [Effect::Settle { intent: "c".into(), to: too_late.clone() }]);
    assert_eq!(rig.state(), TaskState::Completed);

    // Its thread was lost with the turn, and the turn is over when it is open again.
    let mut rig = Rig::working(TaskSettings::default());
    rig.step(Signal::ThreadLost);
    assert_eq!(deeds(rig.submit("b", IfBusy::SteerOnly)), []);
    let end = rig.end("t1", TurnEnd::Completed);
    assert_eq!(settled(&end), [("b".into(), too_late)]);
    assert_eq!(moves(&end), [TaskState::Completed]);
}
