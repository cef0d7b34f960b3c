//! What is missing for the moment is waited for and tried again; nothing is lost or given twice meanwhile.

use ostler_model::task::machine::{Effect, MayContinue, Owed, Signal, Unsettled, WhyAsk};
use ostler_model::task::{Awaited, Cause, IntentState, OnCrash, TaskSettings, TaskState};
use ostler_model::thread::IfBusy;
use ostler_model::{Failure, FailureClass, TurnEnd};

use crate::rig::{Rig, START, deeds, failed, give, moves, refused, result, settled, waiting};

const DAY: i64 = 24 * 60 * 60 * 1000;

fn open_fails(rig: &mut Rig, class: FailureClass) -> Vec<Effect> {
    rig.step(Signal::OpenFailed { failure: Failure::new(class, "not now") })
}

/// A task whose thread is being opened for the first time.
fn opening() -> Rig {
    let mut rig = Rig::working(TaskSettings::default());
    rig.end("t1", TurnEnd::Completed);
    rig.machine.unloaded();
    rig.submit("b", IfBusy::Queue);
    assert_eq!(deeds(rig.placed()), [Effect::Open]);
    rig
}

#[test]
fn an_app_server_that_does_not_start_is_tried_again_with_growing_pauses() {
    let mut rig = opening();
    let mut pauses = Vec::new();
    for round in 1..=8 {
        let failed = open_fails(&mut rig, FailureClass::ServerGone);
        assert_eq!(moves(&failed), [TaskState::Parked]);
        assert_eq!(settled(&failed), []);
        let Cause::Waiting { on: Awaited::AppServer, since, until: Some(until), tries, .. } =
            rig.machine.task().cause
        else {
            panic!("{:?}", rig.machine.task().cause)
        };
        assert_eq!((since, tries), (START, round));
        assert_eq!(rig.machine.wake_at(), Some(until));
        pauses.push((until - rig.now) / 1000);
        rig.now = until;
        assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::WantPlace]);
        assert_eq!(deeds(rig.placed()), [Effect::Open]);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(deeds(rig.step(Signal::Opened)), [give("b", IfBusy::Queue)]);
    assert_eq!(rig.machine.task().tally.tries, None);
}

/// Whoever waits for the task would be told to act on an upgrade of a second.
#[test]
fn a_codex_that_is_missing_is_a_matter_for_a_person_once_it_stays_so() {
    let mut rig = opening();
    let mut needs_one = Vec::new();
    for _ in 1..=5 {
        open_fails(&mut rig, FailureClass::NoCodex);
        needs_one.push(rig.machine.task().cause.needs_a_person());
        rig.now = rig.machine.wake_at().unwrap();
        rig.step(Signal::Tick);
        rig.placed();
    }
    assert_eq!(needs_one, [false, false, false, true, true]);
}

#[test]
fn a_turn_that_may_run_is_looked_for_until_it_is_found() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    rig.restart(vec![waiting("b")]);
    let failed = open_fails(&mut rig, FailureClass::NoCodex);
    assert_eq!(moves(&failed), [TaskState::Recovering]);
    assert_eq!((deeds(failed), rig.machine.is_at_rest()), (Vec::new(), false));
    assert!(matches!(rig.machine.task().cause, Cause::Waiting { on: Awaited::Codex, .. }));
    // Nothing that comes meanwhile opens it a second time.
    rig.submit("c", IfBusy::Queue);
    rig.now = rig.machine.wake_at().unwrap_or_default();
    assert_eq!(rig.step(Signal::Tick), [Effect::Open]);
    assert_eq!((rig.step(Signal::Tick), rig.machine.wake_at()), (Vec::new(), None));
    assert_eq!(moves(&rig.step(Signal::Opened)), [TaskState::Working]);
    assert_eq!(rig.end("t1", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
}

#[test]
fn an_input_that_codex_has_no_room_for_is_given_again_before_what_came_later() {
    let mut rig = Rig::given(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    let failure = Failure::new(FailureClass::Overload, "too much at once");
    let effects = rig.tell(refused("a", failure));
    assert_eq!(moves(&effects), [TaskState::Parked]);
    assert_eq!(deeds(effects), [Effect::GiveBack { intent: "a".into() }, Effect::LeavePlace]);
    rig.now = rig.machine.wake_at().unwrap_or_default();
    rig.step(Signal::Tick);
    assert_eq!(deeds(rig.placed()), [give("a", IfBusy::Queue)]);
}

#[test]
fn an_outage_of_the_model_is_waited_for_and_the_task_goes_on_once() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.submit("b", IfBusy::Queue);
    let mut waits = Vec::new();
    for round in 2..=9 {
        let class = [FailureClass::Network, FailureClass::ServerError, FailureClass::Overload];
        let end = rig.end(&format!("t{}", round - 1), failed(class[round % 3].clone()));
        assert_eq!((moves(&end), settled(&end)), (vec![TaskState::Parked], Vec::new()));
        let Cause::Waiting { on: Awaited::Model, since: START, until: Some(until), .. } =
            rig.machine.task().cause
        else {
            panic!("{:?}", rig.machine.task().cause)
        };
        waits.push((until - rig.now) / 1000);
        rig.now = until;
        assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::Owe(Owed::AfterOutage)]);
        rig.owe(&format!("ours{round}"));
        assert_eq!(deeds(rig.placed()), [give(&format!("ours{round}"), IfBusy::Queue)]);
        rig.begin(&format!("t{round}"), &format!("ours{round}"));
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
    assert_eq!(rig.end("t9", TurnEnd::Completed), [give("b", IfBusy::Queue)]);
    assert_eq!(rig.machine.task().tally.tries, None);
}

