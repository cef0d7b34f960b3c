//! Starting a keeper, from the side of whoever wants one.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::environment::{EnvironmentRule, codex_environment};
use super::error::KeeperError;
use super::folder::{KeeperFolder, usable};
use super::git_calls;
use super::list::judge;
use super::log;
use super::process::{Here, ProcessIdentity, ProcessTable};
use super::record::{Record, SCHEMA, State};
use super::redact::redact;
use super::scope::Scope;
use super::stop::{StopMode, stop};
use super::sweep::{REMAINS_FOR, remove_folder, sweep};
use super::tree;
use crate::secrets::SHORTEST_KNOWN_BYTES;

/// Between two looks whether codex listens; codex needs about 100 ms, so this adds a tenth at most.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The first stage only starts a process and ends; a service manager that needs longer than this is not well.
const FIRST_STAGE_DEADLINE: Duration = Duration::from_secs(10);

/// From the start of a process to its becoming the keeper are milliseconds; the rest is for a busy machine.
const STRAGGLER_PATIENCE: Duration = Duration::from_secs(10);

/// About 40 lines of codex's log: enough to see why it ended, and still readable in an error.
const LAST_WORDS_BYTES: u64 = 4096;

/// Everything a keeper is started with. The environment is data: all of the starter's, not yet filtered.
#[derive(Debug, Clone)]
pub struct StartKeeper {
    /// The folder that holds one folder per keeper.
    pub root: PathBuf,
    /// Our own binary, which knows `keeper detach` and `keeper run`.
    pub program: PathBuf,
    pub codex: PathBuf,
    pub codex_version: Option<String>,
    pub environment: Vec<(OsString, OsString)>,
    pub environment_rule: EnvironmentRule,
    /// What it is started for, in a word of the starter's.
    pub purpose: Option<String>,
    /// After `codex app-server`, e.g. `-c key=value`. Every user of the machine can read them: never a secret.
    pub extra_arguments: Vec<String>,
    /// How many files Codex, and each command of it, may have open. Lowered to what the system allows; without it the
    /// starter's own limit holds.
    pub open_files: Option<u64>,
    /// How long codex may take until it listens.
    pub ready_deadline: Duration,
}

/// The end of what Codex wrote to its log, without secrets.
pub fn last_words(folder: &KeeperFolder, environment: &[(OsString, OsString)]) -> String {
    redact(&log::tail(&folder.codex_log(), LAST_WORDS_BYTES), environment)
}

/// How long Codex's log is.
pub fn words_so_far(folder: &KeeperFolder) -> Option<u64> {
    fs::metadata(folder.codex_log()).ok().map(|metadata| metadata.len())
}

/// The end of what Codex wrote to its log since it was so long, without secrets. A log that is shorter was begun anew.
pub fn last_words_since(
    folder: &KeeperFolder,
    mark: u64,
    environment: &[(OsString, OsString)],
) -> String {
    let length = words_so_far(folder).unwrap_or(0);
    let since = length.checked_sub(mark).unwrap_or(length).min(LAST_WORDS_BYTES);
    match since {
        0 => String::new(),
        since => redact(&log::tail(&folder.codex_log(), since), environment),
    }
}

/// Starts a keeper and waits until its codex accepts connections.
///
/// After an error nothing runs and no folder is left. If this future is dropped half-way, the keeper lives on and
/// [`list`](super::list()) finds it.
pub async fn start(request: StartKeeper) -> Result<Record, KeeperError> {
    runnable(&request.codex)?;
    if let Some(home) = &request.environment_rule.codex_home {
        usable(home)?;
    }
    // Commands that use no daemon start keepers too, and nobody else removes what they leave when they fail.
    let root = request.root.clone();
    let swept = spawn_blocking(move || sweep(&root, REMAINS_FOR, Timestamp::now()));
    let folder = KeeperFolder::create(&request.root)?;
    let mut built = codex_environment(&request.environment, &request.environment_rule, folder.id());
    git_calls::tame(&mut built.variables, request.codex_version.as_deref());
    let programs = folder.programs();
    let wrapped = git_calls::wrap(&mut built.variables, &programs);
    let outcome = match wrapped.map_err(KeeperError::file("write", &programs)) {
        Ok(()) => launch(&request, &folder, &built.variables, &built.stripped).await,
        Err(error) => Err(error),
    };
    if outcome.is_err() {
        clean_up(folder).await?;
    }
    if let Ok(Err(error)) = swept.await {
        tracing::warn!(%error, "cannot remove the folders of keepers that ended long ago");
    }
    outcome
}

