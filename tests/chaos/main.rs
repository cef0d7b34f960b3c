//! Real daemons that are killed, or whose disk is full. Nothing may be lost, nothing done twice, nothing left behind.
//! `scripts/chaos` runs a longer storm by hand.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a failure is found again by its seed, which comes in by a variable"
)]

mod check;
mod codex;
mod daemon;
mod fault;
mod full_disk;
mod killer;
mod leaving;
mod people;
mod random;
mod role;
mod runtime_folder;
mod submit;

use std::time::Duration;

use ostler_scripted_model::{Pace, ProviderLimits, Script};
use ostler_testkit::Stage;
use tokio::time::timeout;

use codex::CodexPackage;
use daemon::Daemon;
use fault::Fault;
use killer::Killer;
use people::People;
use random::Random;
use role::conversation;

/// The same for everybody, so that whoever changes something else has the storm of the day before. `scripts/chaos` has others.
const SEED: u64 = 20_261_118;

/// Those of the test command; `scripts/chaos` has all.
const FAULTS: &str = "kill-daemon,kill-keeper,kill-app-server";

/// Of one step: somebody is killed, or a task goes on. The whole of it takes about a minute on two quiet cores.
const DEADLINE: Duration = Duration::from_secs(300);

/// Codex gives a model up after a second or two, so that some outages are longer than its patience and some are not.
const LIMITS: ProviderLimits = ProviderLimits {
    request_max_retries: 1,
    stream_max_retries: 2,
    stream_idle_timeout_ms: 300_000,
};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The word that names a task in its prompt, its commands and its files.
fn name(task: u64) -> String {
    format!("horse-{task:03}")
}

/// Ends when nothing has happened for too long.
async fn standstill(daemon: &Daemon) {
    let mut progress = daemon.progress.subscribe();
    while let Ok(Ok(())) = timeout(DEADLINE, progress.changed()).await {}
}

/// Thirty tasks on real Codex, which are answered, refused, steered, stopped, given more and work for goals, while the daemon,
/// keepers and app-servers are killed at random.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_anything_is_killed() {
    let tasks = number("OSTLER_CHAOS_TASKS", 30);
    let kills = number("OSTLER_CHAOS_KILLS", 40);
    let seed = number("OSTLER_CHAOS_SEED", SEED);
    let version = std::env::var("OSTLER_CHAOS_CODEX").unwrap_or_else(|_| "0.166.0".to_owned());
    let faults = std::env::var("OSTLER_CHAOS_FAULTS").unwrap_or_else(|_| FAULTS.to_owned());
    let faults = Fault::list(&faults).unwrap();
    println!("{tasks} tasks, {kills} faults, Codex {version}; again with OSTLER_CHAOS_SEED={seed}");

    let script = Script {
        conversations: (0..tasks).map(conversation).collect(),
        pace: Pace { before_first_delta_ms: 50, between_deltas_ms: 10, ..Pace::default() },
        ..Script::default()
    };
    let program = env!("CARGO_BIN_EXE_ostler");
    let scratch = env!("CARGO_TARGET_TMPDIR");
    let stage = Stage::set_with_limits(program, scratch, &version, script, &LIMITS).unwrap();
    // Without that Codex asks the model without its login.
    stage.configure(|text| text + "requires_openai_auth = true\n").unwrap();
    killer::log_in(&stage, "sk-0");
    let codex = CodexPackage::install(&stage.state().with_file_name("npm"), &version);
    let daemon = Daemon::with_codex(&stage, program, &codex.path());
    daemon.start().await;

    let mut people = People::new(&daemon, &stage, tasks, kills);
    let random = Random::new(seed);
    let mut killer = Killer::new(&daemon, &stage, codex, random, faults.clone(), kills);
    let all = async { tokio::join!(people.work(), killer.work()) };
    let has_finished = tokio::select! {
        _ = all => true,
        () = standstill(&daemon) => false,
    };
    if !has_finished {
        daemon.describe().await;
        println!("people are done: {:?}; {}", people.is_done().await, killer.describe());
    }
    assert!(has_finished, "not all tasks came to their end; seed {seed}");
    println!("faults: {}", killer.summary());

    let felt = check::tasks(&daemon, &stage, &people).await;
    check::faults_were_felt(&faults, killer.versions(), &felt);
    daemon.end().await;
    check::nothing_left(&daemon, &stage);
}
