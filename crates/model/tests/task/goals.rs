//! A goal of Codex's own: a task spans its goal.

use ostler_model::task::machine::{Effect, Loaded, MayContinue, Owed, Signal, Unsettled};
use ostler_model::task::{Budget, IntentState, NotDone, Receipt, TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, Goal, GoalChange, GoalStatus, TurnEnd, TurnResult};

use crate::rig::{Rig, deeds, failed, give, interrupted, moves, result, settled};

fn goal(status: GoalStatus) -> Option<Goal> {
    let objective = "win".to_owned();
    Some(Goal { objective, status, token_budget: None, tokens_used: 0, seconds_used: 0, rounds: 0 })
}

fn goal_after(rounds: u32, status: GoalStatus) -> Option<Goal> {
    goal(status).map(|goal| Goal { rounds, ..goal })
}

fn told(status: GoalStatus) -> Update {
    Update::Goal { goal: goal(status) }
}

fn change(change: GoalChange) -> Effect {
    Effect::ChangeGoal { intent: None, change }
}

/// Its first turn has set a goal, and is over.
fn between_turns() -> Rig {
    let mut rig = Rig::working(TaskSettings::default());
    assert_eq!(rig.tell(told(GoalStatus::Active)), []);
    assert_eq!(moves(&rig.end("t1", TurnEnd::Completed)), []);
    assert_eq!(rig.state(), TaskState::Working);
    assert!(!rig.machine.is_at_rest());
    rig
}

fn begin_by_itself(rig: &mut Rig, turn: &str) -> Vec<Effect> {
    rig.tell(Update::TurnBegan { turn: turn.into() })
}

#[test]
fn a_task_is_at_work_until_its_goal_is_complete() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    let first = TurnResult { inputs: vec!["a".into()], ..result("t1", TurnEnd::Completed) };
    assert_eq!(moves(&rig.tell(Update::TurnEnded { result: Box::new(first) })), []);
    assert_eq!(begin_by_itself(&mut rig, "t2"), []);
    assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), []);
    begin_by_itself(&mut rig, "t3");
    rig.tell(told(GoalStatus::Complete));

    let end = rig.end("t3", TurnEnd::Completed);

    assert_eq!(moves(&end), [TaskState::Completed]);
    let task = rig.machine.task();
    assert_eq!(task.goal.as_ref().map(|goal| goal.rounds), Some(2));
    assert_eq!(task.last_result.as_ref().map(|last| last.turn.as_str()), Some("t3"));
}

#[test]
fn a_goal_that_is_not_active_keeps_nothing_open() {
    for status in [
        GoalStatus::Paused,
        GoalStatus::Blocked,
        GoalStatus::UsageLimited,
        GoalStatus::BudgetLimited,
        GoalStatus::Complete,
        GoalStatus::Other("new".to_owned()),
    ] {
        let mut rig = Rig::working(TaskSettings::default());
        rig.tell(told(GoalStatus::Active));
        rig.tell(told(status.clone()));
        let end = rig.end("t1", TurnEnd::Completed);
        assert_eq!(moves(&end), [TaskState::Completed], "{status:?}");
    }
}

#[test]
fn a_goal_that_is_cleared_between_two_turns_ends_the_task() {
    let mut rig = between_turns();
    assert_eq!(moves(&rig.tell(Update::Goal { goal: None })), [TaskState::Completed]);
}

#[test]
fn an_interrupt_between_two_turns_pauses_the_goal_and_ends_the_task() {
    let mut rig = between_turns();
    assert_eq!(rig.interrupt("i"), [Effect::Interrupt { by: "ana".to_owned() }]);

    let end = rig.tell(told(GoalStatus::Paused));

    let nothing = IntentState::Done { receipt: Receipt::Nothing };
    assert_eq!(settled(&end), [("i".into(), nothing)]);
    assert_eq!(moves(&end), [TaskState::Cancelled]);
}

#[test]
fn a_turn_that_was_on_its_way_when_the_goal_was_stopped_is_stopped_too() {
    let mut rig = between_turns();
    rig.interrupt("i");
    assert_eq!(begin_by_itself(&mut rig, "t2"), [Effect::Interrupt { by: "ana".to_owned() }]);
    rig.tell(told(GoalStatus::Paused));
    assert_eq!(moves(&rig.end("t2", interrupted("ana"))), [TaskState::Cancelled]);
}

