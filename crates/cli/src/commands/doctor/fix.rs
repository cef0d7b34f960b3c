//! `--fix`: what can be put in order without a person having to think about it. Nothing of the user's is touched: only what
//! our own dead processes left, each named.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use jiff::Timestamp;
use ostler_codex::keeper::{self, Condition, Found, StopMode};
use ostler_engine::{Store, StoreSettings, TidiedWorktree, WorktreeSettings, tidy_worktrees};
use ostler_server::lock::{Claim, DaemonLock};

use super::check::Fix;
use super::config::OwnConfig;
use super::deadline::blocking;
use super::keepers::STALE_AFTER;
use super::leftovers::{self, Leftover};
use super::patient::Patient;
use crate::daemon::VERSION;
use crate::lost_database;
use crate::places::Places;

pub(super) async fn fix(patient: &Patient) -> Vec<Fix> {
    let places = &patient.places;
    let mut fixes = Vec::new();
    // First: what follows may need to get at what is below it.
    let runtime = places.runtime.clone();
    fixes.extend(blocking(move || made_private(&runtime)).await.ok().flatten());
    fixes.extend(orphans(places).await);
    let root = places.keepers();
    let swept = blocking(move || keeper::sweep(&root, STALE_AFTER, Timestamp::now())).await;
    match swept {
        Ok(Ok(swept)) => fixes.extend(
            swept.iter().map(|id| done(format!("removed the folder of the dead keeper {id}"))),
        ),
        Ok(Err(error)) => fixes.push(left("old keeper folders", error.to_string())),
        Err(stuck) => fixes.push(left("old keeper folders", stuck)),
    }
    let there = places.clone();
    for leftover in blocking(move || leftovers::gather(&there)).await.unwrap_or_default() {
        fixes.push(removed(&leftover));
    }
    fixes.extend(worktrees(patient).await);
    fixes
}

fn done(what: String) -> Fix {
    Fix { what, left: None }
}

fn left(what: impl Into<String>, why: impl Into<String>) -> Fix {
    Fix { what: what.into(), left: Some(why.into()) }
}

/// Our own folder of sockets, if it is ours and others can enter it.
fn made_private(runtime: &Path) -> Option<Fix> {
    let found = fs::symlink_metadata(runtime).ok()?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || found.mode() & 0o077 == 0 {
        return None;
    }
    let what = format!("{}: closed to other users", runtime.display());
    match fs::set_permissions(runtime, Permissions::from_mode(0o700)) {
        Ok(()) => Some(done(what)),
        Err(error) => Some(left(what, error.to_string())),
    }
}

/// Codex without its keeper: nobody would ever end it. A daemon takes such a one up again, so while one runs it is left to it;
/// and whoever started it may still be at work with it.
async fn orphans(places: &Places) -> Vec<Fix> {
    let root = places.keepers();
    let Ok(Ok(keepers)) = blocking(move || keeper::list(&root)).await else { return Vec::new() };
    let is_orphan = |keeper: &Found| keeper.condition == Condition::KeeperDead;
    let mut fixes = Vec::new();
    for keeper in keepers.into_iter().filter(is_orphan) {
        let what = format!("the Codex of the dead keeper {}", keeper.id());
        let starter = keeper.record.as_ref().map(|record| record.started_by);
        if leftovers::daemon_runs(places) {
            fixes.push(left(what, "left to the daemon that runs"));
        } else if starter.is_some_and(|starter| starter.is_alive()) {
            fixes.push(left(what, "the process that started it is still there"));
        } else {
            fixes.push(match keeper::stop(&keeper, StopMode::Now).await {
                Ok(report) => {
                    done(format!("ended {what}, and all below it: {} in all", report.ended.len()))
                }
                Err(error) => left(what, error.to_string()),
            });
        }
    }
    fixes
}

fn removed(leftover: &Leftover) -> Fix {
    let path = leftover.path();
    let (what, removed) = match leftover {
        Leftover::Socket(_) => ("the socket", fs::remove_file(path)),
        Leftover::Scratch(_) => ("the folder", fs::remove_dir_all(path)),
    };
    match removed {
        Ok(()) => done(format!("removed {what} {}", path.display())),
        Err(error) => left(format!("{what} {}", path.display()), error.to_string()),
    }
}

/// Worktrees whose task is known no more and that hold nothing. A daemon does this when it starts; without one, we hold its
/// lock meanwhile.
async fn worktrees(patient: &Patient) -> Vec<Fix> {
    let (place, surroundings) = (patient.places.config_file(), patient.places.surroundings());
    let own = blocking(move || OwnConfig::gather(place, &surroundings)).await;
    let Ok(Some(config)) = own.as_ref().map(OwnConfig::config) else { return Vec::new() };
    let settings = WorktreeSettings {
        folder: config.worktree.folder.clone(),
        branch_prefix: config.worktree.branch_prefix.as_str().to_owned(),
    };
    // Without tasks and without worktrees there is nothing to compare.
    if !settings.folder.is_dir() || !config.store.path.exists() {
        return Vec::new();
    }
    let claim = Claim {
        version: VERSION.to_owned(),
        started_at: Timestamp::now(),
        is_service: false,
        socket: patient.places.usual_daemon_socket(),
    };
    let path = patient.places.daemon_lock();
    let Ok(Ok(mut lock)) = blocking(move || DaemonLock::take(&path, claim)).await else {
        // The daemon that runs has tidied up when it started.
        return Vec::new();
    };
    // Without its tasks every worktree would be one of nobody's.
    if let Err(lost) = lost_database::check(&lock, &patient.places, config) {
        return vec![left("worktrees without a task", lost.message)];
    }
    let store = match Store::open(StoreSettings::at(&config.store.path)) {
        Ok(store) => store,
        Err(error) => return vec![left("worktrees without a task", error.to_string())],
    };
    let tidied = tidy_worktrees(&store, settings, &patient.variables).await;
    lost_database::note(&mut lock, &config.store.path, false);
    store.close().await;
    let fixes = tidied.into_iter().map(|TidiedWorktree { task, path, kept }| match kept {
        None => done(format!("removed the worktree {path} of the forgotten task {task}")),
        Some(why) => left(format!("the worktree {path} of the forgotten task {task}"), why),
    });
    fixes.collect()
}