#[test]
fn an_outage_is_waited_for_as_long_as_the_settings_say() {
    for patience in [None, Some(DAY)] {
        let settings = TaskSettings {
            outage_patience_ms: patience.map(|it| it as u64),
            ..TaskSettings::default()
        };
        let mut rig = Rig::working(settings);
        rig.end("t1", failed(FailureClass::Network));
        rig.now = START + DAY;
        rig.step(Signal::Tick);
        rig.owe("ours");
        rig.placed();
        rig.begin("t2", "ours");
        rig.end("t2", failed(FailureClass::Network));
        let expected = if patience.is_some() { TaskState::Failed } else { TaskState::Parked };
        assert_eq!(rig.state(), expected);
        let cause = &rig.machine.task().cause;
        assert_eq!(
            matches!(cause, Cause::WaitedTooLong { since: START, .. }),
            patience.is_some(),
            "{cause:?}"
        );
    }
}

/// Ends the turn in an outage after something was done in it.
fn cut_off_after_work(on_crash: OnCrash) -> Rig {
    let mut rig = Rig::working(TaskSettings { on_crash, ..TaskSettings::default() });
    let mut result = result("t1", failed(FailureClass::Network));
    result.tool_iterations = 1;
    rig.tell(ostler_model::thread::Update::TurnEnded { result: Box::new(result) });
    rig
}

#[test]
fn a_turn_that_was_cut_off_after_work_follows_the_crash_policy() {
    assert!(matches!(
        cut_off_after_work(OnCrash::Continue).machine.task().cause,
        Cause::Waiting { on: Awaited::Model, .. }
    ));
    assert_eq!(cut_off_after_work(OnCrash::Fail).state(), TaskState::Failed);
    let mut asks = cut_off_after_work(OnCrash::Ask);
    assert_eq!((asks.state(), asks.machine.wake_at()), (TaskState::Parked, None));
    let (answer, by) = (MayContinue::Yes, "ana".to_owned());
    let woken = asks.step(Signal::MayContinue { answer, by });
    assert_eq!(deeds(woken), [Effect::Owe(Owed::AfterPause)]);
}

#[test]
fn a_refused_login_retires_the_app_server_and_waits_for_another_login_or_for_a_person() {
    for by_a_person in [false, true] {
        let mut rig = Rig::working(TaskSettings::default());
        rig.submit("b", IfBusy::Queue);
        let end = rig.end("t1", failed(FailureClass::Auth));
        assert_eq!((moves(&end), settled(&end)), (vec![TaskState::Parked], Vec::new()));
        let why = WhyAsk::Login(Failure::new(FailureClass::Auth, "it failed"));
        let expected = [Effect::Retire, Effect::LeavePlace, Effect::AskToContinue(why)];
        assert_eq!((deeds(end), rig.machine.wake_at()), (expected.to_vec(), None));
        assert_eq!(rig.restart(vec![waiting("b")]), []);
        let woken = match by_a_person {
            true => {
                let (answer, by) = (MayContinue::Yes, "ana".to_owned());
                rig.step(Signal::MayContinue { answer, by })
            }
            false => rig.step(Signal::LoginChanged),
        };
        let owed = if by_a_person { Owed::AfterPause } else { Owed::AfterLogin };
        assert_eq!(deeds(woken).last(), Some(&Effect::Owe(owed)));
        assert_eq!(rig.step(Signal::LoginChanged), []);
        assert_eq!(rig.owe("ours"), [Effect::WantPlace]);
        // In another app-server.
        assert_eq!(deeds(rig.placed()), [Effect::Open]);
        assert_eq!(deeds(rig.step(Signal::Opened)), [give("ours", IfBusy::Queue)]);
    }
}

#[test]
fn whoever_ends_a_task_that_waits_ends_it_at_once() {
    for class in [FailureClass::Network, FailureClass::Auth] {
        let mut rig = Rig::working(TaskSettings::default());
        rig.end("t1", failed(class));
        rig.interrupt("i");
        assert_eq!((rig.state(), rig.machine.wake_at()), (TaskState::Cancelled, None));
        assert_eq!(rig.machine.task().tally.tries, None);
    }
}

#[test]
fn what_only_a_person_can_change_ends_the_task() {
    let mut rig = opening();
    let ended = open_fails(&mut rig, FailureClass::BadRequest);
    assert_eq!(moves(&ended), [TaskState::Failed]);
    let [(_, IntentState::NotDone { .. })] = &settled(&ended)[..] else { panic!("{ended:?}") };
}

#[test]
fn a_wait_is_kept_over_a_restart() {
    let mut rig = opening();
    open_fails(&mut rig, FailureClass::ServerGone);
    let wake = rig.machine.wake_at();
    assert_eq!(
        rig.restart(vec![Unsettled::Waiting { intent: "b".into(), if_busy: IfBusy::Queue }]),
        []
    );
    assert_eq!((rig.state(), rig.machine.wake_at()), (TaskState::Parked, wake));
}
