//! A goal of Codex's own: the model sets it, Codex starts turn after turn by itself, and the task spans them all.

use ostler_model::task::{Budget, Cause, IntentState, NotDone, Receipt};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{
    Decision, Event, FailureClass, Goal, GoalChange, GoalStatus, Task, TaskSettings, TaskState,
    TurnEnd,
};
use ostler_scripted_model::{Answer, Call, Fault};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;
use serde_json::json;

use crate::{AFTER_CRASH, PROMPT, answer_of, command, hangs, is_taken, stage_of, text};

const NEXT: &str = "feed the cat";

/// Runs until the test lets it go on.
const UNTIL_TOLD: &str = "sh -c 'while [ ! -e go ]; do sleep 0.05; done'";

fn call(tool: &str, arguments: serde_json::Value) -> Answer {
    Answer { calls: vec![Call::function(tool, arguments)], ..Answer::default() }
}

fn sets_a_goal() -> Answer {
    call("create_goal", json!({ "objective": "win the race" }))
}

fn ends_the_goal(status: &str) -> Answer {
    call("update_goal", json!({ "status": status }))
}

/// Those to the prompt, and one to what follows it.
fn world(version: &str, answers: Vec<Answer>) -> Stage {
    stage_of(version, vec![(NEXT, vec![text("Fed.")]), (PROMPT, answers)])
}

fn status(task: &Task) -> Option<GoalStatus> {
    task.goal.as_ref().map(|goal| goal.status.clone())
}

async fn ends(shop: &Workshop, task: &ostler_model::TaskId) -> Vec<(TurnEnd, Option<String>)> {
    let log = shop.log(task).await.unwrap().into_iter();
    let ends = log.filter_map(|event| match event {
        Event::Thread { agent: None, update } => match *update {
            Update::TurnEnded { result } => Some((result.end, result.final_answer)),
            _ => None,
        },
        _ => None,
    });
    ends.collect()
}

fn completed(answer: &str) -> (TurnEnd, Option<String>) {
    (TurnEnd::Completed, Some(answer.to_owned()))
}

fn times_over(states: &[TaskState]) -> usize {
    states.iter().filter(|state| state.is_over()).count()
}

#[rstest]
#[tokio::test]
async fn a_task_is_over_once_and_only_with_its_goal(
    #[values("0.142.5", "0.166.0", "0.169.0")] version: &str,
) {
    let answers =
        vec![sets_a_goal(), text("One."), text("Two."), ends_the_goal("complete"), text("Three.")];
    let stage = world(version, answers);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();

    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();

    assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some("Three.")));
    assert_eq!(ended.spent.turns, 3);
    let goal = ended.goal.unwrap();
    assert!(goal.tokens_used > 0, "{goal:?}");
    let Goal { objective, status, rounds, token_budget, .. } = goal;
    assert_eq!(
        (objective.as_str(), status, rounds, token_budget),
        ("win the race", GoalStatus::Complete, 2, None)
    );
    let expected = [completed("One."), completed("Two."), completed("Three.")];
    assert_eq!(ends(&shop, &task).await, expected);
    assert_eq!(times_over(&shop.states(&task).await.unwrap()), 1);
    shop.close().await.unwrap();
}

/// The model gives up: the goal is not open any more, and neither is the task.
#[rstest]
#[tokio::test]
async fn a_goal_that_is_blocked_ends_the_task(#[values("0.142.5", "0.169.0")] version: &str) {
    let answers = vec![sets_a_goal(), text("One."), ends_the_goal("blocked"), text("Stuck.")];
    let stage = world(version, answers);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();
    assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some("Stuck.")));
    assert_eq!(status(&ended), Some(GoalStatus::Blocked));
    shop.close().await.unwrap();
}

