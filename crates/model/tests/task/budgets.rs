//! A budget in tokens, time and turns: at its edge the task stops and asks.

use ostler_model::item::{ItemBody, UserMessage};
use ostler_model::task::machine::{AskedOf, Effect, MayContinue, Owed, Signal, WhyAsk};
use ostler_model::task::{Budget, Cause, Edge, Retrying, Running, TaskSettings, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Failure, FailureClass, Interrupter, Item, TurnEnd};

use crate::rig::{Rig, START, deeds, give, interrupted, moves, result, tokens};

fn working(budget: Budget) -> Rig {
    Rig::working(TaskSettings { budget, ..TaskSettings::default() })
}

fn of_tokens(most: u64) -> Rig {
    working(Budget { tokens: Some(most), ..Budget::default() })
}

fn stop() -> Effect {
    Effect::Interrupt { by: "the budget".to_owned() }
}

fn uses(rig: &mut Rig, turn: &str, total: u64) -> Vec<Effect> {
    rig.tell(Update::Usage { turn: turn.into(), usage: tokens(total) })
}

fn ends_with(rig: &mut Rig, turn: &str, end: TurnEnd, total: u64) -> Vec<Effect> {
    let mut result = result(turn, end);
    result.usage = tokens(total);
    rig.tell(Update::TurnEnded { result: Box::new(result) })
}

fn may(rig: &mut Rig, answer: MayContinue) -> Vec<Effect> {
    rig.step(Signal::MayContinue { answer, by: "ana".to_owned() })
}

#[test]
fn tokens_stop_the_turn_once_and_somebody_lets_it_go_on() {
    let mut rig = of_tokens(100);
    assert_eq!(uses(&mut rig, "t1", 99), []);
    assert_eq!(uses(&mut rig, "t1", 100), [stop()]);
    assert_eq!(uses(&mut rig, "t1", 120), []);

    let edge = Edge::Tokens { used: 100, most: 100 };
    let end = ends_with(&mut rig, "t1", interrupted("the budget"), 120);
    assert_eq!(rig.machine.task().cause, Cause::BudgetUsed { edge });
    let ask = Effect::AskToContinue(WhyAsk::Budget(edge));
    assert_eq!(deeds(end), [Effect::LeavePlace, ask]);

    let yes = may(&mut rig, MayContinue::Yes);
    assert_eq!(moves(&yes), [TaskState::Queued]);
    assert_eq!(deeds(yes), [Effect::Owe(Owed::AfterPause)]);
    assert_eq!(rig.machine.task().budget.tokens, Some(220));

    rig.owe("ours");
    rig.placed();
    rig.begin("t2", "ours");
    assert_eq!(uses(&mut rig, "t2", 99), []);
    assert_eq!(uses(&mut rig, "t2", 100), [stop()]);
}

#[test]
fn no_ends_the_task_and_all_that_waits() {
    let mut rig = of_tokens(100);
    rig.submit("b", IfBusy::Queue);
    uses(&mut rig, "t1", 100);
    ends_with(&mut rig, "t1", interrupted("the budget"), 100);
    let no = may(&mut rig, MayContinue::No);
    assert_eq!(moves(&no), [TaskState::Cancelled]);
    assert_eq!(crate::rig::settled(&no).len(), 1);
}

#[test]
fn what_sub_agents_use_counts() {
    let mut rig = of_tokens(100);
    assert_eq!(uses(&mut rig, "t1", 60), []);
    assert_eq!(rig.step(Signal::AgentUsed { agent: "helper".into(), tokens: 40 }), [stop()]);
    ends_with(&mut rig, "t1", interrupted("the budget"), 60);
    assert_eq!(rig.machine.task().spent.tokens, 100);
}

#[test]
fn a_turn_that_ends_at_the_edge_by_itself_has_ended() {
    let mut rig = of_tokens(100);
    uses(&mut rig, "t1", 100);
    assert_eq!(moves(&ends_with(&mut rig, "t1", TurnEnd::Completed, 100)), [TaskState::Completed]);
    // What is sent now needs somebody's word first, and is not begun with another input of ours.
    let sent = rig.submit("b", IfBusy::Queue);
    assert_eq!(moves(&sent), [TaskState::Queued, TaskState::Parked]);
    assert_eq!(deeds(may(&mut rig, MayContinue::Yes)), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), [give("b", IfBusy::Queue)]);
}

#[test]
fn turns_stop_before_the_next_one_and_each_word_is_good_for_as_many() {
    let mut rig = working(Budget { turns: Some(1), ..Budget::default() });
    rig.submit("b", IfBusy::Queue);
    rig.submit("c", IfBusy::Queue);
    let end = rig.end("t1", TurnEnd::Completed);
    assert_eq!(moves(&end), [TaskState::Parked]);
    let edge = Edge::Turns { used: 1, most: 1 };
    assert_eq!(deeds(end), [Effect::LeavePlace, Effect::AskToContinue(WhyAsk::Budget(edge))]);

    assert_eq!(deeds(may(&mut rig, MayContinue::Yes)), [Effect::WantPlace]);
    assert_eq!(deeds(rig.placed()), [give("b", IfBusy::Queue)]);
    rig.begin("t2", "b");
    assert_eq!(moves(&rig.end("t2", TurnEnd::Completed)), [TaskState::Parked]);
}

