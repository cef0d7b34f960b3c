//! The app-server is killed in the middle of a turn.

use ostler_model::input::Part;
use ostler_model::item::Sender;
use ostler_model::task::{Cause, IntentState, NotDone, OnCrash, Receipt};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, FailureClass, Input, TaskSettings, TaskState};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;

use crate::{AFTER_CRASH, AFTER_PAUSE, PROMPT, answer_of, is_taken, stage_of, text};

const NEXT: &str = "feed the cat";

/// A picture of one point.
const DOT: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDA\
    Tx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";

fn world(version: &str) -> Stage {
    stage_of(
        version,
        vec![
            (AFTER_CRASH, vec![text("Went on.")]),
            (AFTER_PAUSE, vec![text("Was let go on.")]),
            (NEXT, vec![text("Fed.")]),
            (PROMPT, vec![text("Never."), text("Never.")]),
        ],
    )
}

/// A task whose turn waits for the model when its app-server dies.
async fn killed(shop: &Workshop, stage: &Stage, on_crash: OnCrash) -> ostler_model::TaskId {
    stage.model().hold_answers();
    let policy = |settings: &mut TaskSettings| settings.on_crash = on_crash;
    let task = shop.start_with(stage, PROMPT, policy).await.unwrap();
    let working = shop.until(&task, TaskState::Working).await.unwrap();
    shop.until_requests(stage, 1).await.unwrap();
    stage.until_held(&working.thread.unwrap(), PROMPT).await.unwrap();
    shop.kill_codex(stage, &task).await.unwrap();
    shop.until_that(&task, |task| task.state != TaskState::Working).await.unwrap();
    stage.model().release_answers();
    task
}

#[rstest]
#[tokio::test]
async fn a_task_goes_on_in_a_fresh_app_server(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = killed(&shop, &stage, OnCrash::Continue).await;
    let before = shop.task(&task).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!((answer_of(&ended), ended.spent.turns), (Some("Went on."), 2));
    assert_eq!(ended.thread, before.thread);
    assert_eq!(stage.model().requests_seen(), 2);
    let states = shop.states(&task).await.unwrap();
    assert!(states.contains(&TaskState::Recovering), "{states:?}");
    let intents = shop.intents(&task).await.unwrap();
    assert_eq!(intents.iter().filter(|(_, state)| is_taken(state)).count(), 2);
    // What Ostler says to go on is not told as the user's.
    let prompts = crate::prompts(&shop, &task).await;
    let after_crash = |(_, text): &&(Sender, String)| text.contains(AFTER_CRASH);
    assert_eq!(prompts.first(), Some(&(Sender::Task, PROMPT.to_owned())));
    assert_eq!(prompts.iter().find(after_crash).map(|(sender, _)| *sender), Some(Sender::Ostler));
    shop.close().await.unwrap();
}

#[rstest]
#[case::yes(Decision::Once, TaskState::Completed)]
#[case::no(Decision::Deny, TaskState::Cancelled)]
#[tokio::test]
async fn a_task_asks_whether_it_goes_on(#[case] decision: Decision, #[case] end: TaskState) {
    let stage = world("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = killed(&shop, &stage, OnCrash::Ask).await;
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let Cause::ServerLost { failure } = &parked.cause else { panic!("{parked:?}") };
    assert_eq!((&failure.class, parked.wake_at), (&FailureClass::ServerGone, None));

    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, decision).await.unwrap();
    let ended = shop.until(&task, end).await.unwrap();
    if end == TaskState::Completed {
        assert_eq!(answer_of(&ended), Some("Was let go on."));
    }
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_task_that_failed_with_its_app_server_can_be_sent_more() {
    let stage = world("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = killed(&shop, &stage, OnCrash::Fail).await;
    let failed = shop.until(&task, TaskState::Failed).await.unwrap();
    assert!(matches!(failed.cause, Cause::TurnFailed { .. }), "{:?}", failed.cause);

    let sent = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    shop.settled(&sent).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), &ended.thread), (Some("Fed."), &failed.thread));
    shop.close().await.unwrap();
}