/// Codex starts no turn after one that was interrupted, though the goal stays active.
#[test]
fn a_goal_that_an_interrupt_left_active_is_paused() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    let end = rig.end("t1", interrupted("ana"));
    assert_eq!(moves(&end), [TaskState::Cancelled]);
    assert!(end.contains(&change(GoalChange::Pause)), "{end:?}");
    assert!(rig.machine.task().tally.goal_stops);
    rig.step(Signal::GoalChanged { intent: None, outcome: Ok(goal(GoalStatus::Paused)) });
    assert!(!rig.machine.task().tally.goal_stops);
}

#[test]
fn an_input_between_two_turns_is_given_and_the_goal_goes_on_after_it() {
    let mut rig = between_turns();
    assert_eq!(rig.submit("b", IfBusy::Queue), [give("b", IfBusy::Queue)]);
    rig.begin("t2", "b");
    assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), []);
    assert_eq!(rig.state(), TaskState::Working);
}

#[test]
fn whoever_wants_a_free_task_is_refused_between_two_turns() {
    let mut rig = between_turns();
    let refused = rig.submit("b", IfBusy::Fail);
    assert!(matches!(
        settled(&refused).as_slice(),
        [(_, IntentState::NotDone { why: NotDone::Refused { .. } })]
    ));
}

#[test]
fn a_goal_stands_still_with_its_task_and_goes_on_with_it() {
    let limit = FailureClass::RateLimit { retry_after_ms: Some(1000) };
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    rig.tell(told(GoalStatus::Blocked));
    assert_eq!(moves(&rig.end("t1", failed(limit))), [TaskState::Parked]);
    rig.now += 1000;
    assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::WantPlace]);

    // No turn runs in which the model could complete it just before.
    assert_eq!(deeds(rig.placed()), [change(GoalChange::Resume)]);
    let active = Ok(goal(GoalStatus::Active));
    assert_eq!(rig.step(Signal::GoalChanged { intent: None, outcome: active }), []);
    begin_by_itself(&mut rig, "t3");
    rig.tell(told(GoalStatus::Complete));
    assert_eq!(moves(&rig.end("t3", TurnEnd::Completed)), [TaskState::Completed]);
}

fn held_after_an_outage() -> Rig {
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    rig.tell(told(GoalStatus::Blocked));
    assert_eq!(moves(&rig.end("t1", failed(FailureClass::ServerError))), [TaskState::Parked]);
    rig.now += 10_000;
    rig.step(Signal::Tick);
    rig
}

/// Codex starts the next turn of the goal as it opens the thread; that one fails, and what we owe is answered after it.
#[test]
fn a_goal_is_held_although_the_next_turn_has_begun_without_it() {
    let after_its_turn_failed = || {
        let mut rig = Rig::working(TaskSettings::default());
        rig.tell(told(GoalStatus::Active));
        rig.end("t1", failed(FailureClass::ServerGone));
        rig.machine.owe(rig.now, "o".into());
        begin_by_itself(&mut rig, "t2");
        rig.tell(told(GoalStatus::Blocked));
        rig.end("t2", failed(FailureClass::ServerError));
        rig.begin("t3", "o");
        rig
    };
    let mut rig = after_its_turn_failed();
    assert_eq!(moves(&rig.end("t3", failed(FailureClass::ServerError))), [TaskState::Parked]);
    rig.now += 10_000;
    rig.step(Signal::Tick);
    assert_eq!(deeds(rig.placed()), [change(GoalChange::Resume)]);

    let mut rig = after_its_turn_failed();
    assert_eq!(deeds(rig.end("t3", TurnEnd::Completed)), [change(GoalChange::Resume)]);
}

