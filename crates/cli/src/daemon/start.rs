//! Starting the daemon in the background. However many try at once, one daemon runs in the end and all of them find it.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use ostler_codex::keeper::{ProcessIdentity, open_private, tail};
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_server::lock::{self, Held};
use ostler_server::problem::Trouble;
use ostler_server::routes::Health;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use super::{client_settings, refuse_agents};
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::own_program;

/// A daemon answers after some 20 ms, once it has read its store. The one before may take 5 s to end.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// The first stage only starts a process and ends.
const FIRST_STAGE_DEADLINE: Duration = Duration::from_secs(10);

/// From the end of one daemon to the lock of the next one: two processes are started in between.
const BETWEEN_TWO: Duration = Duration::from_secs(2);

/// A process that is woken runs within microseconds, or tens of milliseconds on a machine whose cores are all busy. Whoever must
/// not start a daemon and finds none is told so this much later.
const PASSED_ON_WITHIN: Duration = Duration::from_millis(200);

/// Between two looks whether it answers.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// One may lose the race against a daemon that ends again at once. Two that end are no accident.
const TRIES: u32 = 2;

/// About 20 lines of its log: enough to see why it ended.
const LAST_WORDS_BYTES: u64 = 2048;

/// Of the hidden first stage.
#[derive(Debug, Args)]
pub(crate) struct DetachArguments {
    #[arg(long)]
    successor: bool,
}

/// The daemon that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    /// This call, or another one at the same time, has started it.
    Started(Health),
    RanAlready(Health),
}

