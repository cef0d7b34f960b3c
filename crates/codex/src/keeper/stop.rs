//! Ending a keeper and all of its tree, also when the keeper itself is dead.

use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Signal;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::error::KeeperError;
use super::folder::KeeperId;
use super::group;
use super::list::Found;
use super::process::{Here, Process, ProcessIdentity, ProcessTable};
use super::record::{Ended, Exit, HowEnded, Record, SCHEMA, State};
use super::run::END_NOW_GRACE;
use super::tree::{self, Alive, END_DEADLINE, LOOK_AGAIN};

/// The threads of a killed process need milliseconds to end.
const GROUP_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Codex finishes its running turns and takes none of our time after `deadline`; then it goes on draining.
    Drain { deadline: Duration },
    /// Running turns are cut off.
    Now,
}

/// What was there and is not any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopReport {
    pub id: KeeperId,
    /// How Codex ended, if anybody saw it.
    pub exit: Option<Exit>,
    /// Codex and everything below it.
    pub ended: Vec<Process>,
}

/// Ends the keeper, verifies that nothing of its tree is left, and says what was ended.
pub async fn stop(found: &Found, mode: StopMode) -> Result<StopReport, KeeperError> {
    let id = found.id();
    let here = Here::look().map_err(KeeperError::system("see where we run"))?;
    let table = ProcessTable::read().map_err(KeeperError::system("read the process table"))?;
    // The keeper may have written since `found` was judged; what cannot be read now may have been readable then.
    let record = Record::read(&found.folder).ok().or_else(|| found.record.clone());
    let before = tree::members(id, record.as_ref(), &table, &here);
    let alive = match &record {
        Some(record) => Alive::of(record, &table, &here),
        None => {
            Alive { keeper: tree::keeper_without_record(&found.folder, &table), ..Alive::default() }
        }
    };
    let elsewhere = record.as_ref().is_some_and(|record| record.is_elsewhere(&here));
    let nobody_seen = alive == Alive::default() && before.is_empty();
    if elsewhere || (nobody_seen && found.folder.is_kept()) {
        return Err(KeeperError::elsewhere(found.folder.record()));
    }

    match (alive.keeper, alive.codex, mode) {
        (Some(keeper), _, StopMode::Drain { deadline }) => {
            drain(id, keeper, Some(Signal::TERM), deadline).await?;
        }
        (None, Some(codex), StopMode::Drain { deadline }) => {
            // A keeper that died while it drained has told Codex already.
            let told = record.as_ref().is_some_and(|record| record.state == State::Draining);
            let first = found.folder.ask_to_end()? && !told;
            drain(id, codex, first.then_some(Signal::TERM), deadline).await?;
        }
        (Some(keeper), _, StopMode::Now) => {
            let patience = END_NOW_GRACE + END_DEADLINE;
            if !ask_and_wait(keeper, Some(Signal::INT), patience).await? {
                // A keeper that does not answer, e.g. because it was stopped, is as good as dead.
                ask_and_wait(keeper, Some(Signal::KILL), END_DEADLINE).await?;
            }
        }
        (None, _, _) => {
            found.folder.ask_to_end()?;
        }
    }
    // A living keeper has ended its tree by itself; a dead one could not.
    let (ended_by_us, left) = tree::end(id, record.as_ref(), &here)
        .await
        .map_err(KeeperError::system("read the process table"))?;
    if !left.is_empty() {
        let pids = left.iter().map(|process| process.identity.pid).collect();
        return Err(KeeperError::LeftOver { id: id.clone(), pids });
    }
    let record = settle(found, record).await;
    let mut ended = before;
    ended.extend(ended_by_us);
    ended.sort();
    ended.dedup_by_key(|process| process.identity);
    Ok(StopReport {
        id: id.clone(),
        exit: record.and_then(|record| record.ended).map(|ended| ended.exit),
        ended,
    })
}

/// Sends `request` and waits until the process has ended; false if it has not within `patience`.
async fn ask_and_wait(
    process: ProcessIdentity,
    request: Option<Signal>,
    patience: Duration,
) -> Result<bool, KeeperError> {
    if let Some(signal) = request {
        process.signal(signal).map_err(KeeperError::system("signal the keeper"))?;
    }
    let deadline = Instant::now() + patience;
    while process.is_alive() {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(true)
}

async fn drain(
    id: &KeeperId,
    process: ProcessIdentity,
    request: Option<Signal>,
    waited: Duration,
) -> Result<(), KeeperError> {
    if ask_and_wait(process, request, waited).await? {
        return Ok(());
    }
    let id = id.clone();
    Err(KeeperError::StillDraining { id, waited })
}

/// Puts the folder in order in the place of a keeper that could not; gives the final record.
async fn settle(found: &Found, last_known: Option<Record>) -> Option<Record> {
    let current = Record::read(&found.folder).ok();
    if let Some(record) = &current
        && record.state == State::Ended
    {
        return current;
    }
    // A socket nobody listens to, or an empty group, does no harm if it stays.
    drop(found.folder.remove_socket());
    let mut record = current.or(last_known)?;
    if let Some(path) = &record.control_group
        && group::belongs_to(path, found.id())
    {
        // A killed process leaves its group only when its last thread has ended.
        let deadline = Instant::now() + GROUP_PATIENCE;
        group::remove(path);
        while path.exists() && Instant::now() < deadline {
            sleep(LOOK_AGAIN).await;
            group::remove(path);
        }
    }
    record.schema = SCHEMA;
    record.state = State::Ended;
    record.ended.get_or_insert_with(|| Ended {
        at: Timestamp::now(),
        exit: Exit::Unknown,
        how: HowEnded::WithoutKeeper,
        leftovers: 0,
    });
    // The processes are gone either way; without this the folder is shown as `gone`, which is true as well.
    drop(record.write(&found.folder));
    Some(record)
}