#[test]
fn time_counts_while_it_works_and_not_while_it_waits() {
    let mut rig = working(Budget { work_ms: Some(1_000), ..Budget::default() });
    assert_eq!(rig.machine.wake_at(), Some(START + 1_000));
    rig.now += 400;
    rig.step(Signal::Asked { ask: "q".into(), of: AskedOf::Approval });
    assert_eq!(rig.machine.wake_at(), None);
    rig.now += 1_000_000;
    assert_eq!(rig.step(Signal::Tick), []);
    rig.step(Signal::AskGone { ask: "q".into() });
    assert_eq!(rig.machine.wake_at(), Some(rig.now + 600));
    rig.now += 600;
    assert_eq!(rig.step(Signal::Tick), [stop()]);
    let edge = Edge::WorkTime { used_ms: 1_000, most_ms: 1_000 };
    rig.end("t1", interrupted("the budget"));
    assert_eq!(rig.machine.task().cause, Cause::BudgetUsed { edge });
    assert_eq!(rig.machine.wake_at(), None);
}

#[test]
fn who_interrupts_at_the_edge_is_not_asked() {
    let mut rig = of_tokens(100);
    uses(&mut rig, "t1", 100);
    rig.interrupt("i");
    let end = ends_with(&mut rig, "t1", interrupted("the budget"), 100);
    assert_eq!(moves(&end), [TaskState::Cancelled]);
}

#[test]
fn an_edge_is_not_forgotten_when_our_process_ends_while_the_turn_is_stopped() {
    let mut rig = of_tokens(100);
    uses(&mut rig, "t1", 100);
    rig.restart(Vec::new());
    rig.step(Signal::Opened);
    // Codex only says that it was interrupted.
    let end = TurnEnd::Interrupted { by: Interrupter::Codex };
    assert_eq!(moves(&ends_with(&mut rig, "t1", end, 100)), [TaskState::Parked]);
    assert_eq!(deeds(may(&mut rig, MayContinue::Yes)), [Effect::Owe(Owed::AfterPause)]);
}

#[test]
fn time_and_sub_agents_of_a_turn_count_although_our_process_ends_in_the_middle() {
    let mut rig =
        working(Budget { tokens: Some(100), work_ms: Some(200_000), ..Budget::default() });
    // A turn that says nothing is looked at each minute, so that no more than that can be forgotten.
    assert_eq!(rig.machine.wake_at(), Some(START + 60_000));
    rig.now += 60_000;
    assert_eq!(rig.step(Signal::Tick), []);
    rig.now += 30_000;
    assert_eq!(rig.step(Signal::AgentUsed { agent: "first".into(), tokens: 30 }), []);
    rig.restart(Vec::new());
    rig.step(Signal::Opened);
    assert_eq!(rig.machine.task().spent.work_ms, 90_000);

    assert_eq!(rig.step(Signal::AgentUsed { agent: "second".into(), tokens: 20 }), []);
    assert_eq!(uses(&mut rig, "t1", 49), []);
    assert_eq!(uses(&mut rig, "t1", 50), [stop()]);
    ends_with(&mut rig, "t1", interrupted("the budget"), 50);
    assert_eq!(rig.machine.task().spent.tokens, 100);
    // What the next turn uses is its own.
    may(&mut rig, MayContinue::Yes);
    rig.owe("ours");
    rig.placed();
    rig.begin("t2", "ours");
    assert_eq!(uses(&mut rig, "t2", 99), []);
}

/// Whoever looks at a task in its first turn sees how far it has come, and whether its model answers.
#[test]
fn the_running_turn_is_told_as_far_as_it_has_come() {
    let mut rig = Rig::working(TaskSettings::default());
    let running = |rig: &Rig| rig.machine.task().tally.running.clone();
    let began = Running { began_at: START, tokens: 0, retrying: None };
    assert_eq!(running(&rig), Some(began.clone()));
    rig.tell(Update::Usage { turn: "t1".into(), usage: tokens(40) });
    rig.step(Signal::AgentUsed { agent: "sub".into(), tokens: 2 });
    assert_eq!(running(&rig), Some(Running { tokens: 42, ..began.clone() }));

    let failure = Failure::new(FailureClass::Network, "no route to host");
    let retry = |attempt| Update::Retrying {
        turn: "t1".into(),
        failure: Failure::new(FailureClass::Network, "no route to host"),
        attempt,
        for_ms: 0,
    };
    rig.now += 10;
    rig.tell(retry(1));
    rig.now += 10;
    rig.tell(retry(2));
    let retrying = Some(Retrying { since: START + 10, attempts: 2, failure });
    assert_eq!(running(&rig), Some(Running { tokens: 42, retrying, ..began.clone() }));
    let item = Item { id: "i".into(), body: ItemBody::UserMessage(UserMessage::default()) };
    rig.tell(Update::ItemBegan { turn: "t1".into(), item });
    assert_eq!(running(&rig), Some(Running { tokens: 42, ..began }));
    rig.end("t1", TurnEnd::Completed);
    assert_eq!(running(&rig), None);
}
