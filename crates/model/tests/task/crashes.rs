//! What becomes of a task whose app-server died in the middle of a turn.

use ostler_model::task::machine::{AskedOf, Effect, MayContinue, Owed, Signal, WhyAsk};
use ostler_model::task::{Cause, IntentState, NotDone, OnCrash, TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, deeds, failed, give, moves, settled, taken};

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

fn look_for(turn: &str, input: &str) -> Effect {
    Effect::LookFor { turn: turn.into(), inputs: vec![input.into()] }
}

/// A task whose first turn, which took `a`, died.
fn bereft() -> (Rig, Vec<Effect>) {
    let mut rig = working(OnCrash::Continue);
    let mut result = crate::rig::result("t1", died());
    result.inputs = vec!["a".into()];
    let end = rig.tell(Update::TurnEnded { result: Box::new(result) });
    assert_eq!(deeds(end), [Effect::Owe(Owed::AfterCrash)]);
    let effects = rig.owe("ours");
    (rig, effects)
}

#[test]
fn what_codex_has_is_gone_on_with() {
    let (mut rig, effects) = bereft();
    assert_eq!(effects, [look_for("t1", "a")]);
    let looked = rig.step(Signal::Looked { missing: Vec::new() });
    assert_eq!(looked, [give("ours", IfBusy::Queue)]);
}

#[test]
fn what_codex_has_lost_is_given_again() {
    let (mut rig, _) = bereft();
    rig.submit("b", IfBusy::Queue);
    let looked = rig.step(Signal::Looked { missing: vec!["a".into()] });
    let why = NotDone::Needless;
    let needless = Effect::Settle { intent: "ours".into(), to: IntentState::NotDone { why } };
    let back = Effect::GiveBack { intent: "a".into() };
    assert_eq!(looked, [needless, back, give("a", IfBusy::Queue)]);
    rig.begin("t2", "a");
    assert_eq!(rig.end("t2", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

/// A task whose first turn, which took `a`, died while `s` was on its way to it; `s` was answered by a turn of its own.
fn overtaken() -> (Rig, Vec<Effect>) {
    let mut rig = working(OnCrash::Continue);
    assert_eq!(rig.submit("s", IfBusy::Steer), [give("s", IfBusy::Steer)]);
    let mut result = crate::rig::result("t1", died());
    result.inputs = vec!["a".into()];
    assert_eq!(rig.tell(Update::TurnEnded { result: Box::new(result) }), []);
    rig.begin("t2", "s");
    let end = rig.end("t2", TurnEnd::Completed);
    (rig, end)
}

#[test]
fn what_a_turn_lost_that_another_overtook_is_given_again() {
    let (mut rig, end) = overtaken();
    assert_eq!(end, [look_for("t1", "a")]);
    let looked = rig.step(Signal::Looked { missing: vec!["a".into()] });
    let back = Effect::GiveBack { intent: "a".into() };
    assert_eq!(looked, [back, give("a", IfBusy::Queue)]);
    rig.begin("t3", "a");
    assert_eq!(moves(&rig.end("t3", TurnEnd::Completed)), [TaskState::Completed]);
}

#[test]
fn what_a_turn_had_that_another_overtook_is_not_given_again() {
    let (mut rig, _) = overtaken();
    let looked = rig.step(Signal::Looked { missing: Vec::new() });
    assert_eq!(moves(&looked), [TaskState::Completed]);
}

#[test]
fn what_was_overtaken_is_looked_for_after_a_restart_and_a_lost_thread_too() {
    let (mut rig, _) = overtaken();
    rig.restart(Vec::new());
    assert_eq!(rig.step(Signal::Opened), [look_for("t1", "a")]);
    assert_eq!(rig.step(Signal::ThreadLost), [Effect::Open]);
    // What was said of the thread that is gone opens no second one.
    let failure = Failure::new(FailureClass::ServerGone, "it died");
    assert_eq!(rig.step(Signal::LookFailed { failure }), []);
    assert_eq!(rig.step(Signal::Opened), [look_for("t1", "a")]);
    let looked = rig.step(Signal::Looked { missing: Vec::new() });
    assert_eq!(moves(&looked), [TaskState::Completed]);
}

#[test]
fn a_thread_that_cannot_be_looked_through_is_opened_again_and_given_up_in_the_end() {
    let (mut rig, _) = bereft();
    let failure = Failure::new(FailureClass::ServerGone, "it died");
    for _ in 2..=3 {
        let lost = rig.step(Signal::LookFailed { failure: failure.clone() });
        assert_eq!(lost, [Effect::Open]);
        assert_eq!(rig.step(Signal::Opened), [look_for("t1", "a")]);
    }
    let lost = rig.step(Signal::LookFailed { failure });
    assert_eq!(moves(&lost), [TaskState::Failed]);
}

fn given_back(input: &str) -> Update {
    let failure = Failure::new(FailureClass::ServerGone, "it died");
    Update::InputRefused { input: input.into(), failure, may_have_run: true }
}

/// The app-server died with its turn, and the next one before it had said what became of the steer.
#[test]
fn a_steer_whose_turn_died_is_looked_for_until_it_is_found() {
    let mut rig = working(OnCrash::Continue);
    rig.submit("s", IfBusy::Steer);
    assert_eq!(rig.end("t1", died()), []);
    let lost = rig.tell(given_back("s"));
    assert_eq!((settled(&lost), deeds(lost)), (Vec::new(), vec![Effect::Open]));
    assert_eq!(rig.step(Signal::Opened), []);
    // It stood in the turn that died, which is gone on with.
    assert_eq!(deeds(rig.tell(taken("s", "t1"))), [Effect::Owe(Owed::AfterCrash)]);
}

#[test]
fn a_steer_of_which_nobody_can_tell_is_unknown_in_the_end() {
    let mut rig = working(OnCrash::Continue);
    rig.submit("s", IfBusy::Steer);
    rig.end("t1", died());
    for _ in 1..=3 {
        assert_eq!(deeds(rig.tell(given_back("s"))), [Effect::Open]);
        rig.step(Signal::Opened);
    }
    let why = "it died".to_owned();
    assert_eq!(settled(&rig.tell(given_back("s"))), [("s".into(), IntentState::Unknown { why })]);
    assert_eq!(rig.state(), TaskState::Failed);
}

/// What kills its app-server each time may well take our process along.
#[test]
fn crashes_count_over_a_restart() {
    let mut rig = working(OnCrash::Continue);
    for round in 1..=3 {
        let end = rig.end(&format!("t{round}"), died());
        assert_eq!(moves(&end), [TaskState::Recovering], "{round}");
        rig.owe("ours");
        rig.begin(&format!("t{}", round + 1), "ours");
        rig.restart(Vec::new());
        rig.step(Signal::Opened);
    }
    assert_eq!(moves(&rig.end("t4", died())), [TaskState::Failed]);
}