#[test]
fn a_goal_that_a_person_paused_or_whose_budget_is_used_is_not_resumed_after_an_outage() {
    let outage = |rig: &mut Rig| {
        assert_eq!(moves(&rig.end("t1", failed(FailureClass::ServerError))), [TaskState::Parked]);
        rig.now += 10_000;
        deeds(rig.step(Signal::Tick))
    };
    let mut rig = Rig::working(TaskSettings::default());
    rig.machine.task_mut().thread = Some("thread".into());
    rig.tell(told(GoalStatus::Active));
    rig.step(Signal::ChangeGoal { intent: "g".into(), change: GoalChange::Pause });
    let paused = Ok(goal(GoalStatus::Paused));
    rig.step(Signal::GoalChanged { intent: Some("g".into()), outcome: paused });
    assert_eq!(outage(&mut rig), [Effect::Owe(Owed::AfterOutage)]);

    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    rig.tell(told(GoalStatus::BudgetLimited));
    assert_eq!(outage(&mut rig), [Effect::Owe(Owed::AfterOutage)]);
}

fn resumed(outcome: Result<Option<Goal>, Failure>) -> Signal {
    Signal::GoalChanged { intent: None, outcome }
}

#[test]
fn a_goal_is_resumed_after_what_a_person_wants_first() {
    let mut rig = held_after_an_outage();
    rig.submit("b", IfBusy::Queue);
    assert_eq!(deeds(rig.placed()), [give("b", IfBusy::Queue)]);
    assert_eq!(deeds(rig.begin("t2", "b")), []);
    assert_eq!(rig.end("t2", TurnEnd::Completed), [change(GoalChange::Resume)]);

    // Or the model completes it in that turn.
    let mut rig = held_after_an_outage();
    rig.submit("b", IfBusy::Queue);
    rig.placed();
    rig.begin("t2", "b");
    rig.tell(told(GoalStatus::Complete));
    let end = rig.end("t2", TurnEnd::Completed);
    assert!(!end.contains(&change(GoalChange::Resume)), "{end:?}");
    assert_eq!(moves(&end), [TaskState::Completed]);
}

#[test]
fn a_goal_is_resumed_although_the_daemon_dies_before_that() {
    for is_placed in [false, true] {
        let mut rig = held_after_an_outage();
        if is_placed {
            rig.placed();
        }
        let task = rig.machine.task().clone();
        let (machine, _) = ostler_model::task::machine::Machine::load(5, task, Loaded::default());
        let mut rig = Rig { machine, now: 5 };
        if !is_placed {
            assert_eq!(deeds(rig.step(Signal::Placed { want: 1 })), [Effect::Open]);
        }
        assert_eq!(deeds(rig.step(Signal::Opened)), [change(GoalChange::Resume)]);
        rig.step(resumed(Ok(goal(GoalStatus::Active))));
        begin_by_itself(&mut rig, "t2");
        assert!(!rig.machine.task().tally.goal_held);
    }
}

#[test]
fn a_goal_is_resumed_in_another_app_server_a_few_times() {
    let mut rig = held_after_an_outage();
    rig.placed();
    let lost = |class| resumed(Err(Failure::new(class, "it is gone")));
    // The second one refuses everything because it is about to end.
    for class in [FailureClass::ServerGone, FailureClass::Overload, FailureClass::ServerGone] {
        assert_eq!(deeds(rig.step(lost(class))), [Effect::Open]);
        assert_eq!(deeds(rig.step(Signal::Opened)), [change(GoalChange::Resume)]);
    }
    // Then the task goes on as one without a goal does.
    assert_eq!(rig.step(lost(FailureClass::ServerGone)), [Effect::Owe(Owed::AfterPause)]);
}

#[test]
fn a_goal_that_cannot_be_resumed_does_not_end_the_task() {
    let mut rig = held_after_an_outage();
    rig.placed();
    let limited = Ok(goal(GoalStatus::BudgetLimited));
    assert_eq!(rig.step(resumed(limited)), [Effect::Owe(Owed::AfterPause)]);
    rig.machine.owe(rig.now, "o".into());
    rig.begin("t2", "o");
    assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), [TaskState::Completed]);
}

#[test]
fn a_goal_that_is_being_resumed_can_be_stopped() {
    let mut rig = held_after_an_outage();
    rig.placed();
    assert_eq!(rig.interrupt("i"), [Effect::Interrupt { by: "ana".to_owned() }]);
    let active = Ok(goal(GoalStatus::Active));
    assert_eq!(rig.step(resumed(active)), [change(GoalChange::Pause)]);
    let end = rig.step(resumed(Ok(goal(GoalStatus::Paused))));
    assert_eq!(moves(&end), [TaskState::Cancelled]);
    assert!(!rig.machine.task().tally.goal_held);
}