async fn launch(
    request: &StartKeeper,
    folder: &KeeperFolder,
    variables: &[(OsString, OsString)],
    withheld: &[OsString],
) -> Result<Record, KeeperError> {
    let deadline = Instant::now() + request.ready_deadline;
    let scope = Scope::find(variables, folder.id());
    let mut record = first_record(request, folder, variables, withheld)?;
    record.scope = scope.as_ref().map(|scope| scope.unit.clone());
    record.write(folder)?;
    let pid = match (first_stage(request, folder, variables, scope.as_ref()).await, &scope) {
        (Err(KeeperError::KeeperFailed { reason, said }), Some(scope)) => {
            match keeper_in_spite_of_failure(folder, &record).await? {
                Some(keeper) => keeper.pid,
                None => {
                    let note = format!("not started as {}: {reason} {said}", scope.unit);
                    record.notes.push(shown(request, &note, variables));
                    record.scope = None;
                    record.write(folder)?;
                    first_stage(request, folder, variables, None).await?
                }
            }
        }
        (result, _) => result?,
    };
    wait_until_ready(request, folder, variables, pid, deadline).await
}

fn first_record(
    request: &StartKeeper,
    folder: &KeeperFolder,
    variables: &[(OsString, OsString)],
    withheld: &[OsString],
) -> Result<Record, KeeperError> {
    let own_pid = i32::try_from(std::process::id()).ok();
    let started_by = own_pid.and_then(ProcessIdentity::of).ok_or_else(|| {
        KeeperError::system("read /proc of this process")(std::io::ErrorKind::NotFound.into())
    })?;
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let mut homes = variables.iter().filter(|(name, _)| name == "CODEX_HOME");
    let withheld = withheld.iter().map(|name| name.to_string_lossy().into_owned());
    Ok(Record {
        schema: SCHEMA,
        id: folder.id().clone(),
        state: State::Starting,
        boot_id: here.boot_id,
        pid_namespace: Some(here.pid_namespace),
        started_at: Timestamp::now(),
        started_by,
        codex_path: request.codex.clone(),
        codex_version: request.codex_version.clone(),
        codex_home: homes.next().map(|(_, home)| PathBuf::from(home)),
        purpose: request.purpose.clone(),
        extra_arguments: request.extra_arguments.clone(),
        withheld_variables: withheld.collect(),
        given_variables: request.environment_rule.given.names().map(str::to_owned).collect(),
        open_files: request.open_files,
        keeper: None,
        codex: None,
        control_group: None,
        scope: None,
        ended: None,
        notes: Vec::new(),
    })
}