/// Of a turn that failed Codex says that its goal is blocked.
#[rstest]
#[tokio::test]
async fn a_turn_of_a_goal_that_fails_ends_the_task_as_failed(
    #[values("0.142.5", "0.169.0")] version: &str,
) {
    let fault = Fault::Status {
        status: 400,
        code: None,
        message: Some("no".to_owned()),
        retry_after_s: None,
        body: None,
    };
    let fails = Answer { fault: Some(fault), ..Answer::default() };
    let stage = world(version, vec![sets_a_goal(), text("One."), fails]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();
    assert_eq!((ended.state, status(&ended)), (TaskState::Failed, Some(GoalStatus::Blocked)));
    assert_eq!(times_over(&shop.states(&task).await.unwrap()), 1);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_interrupt_pauses_the_goal_and_a_new_input_does_not_resume_it(
    #[values("0.142.5", "0.166.0", "0.169.0")] version: &str,
) {
    let stage = world(version, vec![sets_a_goal(), text("One."), hangs()]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 3).await.unwrap();
    let running = shop.until_that(&task, |task| task.spent.turns == 1 && task.turn.is_some());
    let turn = running.await.unwrap().turn.unwrap();

    let interrupt = shop.engine.interrupt(&task, "test").await.unwrap();

    let stopped = IntentState::Done { receipt: Receipt::Interrupted { turn } };
    assert_eq!(shop.settled(&interrupt).await.unwrap(), stopped);
    let ended = shop.until(&task, TaskState::Cancelled).await.unwrap();
    assert_eq!(status(&ended), Some(GoalStatus::Paused));
    shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), status(&ended)), (Some("Fed."), Some(GoalStatus::Paused)));
    assert_eq!(stage.model().requests_seen(), 4);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_input_that_waits_for_a_goal_is_answered_before_the_task_is_over(
    #[values("0.142.5", "0.169.0")] version: &str,
) {
    let answers = vec![
        sets_a_goal(),
        text("One."),
        command(UNTIL_TOLD),
        ends_the_goal("complete"),
        text("Two."),
    ];
    let stage = world(version, answers);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 3).await.unwrap();
    let input = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    std::fs::write(stage.workspace().join("go"), "").unwrap();

    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();

    assert!(is_taken(&shop.settled(&input).await.unwrap()));
    assert_eq!((answer_of(&ended), status(&ended)), (Some("Fed."), Some(GoalStatus::Complete)));
    assert_eq!(times_over(&shop.states(&task).await.unwrap()), 1);
    shop.close().await.unwrap();
}

/// What Codex did for the goal while nobody listened is told, and the last turn's answer is the task's.
#[rstest]
#[tokio::test]
async fn a_goal_that_ends_while_no_daemon_runs_is_told_to_its_end(
    #[values("0.142.5", "0.166.0", "0.169.0")] version: &str,
) {
    let mut answers = vec![sets_a_goal(), text("One."), command(UNTIL_TOLD), text("Two.")];
    // More turns than Codex lists at once.
    let rounds = ["Three.", "Four.", "Five.", "Six.", "Seven.", "Eight."];
    answers.extend(rounds.map(text));
    answers.extend([ends_the_goal("complete"), text("Nine.")]);
    let requests = answers.len() as u64;
    let stage = world(version, answers);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 3).await.unwrap();
    shop.until_that(&task, |task| task.spent.turns == 1 && task.turn.is_some()).await.unwrap();
    shop.stop();
    shop.close().await.unwrap();
    std::fs::write(stage.workspace().join("go"), "").unwrap();
    while stage.model().requests_seen() < requests {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }

    let shop = Workshop::open(&stage).await.unwrap();
    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();

    assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some("Nine.")));
    assert_eq!(status(&ended), Some(GoalStatus::Complete));
    let mut expected = vec![completed("One."), completed("Two.")];
    expected.extend(rounds.map(completed));
    expected.push(completed("Nine."));
    assert_eq!(ends(&shop, &task).await, expected);
    assert_eq!(times_over(&shop.states(&task).await.unwrap()), 1);
    shop.close().await.unwrap();
}

