//! What is missing for the moment is waited for: a Codex that cannot be asked, one that is replaced, a model, a login.

use std::path::Path;
use std::time::{Duration, Instant};

use ostler_codex::binary::{Cache, Environment, Settings};
use ostler_engine::{Binaries, EngineSettings};
use ostler_model::task::{Awaited, Cause};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Event, FailureClass, Task, TaskState};
use ostler_scripted_model::{Answer, Fault, Plays};
use ostler_testkit::{Stage, Workshop, codex_binary};
use rstest::rstest;

use crate::{AFTER_CRASH, LEAVES_A_LINE, PROMPT, answer_of, command, is_taken, stage_of, text};

const AFTER_OUTAGE: &str = "cut off because the model could not be reached";
const AFTER_LOGIN: &str = "cut off because the login was refused";

fn status(status: u16) -> Fault {
    Fault::Status { status, code: None, message: None, retry_after_s: None, body: None }
}

/// The model answers so each time.
fn failing(code: u16) -> Answer {
    Answer { fault: Some(status(code)), plays: Plays::Forever, ..Answer::default() }
}

/// As an upgrade does: the name is another file's from one moment to the next.
fn point(link: &Path, target: &Path) {
    let new = link.with_extension("new");
    std::os::unix::fs::symlink(target, &new).unwrap();
    std::fs::rename(new, link).unwrap();
}

/// Codex is at this path, and none is installed.
fn use_codex(stage: &Stage, settings: &mut EngineSettings, path: &Path) {
    let cache = Cache::new(stage.state().join("none"));
    let environment = Environment::new(stage.start_keeper().unwrap().environment);
    let path = Some(path.to_owned());
    settings.pool.binaries = Binaries::new(Settings { path, version: None }, cache, environment);
    settings.idle_thread = Duration::ZERO;
}

fn waits_on(task: &Task) -> Option<Awaited> {
    match &task.cause {
        Cause::Waiting { on, .. } if !task.state.is_over() => Some(*on),
        _ => None,
    }
}

