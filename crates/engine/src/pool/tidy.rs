//! Ending the app-servers that are not needed any more, and keeping what the store says of them true.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ostler_codex::keeper::{self, KeeperId, REMAINS_FOR, StopMode};
use ostler_store::{AppServerRow, Write};

use super::{Kind, Pool, Server};
use crate::shared::now;

/// From one look at the memory of the app-servers to the next. Codex grows by about 2 MB a thread, so a pool that fills up
/// within that time is still near its cap.
const MEMORY_LOOKS: Duration = Duration::from_secs(30);

/// Ending one takes milliseconds, and seconds if it does not obey; then it is killed.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// When what is to be done next.
#[derive(Debug, Default)]
pub(super) struct Tidying {
    memory_at: Option<Instant>,
    remains_at: Option<Instant>,
}

impl Pool {
    /// Puts everything in order. Says when to look again; never, if nothing lives.
    pub(crate) async fn look(self: &Arc<Self>) -> Option<Instant> {
        for server in self.servers() {
            self.note_row(&server).await;
            if server.idle_since().is_some() {
                self.retire_without_keeper(&server);
            }
        }
        self.watch_memory();
        let patience = self.settings().idle_server;
        let is_over = |server: &Server| {
            let idle = server.idle_since().map(|since| since.elapsed());
            // One that has become idle while a newer version waits for its home leaves at once.
            let is_in_the_way = self.homes.is_claimed_over(&server.home, &server.version);
            idle.is_some_and(|idle| is_in_the_way || server.is_retired() || idle >= patience)
        };
        self.end_those(is_over);
        if self.state().tidying.remains_at.is_some_and(|at| at <= Instant::now()) {
            self.state().tidying.remains_at = None;
            self.sweep_remains().await;
        }
        let state = self.state();
        let idle = state.servers.iter().filter_map(|server| server.idle_since());
        let idle = idle.map(|since| since + patience).min();
        let expected = state.servers.iter().filter_map(|server| server.expected_until()).min();
        let memory = state.tidying.memory_at.filter(|_| !state.servers.is_empty());
        [idle, expected, memory, state.tidying.remains_at].into_iter().flatten().min()
    }

