//! The app-servers that tasks share: how many, of which version, on which home, and what becomes of them.

use std::path::Path;
use std::time::Duration;

use ostler_codex::binary::{Environment, Settings};
use ostler_codex::keeper::{self, Condition, Found};
use ostler_engine::{Binaries, EngineSettings};
use ostler_model::task::{Approval, Awaited, Cause};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, FailureClass, Input, TaskSettings, TaskState};
use ostler_scripted_model::Answer;
use ostler_testkit::{Stage, Workshop, codex_cache};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::{LEAVES_A_LINE, command, stage_of, text};

/// Whatever is awaited here takes a second; the tests share two cores.
const DEADLINE: Duration = Duration::from_secs(60);

const FIRST: &str = "feed the mare";
const SECOND: &str = "water the foal";

/// Two prompts: the first one's command needs a yes.
fn two(version: &str) -> Stage {
    let asks: Vec<Answer> = vec![command(LEAVES_A_LINE), text("Fed.")];
    stage_of(
        version,
        vec![(FIRST, asks), (SECOND, vec![text("Watered.")]), ("go on", vec![text("On.")])],
    )
}

fn untrusted(settings: &mut TaskSettings) {
    settings.approval = Approval::Untrusted;
}

fn found(stage: &Stage) -> Vec<Found> {
    keeper::list(&stage.start_keeper().unwrap().root).unwrap()
}