/// A file that somebody still writes cannot be started: the kernel says `ETXTBSY`.
#[tokio::test]
async fn a_codex_that_cannot_be_asked_for_the_moment_is_waited_for_and_told() {
    let stage = stage_of("0.142.5", vec![(PROMPT, vec![text("Done.")])]);
    let copy = stage.state().with_file_name("codex-copy");
    std::fs::copy(stage.codex_path(), &copy).unwrap();
    let writing = std::fs::OpenOptions::new().append(true).open(&copy).unwrap();
    let shop = Workshop::open_with(&stage, |settings| use_codex(&stage, settings, &copy));
    let shop = shop.await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let waits = shop.until_that(&task, |task| waits_on(task).is_some()).await.unwrap();
    let Cause::Waiting { on: Awaited::AppServer, failure, until: Some(_), .. } = waits.cause else {
        panic!("{waits:?}")
    };
    assert!(failure.message.contains("Text file busy"), "{}", failure.message);
    assert_eq!(waits.state, TaskState::Parked);

    drop(writing);
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Done."));
    assert_eq!(stage.model().requests_seen(), 1);
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

/// The version that a task began with is not kept, and an older one never opens what a newer one made.
#[tokio::test]
async fn a_task_goes_on_with_the_codex_that_is_there_after_an_upgrade() {
    let prompts = vec![
        (PROMPT, vec![text("One.")]),
        ("feed the cat", vec![text("Two.")]),
        ("feed the dog", vec![text("Three.")]),
        ("feed the cow", vec![text("Four.")]),
    ];
    let stage = stage_of("0.142.5", prompts);
    let link = stage.state().with_file_name("codex-in-use");
    point(&link, stage.codex_path());
    let newer = codex_binary("0.166.0").unwrap();
    let shop = Workshop::open_with(&stage, |settings| use_codex(&stage, settings, &link));
    let shop = shop.await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let first = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(first.codex_version.as_deref(), Some("0.142.5"));
    assert_eq!(first.settings.codex.version, None);

    // While its app-server lives a thread goes on there; this one is ended.
    assert!(shop.engine.release(&task).await.unwrap());
    point(&link, &newer);
    shop.send(&task, "feed the cat", IfBusy::Queue).await.unwrap();
    let is_two = |task: &Task| answer_of(task) == Some("Two.") && task.state.is_over();
    let second = shop.until_that(&task, is_two).await.unwrap();
    assert_eq!(second.codex_version.as_deref(), Some("0.166.0"));
    let other = shop.start(&stage, "feed the dog").await.unwrap();
    shop.until(&other, TaskState::Completed).await.unwrap();

    point(&link, stage.codex_path());
    shop.engine.release(&task).await.unwrap();
    shop.engine.release(&other).await.unwrap();
    shop.send(&task, "feed the cow", IfBusy::Queue).await.unwrap();
    let is_waiting_or_over =
        |task: &Task| waits_on(task).is_some() || answer_of(task) == Some("Four.");
    let waits = shop.until_that(&task, is_waiting_or_over).await.unwrap();
    let Cause::Waiting { on: Awaited::Codex, failure, .. } = &waits.cause else {
        panic!("{waits:?}")
    };
    assert_eq!(failure.class, FailureClass::NoCodex);
    assert!(failure.message.contains("was used with Codex 0.166.0"), "{}", failure.message);

    point(&link, &newer);
    let is_four = |task: &Task| answer_of(task) == Some("Four.") && task.state.is_over();
    let last = shop.until_that(&task, is_four).await.unwrap();
    assert_eq!(last.state, TaskState::Completed);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_model_that_fails_is_waited_for_and_the_task_goes_on_once(
    #[values("0.142.5", "0.166.0")] version: &str,
    #[values(true, false)] after_work: bool,
) {
    let mut answers = vec![failing(503)];
    if after_work {
        answers.insert(0, command(LEAVES_A_LINE));
    }
    let stage = stage_of(version, vec![(AFTER_OUTAGE, vec![text("Two.")]), (PROMPT, answers)]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    let Cause::Waiting { on: Awaited::Model, until: Some(until), tries: 1, .. } = parked.cause
    else {
        panic!("{parked:?}")
    };
    assert_eq!((until, parked.wake_at), (parked.updated_at + 10_000, Some(until)));
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!((answer_of(&ended), ended.spent.turns), (Some("Two."), 2));
    let ran: &[&str] = if after_work { &["ran"] } else { &[] };
    assert_eq!(stage.lines("ran.log"), ran);
    let taken = shop.intents(&task).await.unwrap();
    assert_eq!(taken.len(), 2, "the prompt and one word to go on: {taken:?}");
    assert!(taken.iter().all(|(_, state)| is_taken(state)), "{taken:?}");
    shop.close().await.unwrap();
}

/// However the model is away, also for a task that has done nothing yet. From 0.166.0 on, Codex waits for the network itself, for minutes.
#[rstest]
#[case::internal_error("0.169.0", status(500))]
#[case::bad_gateway("0.169.0", status(502))]
#[case::overloaded("0.169.0", status(529))]
#[case::no_network("0.142.5", Fault::Refuse { for_ms: None })]
#[tokio::test]
async fn every_kind_of_outage_is_waited_for(#[case] version: &str, #[case] fault: Fault) {
    let away = Answer { fault: Some(fault), plays: Plays::Forever, ..Answer::default() };
    let stage = stage_of(version, vec![(AFTER_OUTAGE, vec![text("Two.")]), (PROMPT, vec![away])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let parked = shop.until(&task, TaskState::Parked).await.unwrap();
    assert_eq!(waits_on(&parked), Some(Awaited::Model), "{parked:?}");
    stage.model().accept_connections().await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Two."));
    shop.close().await.unwrap();
}

/// No other task comes that could meet the new login, whether the daemon is the same or another one.
#[rstest]
#[tokio::test]
async fn a_task_that_waits_alone_goes_on_when_somebody_has_logged_in(
    #[values(false, true)] after_a_restart: bool,
) {
    let prompts = vec![(AFTER_LOGIN, vec![text("Two.")]), (PROMPT, vec![failing(401)])];
    let stage = stage_of("0.166.0", prompts);
    let file = stage.codex_home().join("auth.json");
    std::fs::write(&file, r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-old"}"#).unwrap();
    let mut shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.ask(&task).await.unwrap();
    if after_a_restart {
        shop.close().await.unwrap();
        shop = Workshop::open(&stage).await.unwrap();
    }
    std::fs::write(&file, r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-new"}"#).unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Two."));
    shop.close().await.unwrap();
}

/// The app-server keeps the login that it was started with, also for the next daemon: one that is newer was not refused.
#[tokio::test]
async fn a_login_that_came_before_the_old_one_was_refused_is_used_by_the_next_daemon() {
    let prompts = vec![(AFTER_LOGIN, vec![text("Two.")]), (PROMPT, vec![failing(401)])];
    let stage = stage_of("0.166.0", prompts);
    let file = stage.codex_home().join("auth.json");
    std::fs::write(&file, r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-old"}"#).unwrap();
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    std::fs::write(&file, r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-new"}"#).unwrap();
    stage.model().release_answers();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Two."));
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_refused_login_ends_its_app_server_and_another_login_lets_the_task_go_on(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let prompts = vec![
        (AFTER_LOGIN, vec![text("Two.")]),
        ("feed the cat", vec![text("Fed.")]),
        (PROMPT, vec![failing(401)]),
    ];
    let stage = stage_of(version, prompts);
    let log_in = |key: &str| {
        let login = format!(r#"{{"auth_mode":"apikey","OPENAI_API_KEY":"{key}"}}"#);
        std::fs::write(stage.codex_home().join("auth.json"), login).unwrap();
    };
    log_in("sk-old");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let parked = shop.task(&task).await.unwrap();
    assert_eq!(waits_on(&parked), Some(Awaited::Login), "{parked:?}");
    assert_eq!(parked.wake_at, None);
    let home = stage.codex_home().display().to_string();
    let asked = ask.content.kind.summary();
    assert!(asked.contains(&format!("`CODEX_HOME={home} codex login`")), "{asked}");

    // Nothing was ended by hand: whoever comes next meets the new login, and the first one goes on.
    log_in("sk-new");
    let next = shop.start(&stage, "feed the cat").await.unwrap();
    let next = shop.until(&next, TaskState::Completed).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(answer_of(&ended), Some("Two."));
    assert_ne!(next.keeper, parked.keeper);
    assert_ne!(ended.keeper, parked.keeper);
    let servers = shop.engine.app_servers();
    assert!(servers.iter().all(|server| server.keeper != parked.keeper), "{servers:?}");
    shop.close().await.unwrap();
}

/// An app-server that was told to end refuses everything while its last turn runs.
#[rstest]
#[tokio::test]
async fn work_for_an_app_server_that_is_about_to_end_waits_for_the_next_one(
    #[values("0.166.0", "0.169.0")] version: &str,
) {
    const WAITS: &str = "sh -c 'while [ ! -e go ]; do sleep 0.05; done'";
    const LATER: &str = "feed the cat";
    const OTHER: &str = "sweep the yard";
    let stage = stage_of(
        version,
        vec![
            // It may end before it has told the end of its last turn.
            (AFTER_CRASH, vec![text("Done.")]),
            (PROMPT, vec![command(WAITS), text("Done.")]),
            (LATER, vec![text("Fed.")]),
            (OTHER, vec![text("Swept.")]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let idle = shop.start(&stage, OTHER).await.unwrap();
    shop.until(&idle, TaskState::Completed).await.unwrap();
    let busy = shop.start(&stage, PROMPT).await.unwrap();
    let runs_a_command = |event: &Event| matches!(event, Event::Thread { update, .. } if matches!(**update, Update::ItemBegan { ref item, .. } if item.is_tool()));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !shop.log(&busy).await.unwrap().iter().any(runs_a_command) {
        assert!(Instant::now() < deadline, "no command");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    shop.drain_codex(&stage, &busy).await.unwrap();
    shop.send(&idle, OTHER, IfBusy::Queue).await.unwrap();
    let new = shop.start(&stage, LATER).await.unwrap();
    shop.until_that(&new, |task| waits_on(task) == Some(Awaited::AppServer)).await.unwrap();
    std::fs::write(stage.workspace().join("go"), "").unwrap();

    for (task, least, answer) in [(&busy, 1, "Done."), (&new, 1, "Fed."), (&idle, 2, "Swept.")] {
        let ended = shop.until_that(task, |task| task.state.is_over() && task.spent.turns >= least);
        let ended = ended.await.unwrap();
        assert_eq!((ended.state, answer_of(&ended)), (TaskState::Completed, Some(answer)));
    }
    shop.close().await.unwrap();
}