    /// Whatever is being ended is ended; what is being joined is left to the next daemon.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.works.close();
        if tokio::time::timeout(END_PATIENCE, self.works.wait()).await.is_err() {
            tracing::warn!(
                "some app-servers have not ended yet; the next daemon goes on with them"
            );
        }
    }

    /// An app-server whose keeper is dead takes nothing new: it is lost with its connection, and nobody sees its end. What
    /// runs there ends, then it is ended. False if its keeper lives.
    pub(super) fn retire_without_keeper(&self, server: &Server) -> bool {
        let Some(keeper) = server.keeper() else { return false };
        if keeper::has_keeper(&self.settings().keepers, &keeper) {
            return false;
        }
        if server.retire() {
            tracing::warn!(%keeper, "the keeper of an app-server is dead; it takes no further thread");
            self.wants_look.notify_one();
        }
        true
    }

    /// Those that nobody uses leave at once when another version wants their home.
    pub(super) fn end_unused_of_other_versions(self: &Arc<Self>, kind: &Kind) {
        self.end_those(|server| {
            server.home == kind.home
                && server.version != kind.version
                && server.idle_since().is_some()
        });
    }

    /// The one in this keeper, if nobody has a thread there.
    pub(crate) fn end_if_unused(self: &Arc<Self>, keeper: &str) {
        self.end_those(|server| server.is_in(keeper) && server.idle_since().is_some());
    }

    /// Nothing of it may be left; if it does not end, that is said. True if it has ended.
    pub(super) async fn end_keeper(&self, keeper: Option<KeeperId>) -> bool {
        let Some(id) = keeper else { return true };
        let keepers = self.settings().keepers.clone();
        let Some(found) = keeper::find_again(&keepers, &id).await else { return true };
        let stopped = keeper::stop(&found, StopMode::Now).await;
        if let Err(error) = stopped.map(drop).and_then(|()| keeper::remove(&found)) {
            tracing::error!(%error, keeper = %id, "an app-server could not be ended");
            return false;
        }
        self.write(Write::AppServerGone { keeper: id.as_str().to_owned() }).await;
        true
    }

    /// The folders of keepers that ended long ago.
    pub(super) async fn sweep_remains(&self) {
        let keepers = self.settings().keepers.clone();
        let sweep = move || keeper::sweep(&keepers, REMAINS_FOR, Timestamp::now());
        match tokio::task::spawn_blocking(sweep).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the remains of keepers are left"),
            Err(error) => tracing::warn!(%error, "the remains of keepers are left"),
        }
        let left = keeper_folders(&self.settings().keepers);
        let mut state = self.state();
        // Whatever is not one of ours that live may be remains.
        if left > state.servers.len() + state.arriving.len() + state.ending.len() {
            state.tidying.remains_at.get_or_insert_with(|| Instant::now() + REMAINS_FOR);
        }
    }

    /// What is on record is for people who look, so nothing waits for a disk that is full.
    pub(super) async fn write(&self, write: Write) {
        if let Err(error) = self.store.commit(write.into()).await {
            tracing::warn!(%error, "the app-servers on record are not as they are");
        }
    }

    /// The keepers in the store are those that live. A driver that lost its Codex has started another one.
    async fn note_row(&self, server: &Server) {
        let keeper = server.keeper();
        let noted = {
            let mut used = server.use_.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if used.noted == keeper {
                return;
            }
            std::mem::replace(&mut used.noted, keeper.clone())
        };
        if let Some(keeper) = keeper {
            let row = AppServerRow {
                keeper: keeper.as_str().to_owned(),
                version: server.version.to_string(),
                codex_home: server.home.display().to_string(),
                pool_key: server.purpose.digest.clone(),
                started_at: now(),
                isolated_for: server.isolated_for().cloned(),
            };
            self.write(Write::AppServer(row)).await;
        }
        if let Some(dead) = noted {
            self.write(Write::AppServerGone { keeper: dead.as_str().to_owned() }).await;
            self.sweep_remains().await;
        }
    }

    /// At most every so often, and only while there is anything to look at.
    fn watch_memory(&self) {
        let Some(most) = self.settings().memory_per_server else { return };
        let is_due = self.state().tidying.memory_at.is_none_or(|at| at <= Instant::now());
        if !is_due {
            return;
        }
        for server in self.servers() {
            let keeper = server.keeper();
            let memory =
                keeper.and_then(|id| keeper::memory_of_codex(&self.settings().keepers, &id));
            if let Some(bytes) = memory.filter(|bytes| *bytes > most)
                && server.retire()
            {
                let keeper = server.keeper().map(|id| id.to_string());
                tracing::warn!(
                    keeper,
                    bytes,
                    most,
                    "an app-server is full and takes no further thread"
                );
            }
        }
        self.state().tidying.memory_at = Some(Instant::now() + MEMORY_LOOKS);
    }

    /// Takes them out of the pool at once, and ends them beside everything else.
    fn end_those(self: &Arc<Self>, is_over: impl Fn(&Server) -> bool) {
        let mut state = self.state();
        let (over, kept) =
            std::mem::take(&mut state.servers).into_iter().partition(|server| is_over(server));
        state.servers = kept;
        let over: Vec<Arc<Server>> = over;
        for server in over {
            let keeper = server.keeper();
            state.ending.extend(keeper.as_ref().map(|id| id.as_str().to_owned()));
            let pool = self.clone();
            self.works.spawn(async move {
                let has_ended = pool.end_keeper(keeper.clone()).await;
                let mut state = pool.state();
                if let Some(keeper) = &keeper {
                    state.ending.remove(keeper.as_str());
                }
                if !has_ended {
                    // It still lives on its home, so it stays known; nobody is given a place in it.
                    server.retire();
                    state.servers.push(server);
                } else {
                    drop(server);
                }
                drop(state);
                pool.tell_changed();
            });
        }
    }
}

fn keeper_folders(root: &std::path::Path) -> usize {
    std::fs::read_dir(root).map_or(0, |entries| entries.flatten().count())
}