/// The model has reached it, and is away before it has said so.
#[test]
fn a_goal_that_is_complete_is_not_resumed_after_an_outage() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Active));
    rig.tell(told(GoalStatus::Complete));
    assert_eq!(moves(&rig.end("t1", failed(FailureClass::ServerError))), [TaskState::Parked]);
    rig.now += 10_000;
    rig.step(Signal::Tick);
    rig.machine.owe(rig.now, "o".into());
    rig.placed();
    assert!(!rig.begin("t2", "o").contains(&change(GoalChange::Resume)));
    assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), [TaskState::Completed]);
}

#[test]
fn a_goal_that_was_blocked_before_is_not_resumed_after_a_limit() {
    let limit = FailureClass::RateLimit { retry_after_ms: Some(1000) };
    let mut rig = Rig::working(TaskSettings::default());
    rig.tell(told(GoalStatus::Blocked));
    rig.end("t1", failed(limit));
    rig.now += 1000;
    rig.step(Signal::Tick);
    rig.machine.owe(rig.now, "o".into());
    rig.placed();
    assert!(!begin_by_itself(&mut rig, "t2").contains(&change(GoalChange::Resume)));
}

#[test]
fn turns_of_a_goal_count_against_the_budget() {
    let budget = Budget { turns: Some(1), ..Budget::default() };
    let mut rig = Rig::working(TaskSettings { budget, ..TaskSettings::default() });
    rig.tell(told(GoalStatus::Active));
    rig.end("t1", TurnEnd::Completed);

    let stop = Effect::Interrupt { by: "the budget".to_owned() };
    assert_eq!(begin_by_itself(&mut rig, "t2"), [stop]);
    rig.tell(told(GoalStatus::Paused));
    assert_eq!(moves(&rig.end("t2", interrupted("the budget"))), [TaskState::Parked]);

    rig.step(Signal::MayContinue { answer: MayContinue::Yes, by: "ana".to_owned() });
    assert_eq!(deeds(rig.placed()), [change(GoalChange::Resume)]);
}

/// The model completes its goal in the moment in which the turn is stopped, and our pause comes after it.
#[test]
fn a_goal_that_was_completed_before_the_pause_is_complete_and_not_resumed() {
    let budget = Budget { turns: Some(1), ..Budget::default() };
    let mut rig = Rig::working(TaskSettings { budget, ..TaskSettings::default() });
    rig.tell(told(GoalStatus::Active));
    rig.end("t1", TurnEnd::Completed);
    begin_by_itself(&mut rig, "t2");
    rig.tell(told(GoalStatus::Complete));
    rig.tell(told(GoalStatus::Paused));
    assert_eq!(moves(&rig.end("t2", interrupted("the budget"))), [TaskState::Parked]);
    assert_eq!(rig.machine.task().goal, goal_after(2, GoalStatus::Complete));

    rig.step(Signal::MayContinue { answer: MayContinue::Yes, by: "ana".to_owned() });
    rig.machine.owe(rig.now, "o".into());
    rig.placed();
    assert!(!rig.begin("t3", "o").contains(&change(GoalChange::Resume)));
    assert_eq!(moves(&rig.end("t3", TurnEnd::Completed)), [TaskState::Completed]);
}

#[test]
fn a_goal_for_a_task_that_is_over_opens_its_thread() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.machine.task_mut().thread = Some("thread".into());
    rig.end("t1", TurnEnd::Completed);
    let set = GoalChange::Set { objective: "win".to_owned(), token_budget: None };
    let wish = Signal::ChangeGoal { intent: "g".into(), change: set.clone() };
    assert_eq!(moves(&rig.step(wish)), [TaskState::Queued]);

    let placed = deeds(rig.placed());

    assert_eq!(placed, [Effect::ChangeGoal { intent: Some("g".into()), change: set }]);
    let active = Ok(goal(GoalStatus::Active));
    let done = rig.step(Signal::GoalChanged { intent: Some("g".into()), outcome: active });
    let receipt = IntentState::Done { receipt: Receipt::GoalChanged };
    assert_eq!((settled(&done), moves(&done)), (vec![("g".into(), receipt)], vec![]));
    assert_eq!(moves(&begin_by_itself(&mut rig, "t2")), [TaskState::Working]);
}