#[tokio::test]
async fn our_process_and_the_app_server_are_gone_at_once() {
    let stage = world("0.166.0");
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    let queued = shop.send(&task, NEXT, IfBusy::Queue).await.unwrap();
    let gone = shop.task(&task).await.unwrap();
    stage.until_held(gone.thread.as_ref().unwrap(), PROMPT).await.unwrap();
    shop.close().await.unwrap();
    kill_keeper(&stage, gone.keeper.as_deref().unwrap());
    stage.model().release_answers();

    let shop = Workshop::open(&stage).await.unwrap();
    assert!(is_taken(&shop.settled(&queued).await.unwrap()));
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    // It went on first, then did what had been waiting.
    assert_eq!((answer_of(&ended), ended.spent.turns), (Some("Fed."), 3));
    assert_eq!(stage.model().requests_seen(), 3);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

/// Codex said that it took the prompt, and died before the prompt was in the thread's file.
#[rstest]
#[tokio::test]
async fn a_prompt_that_codex_took_and_lost_is_given_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![text("Harnessed."), text("Harnessed.")];
    let stage = stage_of(version, vec![(AFTER_CRASH, vec![text("Of what?")]), (PROMPT, answers)]);
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    let gone = shop.until(&task, TaskState::Working).await.unwrap();
    let file = stage.until_held(&gone.thread.unwrap(), PROMPT).await.unwrap();
    shop.close().await.unwrap();
    kill_keeper(&stage, gone.keeper.as_deref().unwrap());
    let lines = std::fs::read_to_string(&file).unwrap();
    let kept: String =
        lines.lines().take_while(|line| !line.contains(PROMPT)).flat_map(|it| [it, "\n"]).collect();
    assert!(!kept.is_empty());
    std::fs::write(&file, kept).unwrap();
    stage.model().release_answers();

    let shop = Workshop::open(&stage).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), stage.model().requests_seen()), (Some("Harnessed."), 2));
    let last = stage.model().requests().pop().unwrap().json().to_string();
    assert_eq!((last.matches(PROMPT).count(), last.matches(AFTER_CRASH).count()), (1, 0));
    // The receipt names the turn that has it; our word to go on was not needed.
    let turn = ended.last_result.unwrap().turn;
    let intents = shop.intents(&task).await.unwrap();
    let states: Vec<&IntentState> = intents.iter().map(|(_, state)| state).collect();
    let taken = IntentState::Done { receipt: Receipt::Taken { turn } };
    let needless = IntentState::NotDone { why: NotDone::Needless };
    assert_eq!(states, [&taken, &needless]);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

/// An image stands in the file between words of Codex's own, and a mention without any.
#[rstest]
#[tokio::test]
async fn an_input_that_is_more_than_words_is_not_given_twice(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values("images", "images and words", "a mention")] what: &str,
) {
    let answers = ["Done.", "Never.", "Given twice."].map(text).to_vec();
    let conversations = vec![(AFTER_CRASH, vec![text("Went on.")]), (PROMPT, answers)];
    let stage = stage_of(version, conversations);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let file = stage.workspace().join("horse.png");
    std::fs::write(&file, DOT).unwrap();
    let file = file.display().to_string();
    let images = [file.as_str(), "/nowhere/cat.png"].map(|path| Part::ImageFile(path.to_owned()));
    let parts = match what {
        "images" => images.to_vec(),
        "a mention" => vec![Part::Mention { name: "horse".to_owned(), path: file }],
        _ => images.into_iter().chain([Part::Text(NEXT.to_owned())]).collect(),
    };

    stage.model().hold_answers();
    let input = Input::message(parts);
    shop.engine.send(&task, input, IfBusy::Queue, "test", None).await.unwrap();
    shop.until_requests(&stage, 2).await.unwrap();
    let working = shop.until(&task, TaskState::Working).await.unwrap();
    // What clients are told comes last into the file, and once for each prompt, in the words of its version.
    let both = |text: &str| {
        ["\"user_message\"", "\"UserMessage\""].iter().any(|it| text.matches(it).count() == 2)
    };
    stage.until_file(&working.thread.unwrap(), both).await.unwrap();
    shop.kill_codex(&stage, &task).await.unwrap();
    shop.until_that(&task, |task| task.state != TaskState::Working).await.unwrap();
    stage.model().release_answers();

    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), stage.model().requests_seen()), (Some("Went on."), 3));
    shop.close().await.unwrap();
}

fn kill_keeper(stage: &Stage, keeper: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let found = ostler_codex::keeper::find(&stage.start_keeper().unwrap().root, keeper).unwrap();
    let record = found.record.unwrap();
    let pid = record.codex.unwrap().pid;
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}