fn codex_pid(stage: &Stage, keeper: &str) -> i32 {
    let found = keeper::find(&stage.start_keeper().unwrap().root, keeper).unwrap();
    found.record.unwrap().codex.unwrap().pid
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// All versions are at hand, and threads are closed as soon as they rest.
fn any_version(stage: &Stage, settings: &mut EngineSettings) {
    let cache = codex_cache(&["0.142.5", "0.166.0"]).unwrap();
    let environment = Environment::new(stage.start_keeper().unwrap().environment);
    let path = Some(stage.codex_path().to_owned());
    settings.pool.binaries = Binaries::new(Settings { path, version: None }, cache, environment);
    settings.idle_thread = Duration::ZERO;
}

async fn rows(shop: &Workshop) -> Vec<String> {
    let rows = shop.engine.store().app_servers().await.unwrap();
    let mut keepers: Vec<String> = rows.into_iter().map(|row| row.keeper).collect();
    keepers.sort();
    keepers
}

fn keepers(shop: &Workshop) -> Vec<String> {
    let mut keepers: Vec<String> =
        shop.engine.app_servers().into_iter().filter_map(|server| server.keeper).collect();
    keepers.sort();
    keepers
}

#[rstest]
#[tokio::test]
async fn a_full_app_server_takes_no_further_thread(#[values("0.130.0", "0.166.0")] version: &str) {
    let stage = two(version);
    let shop = Workshop::open_with(&stage, |settings| settings.pool.threads_per_server = 1).await;
    let shop = shop.unwrap();
    let first = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    let ask = shop.ask(&first).await.unwrap();
    let second = shop.start(&stage, SECOND).await.unwrap();
    shop.until(&second, TaskState::Completed).await.unwrap();

    let threads: Vec<usize> =
        shop.engine.app_servers().iter().map(|server| server.threads).collect();
    assert_eq!(threads, [1, 1]);
    until("the store knows both", async || rows(&shop).await == keepers(&shop)).await;
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&first, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn an_app_server_that_takes_too_much_memory_is_replaced_when_its_threads_are_closed() {
    let stage = two("0.166.0");
    let greedy = |settings: &mut EngineSettings| {
        settings.pool.memory_per_server = Some(1);
        settings.idle_thread = Duration::ZERO;
    };
    let shop = Workshop::open_with(&stage, greedy).await.unwrap();
    let first = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    let ask = shop.ask(&first).await.unwrap();
    until("it is full", async || shop.engine.app_servers().iter().any(|server| server.is_full))
        .await;
    let full = keepers(&shop);
    let second = shop.start(&stage, SECOND).await.unwrap();
    let second = shop.until(&second, TaskState::Completed).await.unwrap();
    assert_ne!(second.keeper, full.first().cloned());

    shop.answer(&ask, Decision::Once).await.unwrap();
    let first = shop.until(&first, TaskState::Completed).await.unwrap();
    assert_eq!(first.keeper, full.first().cloned());
    let is_gone = async || !found(&stage).iter().any(|found| full[0] == found.id().as_str());
    until("nothing is left of it", is_gone).await;
    shop.close().await.unwrap();
}

#[tokio::test]
async fn the_limit_of_open_files_is_codex_s_own() {
    let stage = two("0.166.0");
    let limit = |settings: &mut EngineSettings| settings.pool.open_files_per_server = Some(777);
    let shop = Workshop::open_with(&stage, limit).await.unwrap();
    let task = shop.start(&stage, SECOND).await.unwrap();
    let task = shop.until(&task, TaskState::Completed).await.unwrap();
    let pid = codex_pid(&stage, &task.keeper.unwrap());
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(line.split_whitespace().nth(3), Some("777"), "{line}");
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn an_isolated_task_stays_alone_over_a_restart(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = two(version);
    let shop = Workshop::open(&stage).await.unwrap();
    let isolated = |settings: &mut TaskSettings| {
        untrusted(settings);
        settings.isolate = true;
    };
    let alone = shop.start_with(&stage, FIRST, isolated).await.unwrap();
    shop.ask(&alone).await.unwrap();
    let keeper = shop.task(&alone).await.unwrap().keeper;
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    let other = shop.start(&stage, SECOND).await.unwrap();
    let other = shop.until(&other, TaskState::Completed).await.unwrap();
    assert_ne!(other.keeper, keeper);
    let ask = shop.ask(&alone).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    let ended = shop.until(&alone, TaskState::Completed).await.unwrap();
    assert_eq!(ended.keeper, keeper);
    let only_for: Vec<_> =
        shop.engine.app_servers().into_iter().filter_map(|server| server.isolated_for).collect();
    assert_eq!(only_for, [alone]);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_newer_codex_waits_for_the_home_and_an_older_one_is_refused_from_then_on() {
    let stage = two("0.142.5");
    let link = stage.state().with_file_name("another-name-of-the-home");
    std::os::unix::fs::symlink(stage.codex_home(), &link).unwrap();
    let newer = |settings: &mut TaskSettings| {
        settings.codex.version = Some("0.166.0".to_owned());
        settings.codex.home = Some(link.display().to_string());
    };
    let shop = Workshop::open_with(&stage, |settings| any_version(&stage, settings)).await.unwrap();
    let old = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    let ask = shop.ask(&old).await.unwrap();
    let new = shop.start_with(&stage, SECOND, newer).await.unwrap();
    shop.until(&new, TaskState::Starting).await.unwrap();
    let versions = |shop: &Workshop| -> Vec<String> {
        shop.engine.app_servers().into_iter().map(|server| server.codex_version).collect()
    };
    assert_eq!(versions(&shop), ["0.142.5"]);

    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&old, TaskState::Completed).await.unwrap();
    let new = shop.until(&new, TaskState::Completed).await.unwrap();
    assert_eq!(new.codex_version.as_deref(), Some("0.166.0"));
    assert_eq!(versions(&shop), ["0.166.0"]);
    let home = stage.codex_home().canonicalize().unwrap().display().to_string();
    let pin = shop.engine.store().home_pin(&home).await.unwrap();
    assert_eq!(pin.as_deref(), Some("0.166.0"));

    let older = |settings: &mut TaskSettings| settings.codex.version = Some("0.142.5".to_owned());
    let refused = shop.start_with(&stage, SECOND, older).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "the Codex home {home} was used with Codex 0.166.0, and the older Codex 0.142.5 may destroy what is in it; \
             use Codex 0.166.0 or a newer one, or another home"
        )
    );
    // The old task goes on, in the newer Codex.
    let more = Input::text("go on");
    shop.engine.send(&old, more, IfBusy::Queue, "test", None).await.unwrap();
    let went_on = |task: &ostler_model::Task| task.codex_version.as_deref() == Some("0.166.0");
    shop.until_that(&old, |task| went_on(task) && task.state == TaskState::Completed)
        .await
        .unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_task_that_waits_for_a_home_for_too_long_says_so() {
    let stage = two("0.142.5");
    let impatient = |settings: &mut EngineSettings| {
        any_version(&stage, settings);
        settings.pool.waits.home = Duration::from_millis(300);
    };
    let shop = Workshop::open_with(&stage, impatient).await.unwrap();
    let old = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    shop.ask(&old).await.unwrap();
    let newer = |settings: &mut TaskSettings| settings.codex.version = Some("0.166.0".to_owned());
    let new = shop.start_with(&stage, SECOND, newer).await.unwrap();

    let waits = shop.until(&new, TaskState::Parked).await.unwrap();

    let Cause::Waiting { on: Awaited::AppServer, failure, .. } = waits.cause else {
        panic!("{:?}", waits.cause)
    };
    assert_eq!(failure.class, FailureClass::Busy);
    assert!(failure.message.contains("(0.142.5) is at work"), "{}", failure.message);
    assert_eq!(shop.task(&old).await.unwrap().state, TaskState::WaitingForApproval);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_keeper_of_a_daemon_that_wrote_nothing_down_is_found_and_ended_when_idle() {
    let stage = two("0.166.0");
    let mut start = stage.start_keeper().unwrap();
    start.codex_version = Some("0.166.0".to_owned());
    start.purpose = Some("tasks 0123456789abcdef".to_owned());
    let left = keeper::start(start).await.unwrap();
    let brief = |settings: &mut EngineSettings| settings.pool.idle_server = Duration::from_secs(1);
    let shop = Workshop::open_with(&stage, brief).await.unwrap();

    until("it is ended", async || found(&stage).is_empty()).await;

    assert!(!left.codex.unwrap().is_alive() && !left.keeper.unwrap().is_alive());
    until("the store forgot it", async || rows(&shop).await.is_empty()).await;
    shop.close().await.unwrap();
}

#[tokio::test]
async fn codex_without_its_keeper_is_used_on_and_ended_with_all_of_its_tree() {
    let stage = two("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    shop.ask(&task).await.unwrap();
    let keeper = shop.task(&task).await.unwrap().keeper.unwrap();
    shop.close().await.unwrap();
    let record = found(&stage)[0].record.clone().unwrap();
    signal(record.keeper.unwrap().pid, Signal::KILL);
    until("the keeper is dead", async || found(&stage)[0].condition == Condition::KeeperDead).await;

    let brief = |settings: &mut EngineSettings| {
        settings.idle_thread = Duration::ZERO;
        settings.pool.idle_server = Duration::from_secs(1);
    };
    let shop = Workshop::open_with(&stage, brief).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(ended.keeper, Some(keeper));
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    until("it is ended", async || found(&stage).is_empty()).await;
    assert!(!record.codex.unwrap().is_alive());
    shop.close().await.unwrap();
}

/// Where Codex does not hide its socket, the keeper does, and the way to it is gone with the keeper.
#[tokio::test]
async fn codex_that_is_out_of_reach_without_its_keeper_is_ended_and_its_task_goes_on() {
    let stage = two("0.130.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    shop.ask(&task).await.unwrap();
    shop.close().await.unwrap();
    let record = found(&stage)[0].record.clone().unwrap();
    signal(record.keeper.unwrap().pid, Signal::KILL);
    until("the keeper is dead", async || found(&stage)[0].condition == Condition::KeeperDead).await;

    let shop = Workshop::open(&stage).await.unwrap();
    let ended = async || {
        for ask in shop.engine.store().undecided_asks_of(&task).await.unwrap() {
            drop(shop.answer(&ask, Decision::Once).await);
        }
        shop.task(&task).await.unwrap().state.is_over()
    };
    until("the task goes on", ended).await;
    let ended = shop.task(&task).await.unwrap();
    assert_eq!(ended.state, TaskState::Completed);
    assert_ne!(ended.keeper.as_deref(), Some(record.id.as_str()));
    assert!(!record.codex.unwrap().is_alive());
    shop.close().await.unwrap();
}

#[tokio::test]
async fn an_app_server_that_hangs_keeps_only_its_own_tasks_waiting() {
    let stage = two("0.166.0");
    let shop = Workshop::open(&stage).await.unwrap();
    let stuck = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    shop.ask(&stuck).await.unwrap();
    let keeper = shop.task(&stuck).await.unwrap().keeper.unwrap();
    shop.close().await.unwrap();
    signal(codex_pid(&stage, &keeper), Signal::STOP);

    let waits = |adoption: Duration| {
        move |settings: &mut EngineSettings| settings.pool.waits.adoption = adoption
    };
    let shop = Workshop::open_with(&stage, waits(Duration::from_mins(10))).await.unwrap();
    let isolated = |settings: &mut TaskSettings| settings.isolate = true;
    let other = shop.start_with(&stage, SECOND, isolated).await.unwrap();
    shop.until(&other, TaskState::Completed).await.unwrap();
    let hangs = |found: &Found| found.id().as_str() == keeper;
    assert!(found(&stage).iter().any(hangs), "the other task did not wait for the hanging one");
    shop.close().await.unwrap();
    let shop = Workshop::open_with(&stage, waits(Duration::from_secs(1))).await.unwrap();
    until("it is ended", async || !found(&stage).iter().any(hangs)).await;
    // The turn was lost with it; Codex is told, asks again, and gets its answer in a fresh app-server.
    let ended = async || {
        let asks = shop.engine.store().undecided_asks_of(&stuck).await.unwrap();
        for ask in asks {
            drop(shop.answer(&ask, Decision::Once).await);
        }
        shop.task(&stuck).await.unwrap().state.is_over()
    };
    until("the stuck task goes on", ended).await;
    assert_ne!(shop.task(&stuck).await.unwrap().keeper, Some(keeper.clone()));
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_codex_that_died_at_rest_is_replaced_and_nothing_of_it_is_offered() {
    let stage = two("0.166.0");
    let shop = Workshop::open_with(&stage, |settings| settings.idle_thread = Duration::ZERO).await;
    let shop = shop.unwrap();
    let first = shop.start(&stage, SECOND).await.unwrap();
    let first = shop.until(&first, TaskState::Completed).await.unwrap();
    let dead = first.keeper.unwrap();
    signal(codex_pid(&stage, &dead), Signal::KILL);
    let is_over = |found: &Found| matches!(found.condition, Condition::Ended(_));
    until("it is dead", async || found(&stage).iter().all(is_over)).await;

    let second = shop.start(&stage, SECOND).await.unwrap();
    let second = shop.until(&second, TaskState::Completed).await.unwrap();

    let fresh = second.keeper.unwrap();
    assert_ne!(fresh, dead);
    assert_eq!(keepers(&shop), std::slice::from_ref(&fresh));
    until("the store knows", async || rows(&shop).await == [fresh.clone()]).await;
    shop.close().await.unwrap();
}

/// Not a path that anybody gave: the home that Codex itself names.
#[tokio::test]
async fn a_home_that_nobody_named_is_known_by_what_codex_says() {
    let stage = two("0.166.0");
    let by_default = Path::new(&stage.start_keeper().unwrap().environment[1].1).join(".codex");
    std::os::unix::fs::symlink(stage.codex_home(), &by_default).unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let nobody = |settings: &mut TaskSettings| settings.codex.home = None;
    let task = shop.start_with(&stage, SECOND, nobody).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let named = shop.start(&stage, SECOND).await.unwrap();
    shop.until(&named, TaskState::Completed).await.unwrap();

    let home = stage.codex_home().canonicalize().unwrap().display().to_string();
    let homes: Vec<String> =
        shop.engine.app_servers().into_iter().map(|server| server.codex_home).collect();
    assert_eq!(homes, std::slice::from_ref(&home), "both share one app-server");
    assert!(shop.engine.store().home_pin(&home).await.unwrap().is_some());
    shop.close().await.unwrap();
}

/// Nobody sees the end of an app-server whose keeper is dead, so nothing new begins there.
#[rstest]
#[tokio::test]
async fn an_app_server_without_its_keeper_takes_no_further_thread(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let stage = two(version);
    let shop = Workshop::open_with(&stage, |settings| settings.idle_thread = Duration::ZERO).await;
    let shop = shop.unwrap();
    let first = shop.start_with(&stage, FIRST, untrusted).await.unwrap();
    let ask = shop.ask(&first).await.unwrap();
    let old = shop.task(&first).await.unwrap().keeper.unwrap();
    let codex = codex_pid(&stage, &old);
    let record = keeper::find(&stage.start_keeper().unwrap().root, &old).unwrap().record.unwrap();
    let process = record.keeper.unwrap();
    signal(process.pid, Signal::KILL);
    until("the keeper is dead", async || !process.is_alive()).await;

    let second = shop.start(&stage, SECOND).await.unwrap();
    let watered = shop.until(&second, TaskState::Completed).await.unwrap();
    assert_ne!(watered.keeper, Some(old.clone()));
    // What runs there ends as if nothing had happened.
    shop.answer(&ask, Decision::Once).await.unwrap();
    let fed = shop.until(&first, TaskState::Completed).await.unwrap();
    assert_eq!((fed.keeper, stage.lines("ran.log")), (Some(old), vec!["ran".to_owned()]));
    let is_gone = async || !Path::new(&format!("/proc/{codex}")).exists();
    until("the old app-server is ended", is_gone).await;
    shop.close().await.unwrap();
}