/// Starts a daemon unless one runs, and returns when it answers.
pub(crate) async fn start(places: &Places) -> Result<Start, Failure> {
    if let Some(health) = ask(places, START_DEADLINE).await? {
        return Ok(Start::RanAlready(health));
    }
    refuse_agents(places, "start the daemon")?;
    let deadline = Instant::now() + START_DEADLINE;
    let mut tries = 0;
    let mut begun: Option<Begun> = None;
    loop {
        // In this order: a daemon that ended between two looks has then let go of its lock, too.
        let is_alive = begun.as_ref().is_some_and(Begun::is_alive);
        let held = lock::look(&places.daemon_lock())?;
        if let Some(health) = ask(places, deadline.duration_since(Instant::now())).await? {
            return Ok(Start::Started(health));
        }
        match &begun {
            Some(begun) if tries == TRIES && !is_alive && held == Held::Free => {
                return Err(begun.failed("the daemon ended right after its start"));
            }
            _ if !is_alive && held == Held::Free => {
                tries += 1;
                begun = Some(Begun::begin(places, Stage::First).await?);
            }
            _ => {}
        }
        if Instant::now() >= deadline {
            let message = match held {
                Held::By(holder) => {
                    format!("the daemon (pid {}) does not open its door", holder.pid)
                }
                _ => "the daemon does not open its door".to_owned(),
            };
            let failure = Failure::new(Exit::DaemonUnreachable, message);
            return Err(failure.hint("`ostler daemon restart` replaces it"));
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Whether a new daemon expects to be the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    First,
    /// It waits for the one before it to end.
    Successor,
}

/// A daemon that was started and has not yet answered.
#[derive(Debug)]
pub(super) struct Begun {
    process: Option<ProcessIdentity>,
    log: PathBuf,
    words_before: u64,
}

impl Begun {
    pub(super) async fn begin(places: &Places, stage: Stage) -> Result<Self, Failure> {
        let log = places.daemon_log();
        places::private_folder(&places.runtime)?;
        places::private_folder(&places.state)?;
        places::private_folder(log.parent().unwrap_or(&places.state))?;
        let words_before = fs::metadata(&log).map_or(0, |found| found.len());
        let process = ProcessIdentity::of(first_stage(&log, stage).await?);
        Ok(Self { process, log, words_before })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.process.is_some_and(ProcessIdentity::is_alive)
    }

    pub(super) fn is(&self, pid: u32) -> bool {
        self.process.is_some_and(|process| u32::try_from(process.pid) == Ok(pid))
    }

    pub(super) fn identity(&self) -> Option<ProcessIdentity> {
        self.process
    }

    /// With what was written to the log since it began.
    pub(super) fn failed(&self, message: &str) -> Failure {
        let words = words_since(&self.log, self.words_before);
        let failure = Failure::new(Exit::Failed, message);
        if words.is_empty() {
            return failure.hint(format!("its log is {}", self.log.display()));
        }
        failure.hint(format!("it wrote:\n{words}"))
    }
}

/// Whether there is a daemon, be it only for a moment still or not quite yet.
pub(super) fn is_held(places: &Places) -> Result<bool, Failure> {
    let is_free = |path: PathBuf| Ok::<_, Failure>(lock::look(&path)? == Held::Free);
    Ok(!(is_free(places.daemon_lock())? && is_free(places.replacing_lock())?))
}

/// The same, for a lock that is just being passed on: the kernel sets it free and wakes who waits for it, so that whoever looks
/// before that one runs sees it free. Where `ostler daemon restart` passes it on, that is seen by its own lock, however long it takes.
pub(super) async fn is_held_or_passed_on(places: &Places) -> Result<bool, Failure> {
    let until = Instant::now() + PASSED_ON_WITHIN;
    loop {
        if is_held(places)? {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Waits for a daemon that others start.
pub(super) async fn wait(places: &Places, versions: Versions) -> Result<Client, Failure> {
    let deadline = Instant::now() + START_DEADLINE;
    let mut until = Instant::now() + BETWEEN_TWO;
    loop {
        match Client::connect(client_settings(places, versions.clone())?).await {
            Err(ClientError::NotRunning(_)) if Instant::now() < until.min(deadline) => {
                if is_held(places)? {
                    until = Instant::now() + BETWEEN_TWO;
                }
                sleep(LOOK_AGAIN).await;
            }
            connected => return Ok(connected?),
        }
    }
}

/// The first stage: starts the daemon and tells its pid, so that the daemon is nobody's child.
pub(crate) fn detach(places: &Places, arguments: &DetachArguments) -> Result<u32, Failure> {
    // Whoever started us may have left files open that the daemon must not hold.
    close_fds::set_fds_cloexec(3, &[]);
    let failed = |error| cannot_start(&error);
    let words = open_private(&places.daemon_log()).map_err(failed)?;
    let same_words = words.try_clone().map_err(failed)?;
    let child = std::process::Command::new(own_program()?)
        .args(["serve", "--detached"])
        .args(arguments.successor.then_some("--successor"))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(words)
        .stderr(same_words)
        .spawn()
        .map_err(failed)?;
    Ok(child.id())
}

/// What a daemon of any version answers; none if there is none, or one that is about to end.
pub(super) async fn ask(places: &Places, within: Duration) -> Result<Option<Health>, Failure> {
    let settings = client_settings(places, Versions::Any)?;
    let deadline = within.min(settings.deadline).max(LOOK_AGAIN);
    let asked = async {
        let mut client = Client::connect(ClientSettings { deadline, ..settings }).await?;
        client.health().await
    };
    match asked.await {
        Ok(health) => Ok(Some(health)),
        // It ended between the connection and the answer, or is closing.
        Err(ClientError::NotRunning(_) | ClientError::Closed | ClientError::Broken(_)) => Ok(None),
        Err(ClientError::Problem(problem)) if problem.is(Trouble::Closing) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn first_stage(log: &Path, stage: Stage) -> Result<i32, Failure> {
    let words = open_private(log).map_err(|error| cannot_start(&error))?;
    let successor = (stage == Stage::Successor).then_some("--successor");
    let stage = Command::new(own_program()?)
        .args(["daemon", "detach"])
        .args(successor)
        .stdin(Stdio::null())
        .stderr(words)
        .kill_on_drop(true)
        .output();
    let output = timeout(FIRST_STAGE_DEADLINE, stage).await.map_err(|_| {
        Failure::new(Exit::Failed, "cannot start the daemon: its first stage takes too long")
    })?;
    let output = output.map_err(|error| cannot_start(&error))?;
    let pid = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    pid.filter(|_| output.status.success()).ok_or_else(|| {
        let words = tail(log, LAST_WORDS_BYTES);
        Failure::new(Exit::Failed, format!("cannot start the daemon: {}", output.status))
            .hint(words)
    })
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot start the daemon: {error}"))
}

fn words_since(log: &Path, offset: u64) -> String {
    let mut words = String::new();
    let read = fs::File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset))?;
        file.take(LAST_WORDS_BYTES).read_to_string(&mut words)
    });
    // A log that cannot be read has nothing to say.
    if read.is_err() {
        words.clear();
    }
    words.trim().to_owned()
}