/// Runs the first stage to its end and gives the pid of the keeper that it has started.
async fn first_stage(
    request: &StartKeeper,
    folder: &KeeperFolder,
    variables: &[(OsString, OsString)],
    scope: Option<&Scope>,
) -> Result<i32, KeeperError> {
    let mut command = match scope {
        Some(scope) => {
            let mut command = Command::new(scope.program());
            command.args(scope.arguments()).arg(&request.program);
            command
        }
        None => Command::new(&request.program),
    };
    let words = folder.keeper_log();
    let words = log::open_private(&words).map_err(KeeperError::file("open", &words))?;
    command
        .args(["keeper", "detach", "--dir"])
        .arg(folder.path())
        .env_clear()
        .envs(variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(words)
        .kill_on_drop(true);
    let failed = |reason: String| KeeperError::KeeperFailed {
        reason,
        said: shown(request, &log::tail(&folder.keeper_log(), LAST_WORDS_BYTES), variables),
    };
    let mut child = command.spawn().map_err(KeeperError::file("start", &request.program))?;
    let talk = async {
        let mut answer = String::new();
        if let Some(stdout) = child.stdout.take() {
            // The answer is one pid; a program that is not ours may say anything.
            stdout.take(64).read_to_string(&mut answer).await?;
        }
        let status = child.wait().await?;
        std::io::Result::Ok((answer, status))
    };
    let Ok(talked) = timeout(FIRST_STAGE_DEADLINE, talk).await else {
        // Once it is surely dead, it cannot start anything any more.
        child.kill().await.map_err(KeeperError::system("end the keeper's first stage"))?;
        return Err(failed("its first stage took too long".to_owned()));
    };
    let (answer, status) =
        talked.map_err(KeeperError::system("talk to the keeper's first stage"))?;
    let pid = answer.trim().parse().ok().filter(|_| status.success());
    pid.ok_or_else(|| failed(format!("its first stage ended with {status}")))
}

/// The keeper that a failed first stage has brought up all the same, e.g. because its answer came too late.
///
/// None: nothing of that stage runs any more, and the folder is free for another one.
async fn keeper_in_spite_of_failure(
    folder: &KeeperFolder,
    record: &Record,
) -> Result<Option<ProcessIdentity>, KeeperError> {
    let deadline = Instant::now() + STRAGGLER_PATIENCE;
    loop {
        if folder.is_asked_to_end() {
            return Err(KeeperError::stopped_while_starting());
        }
        let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
        if let Some(keeper) = tree::keeper_without_record(folder, &table) {
            return Ok(Some(keeper));
        }
        // Whatever the stage has started carries the mark, also before it has become the keeper.
        if table.marked(folder.id()).is_empty() {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep(LOOK_AGAIN).await;
    }
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let (_, left) = tree::end(folder.id(), Some(record), &here)
        .await
        .map_err(KeeperError::system("read the process table"))?;
    if left.is_empty() {
        return Ok(None);
    }
    let pids = left.iter().map(|process| process.identity.pid).collect();
    Err(KeeperError::LeftOver { id: folder.id().clone(), pids })
}

async fn wait_until_ready(
    request: &StartKeeper,
    folder: &KeeperFolder,
    variables: &[(OsString, OsString)],
    keeper_pid: i32,
    deadline: Instant,
) -> Result<Record, KeeperError> {
    let keeper = ProcessIdentity::of(keeper_pid);
    let last_words = |path: &Path| shown(request, &log::tail(path, LAST_WORDS_BYTES), variables);
    let path = request.codex.clone();
    loop {
        // In this order: what a dead keeper has written before its death is then in the record.
        let keeper_alive = keeper.is_some_and(ProcessIdentity::is_alive);
        let record = Record::read(folder)?;
        if let Some(ended) = &record.ended {
            // The last of codex's output is in the log once the keeper has ended.
            if keeper_alive && Instant::now() < deadline {
                sleep(LOOK_AGAIN).await;
                continue;
            }
            let exit = ended.exit;
            if let Some(reason) = record.notes.last().filter(|_| record.codex.is_none()) {
                let reason = reason.clone();
                return Err(KeeperError::NotRunnable { path, reason });
            }
            let said = last_words(&folder.codex_log());
            return Err(KeeperError::CodexEnded { path, exit, said });
        }
        if !keeper_alive {
            let reason = "it ended without a word in its record".to_owned();
            let said = last_words(&folder.keeper_log());
            return Err(KeeperError::KeeperFailed { reason, said });
        }
        // Before the keeper has hidden the socket behind a link, nobody of ours may connect: it would be taken for a stranger.
        // Codex writes one warning into its log for a connection that says nothing.
        let is_ready = record.state == State::Running && folder.is_hidden();
        if is_ready && UnixStream::connect(folder.socket()).await.is_ok() {
            return Ok(record);
        }
        if Instant::now() >= deadline {
            let deadline = request.ready_deadline;
            let said = last_words(&folder.codex_log());
            return Err(KeeperError::NotReady { path, deadline, said });
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Without secrets, also those that are given under names that do not tell.
fn shown(request: &StartKeeper, said: &str, variables: &[(OsString, OsString)]) -> String {
    let given = &request.environment_rule.given;
    let mut said = redact(said, variables);
    for (name, value) in variables.iter().filter(|(name, _)| given.has(name)) {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && value.len() >= SHORTEST_KNOWN_BYTES
        {
            said = said.replace(value, &format!("[{name}]"));
        }
    }
    said
}

/// Ends whatever a failed start has left, then removes its folder.
async fn clean_up(folder: KeeperFolder) -> Result<(), KeeperError> {
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let path = folder.path().to_owned();
    stop(&judge(folder, &table, &here), StopMode::Now).await?;
    remove_folder(&path)
}

fn runnable(path: &Path) -> Result<(), KeeperError> {
    usable(path)?;
    let reason = match fs::metadata(path) {
        Err(error) => error.to_string(),
        Ok(found) if !found.is_file() => "it is not a file".to_owned(),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => "it is not executable".to_owned(),
        Ok(_) => return Ok(()),
    };
    let path = path.to_owned();
    Err(KeeperError::NotRunnable { path, reason })
}