#[test]
fn a_goal_of_a_task_that_is_over_is_cleared_where_it_stands() {
    let mut rig = Rig::working(TaskSettings::default());
    rig.machine.task_mut().thread = Some("thread".into());
    rig.tell(told(GoalStatus::Paused));
    rig.end("t1", TurnEnd::Completed);
    rig.machine.unloaded();
    let wish = Signal::ChangeGoal { intent: "g".into(), change: GoalChange::Clear };
    let clear = Effect::ChangeGoal { intent: Some("g".into()), change: GoalChange::Clear };
    assert_eq!(rig.step(wish), [clear]);
    let done = rig.step(Signal::GoalChanged { intent: Some("g".into()), outcome: Ok(None) });
    assert_eq!(moves(&done), []);
    assert_eq!((rig.state(), &rig.machine.task().goal), (TaskState::Completed, &None));
}

/// A daemon died between two turns. Whether the goal was finished meanwhile is told after what was missed.
#[test]
fn a_task_that_waits_for_its_goal_is_found_again() {
    for (status, moved) in
        [(GoalStatus::Active, vec![]), (GoalStatus::Complete, vec![TaskState::Completed])]
    {
        let task = between_turns().machine.task().clone();
        let (machine, effects) =
            ostler_model::task::machine::Machine::load(5, task, Loaded::default());
        assert!(effects.contains(&Effect::Open), "{effects:?}");
        let mut rig = Rig { machine, now: 5 };
        assert_eq!(moves(&rig.step(Signal::Opened)), [TaskState::Working]);
        rig.tell(Update::TurnBegan { turn: "t2".into() });
        assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), []);
        assert_eq!(moves(&rig.tell(told(status))), moved);
        assert_eq!(rig.machine.task().last_result, Some(result("t2", TurnEnd::Completed)));
    }
}

#[test]
fn a_change_that_a_dead_daemon_owed_is_made() {
    let mut task = between_turns().machine.task().clone();
    task.thread = Some("thread".into());
    let owed = Unsettled::Goal { intent: "g".into(), change: GoalChange::Pause };
    let loaded = Loaded { intents: vec![owed], ..Loaded::default() };
    let (machine, _) = ostler_model::task::machine::Machine::load(5, task, loaded);
    let mut rig = Rig { machine, now: 5 };
    let pause = Effect::ChangeGoal { intent: Some("g".into()), change: GoalChange::Pause };
    assert!(rig.step(Signal::Opened).contains(&pause));
}

#[test]
fn a_connection_that_breaks_between_two_turns_is_made_again() {
    let mut rig = between_turns();
    assert_eq!(rig.tell(Update::Disconnected { reason: "gone".to_owned() }), []);
    // A thread that is opened again tells the break and its end, and is left alone.
    rig.now = rig.machine.wake_at().unwrap();
    assert_eq!(deeds(rig.step(Signal::Tick)), [Effect::Open]);
    assert_eq!(moves(&rig.step(Signal::Opened)), []);
    rig.tell(Update::Disconnected { reason: "away".to_owned() });
    rig.tell(Update::Reconnected);
    rig.now = rig.machine.wake_at().unwrap();
    assert_eq!(rig.step(Signal::Tick), [Effect::ReadGoal]);
}

/// The goal is active and Codex does nothing: somebody else may have interrupted it.
#[test]
fn a_goal_that_nobody_works_on_is_looked_at_resumed_and_paused_in_the_end() {
    let mut rig = between_turns();
    let mut done = Vec::new();
    for _ in 0..4 {
        rig.now = rig.machine.wake_at().unwrap();
        done.extend(rig.step(Signal::Tick));
    }
    let resume = || change(GoalChange::Resume);
    assert_eq!(done, [Effect::ReadGoal, resume(), resume(), change(GoalChange::Pause)]);
    let paused = Ok(goal(GoalStatus::Paused));
    let end = rig.step(Signal::GoalChanged { intent: None, outcome: paused });
    assert_eq!(moves(&end), [TaskState::Completed]);
}