/// Codex goes on with the goal as soon as another app-server has the thread.
#[rstest]
#[tokio::test]
async fn a_goal_outlives_its_app_server(#[values("0.142.5", "0.169.0")] version: &str) {
    let ending = vec![ends_the_goal("complete"), text("Won."), text("Won.")];
    let stage = stage_of(
        version,
        vec![
            (AFTER_CRASH, ending.clone()),
            (PROMPT, [vec![sets_a_goal(), text("One."), command(UNTIL_TOLD)], ending].concat()),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 3).await.unwrap();
    shop.until_that(&task, |task| task.spent.turns == 1 && task.turn.is_some()).await.unwrap();
    shop.kill_codex(&stage, &task).await.unwrap();

    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();

    let log = shop.log(&task).await.unwrap();
    let found = (ended.state, answer_of(&ended));
    assert_eq!(found, (TaskState::Completed, Some("Won.")), "{log:#?}");
    assert_eq!(status(&ended), Some(GoalStatus::Complete));
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_goal_is_set_paused_resumed_and_cleared_by_people(
    #[values("0.142.5", "0.169.0")] version: &str,
) {
    let answers = vec![
        text("One."),
        command(UNTIL_TOLD),
        text("Two."),
        text("Three."),
        ends_the_goal("complete"),
        text("Four."),
    ];
    let stage = stage_of(version, vec![(PROMPT, answers)]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let done = IntentState::Done { receipt: Receipt::GoalChanged };

    let objective = "win the race".to_owned();
    let set = GoalChange::Set { objective: objective.clone(), token_budget: Some(100_000) };
    let change = |change| shop.engine.change_goal(&task, change, "test", None);
    let intent = change(set).await.unwrap();
    assert_eq!(shop.settled(&intent).await.unwrap(), done);
    shop.until_requests(&stage, 2).await.unwrap();
    let working = shop.until_that(&task, |task| task.turn.is_some()).await.unwrap();
    let goal = working.goal.unwrap();
    assert_eq!((goal.objective, goal.token_budget), (objective, Some(100_000)));

    // The running turn goes on to its end, and none follows.
    let intent = change(GoalChange::Pause).await.unwrap();
    assert_eq!(shop.settled(&intent).await.unwrap(), done);
    std::fs::write(stage.workspace().join("go"), "").unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), status(&ended)), (Some("Two."), Some(GoalStatus::Paused)));

    let intent = change(GoalChange::Resume).await.unwrap();
    assert_eq!(shop.settled(&intent).await.unwrap(), done);
    let is_complete = |task: &Task| {
        task.state == TaskState::Completed && status(task) == Some(GoalStatus::Complete)
    };
    let ended = shop.until_that(&task, is_complete).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Four."));

    // Its thread need not be open for that.
    assert!(shop.engine.release(&task).await.unwrap());
    let intent = change(GoalChange::Clear).await.unwrap();
    assert_eq!(shop.settled(&intent).await.unwrap(), done);
    let cleared = shop.until_that(&task, |task| task.goal.is_none()).await.unwrap();
    assert_eq!(cleared.state, TaskState::Completed);
    assert!(
        change(GoalChange::Set { objective: " ".to_owned(), token_budget: None }).await.is_err()
    );
    shop.close().await.unwrap();
}

/// The budget of the task holds for the turns that Codex starts by itself.
#[rstest]
#[tokio::test]
async fn a_goal_stops_at_the_edge_of_the_budget_and_goes_on_with_the_task(
    #[values("0.142.5", "0.169.0")] version: &str,
) {
    // The second turn is ended before it has asked the model, or while that takes its time.
    let late = Fault::HangBeforeHeaders { for_ms: Some(1000) };
    let wins = Answer { fault: Some(late), ..ends_the_goal("complete") };
    let answers = vec![sets_a_goal(), text("One."), wins.clone(), wins, text("Won.")];
    let stage = stage_of(version, vec![(PROMPT, answers)]);
    let shop = Workshop::open(&stage).await.unwrap();
    let one_turn = |settings: &mut TaskSettings| {
        settings.budget = Budget { turns: Some(1), ..Budget::default() };
    };
    let task = shop.start_with(&stage, PROMPT, one_turn).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    assert!(matches!(parked.cause, Cause::BudgetUsed { .. }), "{:?}", parked.cause);
    assert_eq!(status(&parked), Some(GoalStatus::Paused));

    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    let ended = shop.until_that(&task, |task| task.state.is_over()).await.unwrap();
    assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some("Won.")));
    assert_eq!(status(&ended), Some(GoalStatus::Complete));
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_change_that_codex_refuses_is_told_and_the_task_stands_as_before() {
    let stage = stage_of("0.130.0", vec![(PROMPT, vec![text("One.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let set = GoalChange::Set { objective: "win".to_owned(), token_budget: None };

    let intent = shop.engine.change_goal(&task, set, "test", None).await.unwrap();

    let IntentState::NotDone { why: NotDone::Refused { failure } } =
        shop.settled(&intent).await.unwrap()
    else {
        panic!("not refused");
    };
    assert_eq!(failure.class, FailureClass::BadRequest);
    assert!(failure.message.contains("0.130.0 does not take thread/goal/set"), "{failure:?}");
    assert_eq!(shop.until(&task, TaskState::Completed).await.unwrap().goal, None);
    shop.close().await.unwrap();
}
