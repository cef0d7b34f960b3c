//! Taking up the app-servers of an earlier daemon.
//!
//! They are known by their purpose, whether or not that daemon has written anything down. All are joined at once and beside
//! everything else: one that hangs keeps only the tasks waiting that were in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ostler_codex::driver::Driver;
use ostler_codex::keeper::environment::Given;
use ostler_codex::keeper::{self, Condition, Found, Record};
use ostler_codex::login::Login;
use ostler_codex::protocol::CodexVersion;
use ostler_model::{Failure, TaskId};
use ostler_store::Write;
use tokio::time::timeout;

use super::kind::{Kind, Purpose, canonical, named_home};
use super::start::{driver_settings, gone, unreached};
use super::{Pool, Server};

impl Pool {
    /// Keepers that an earlier daemon left: those that answer are used again, the others are ended for good.
    pub(crate) async fn adopt(self: &Arc<Self>) {
        let keepers = self.settings().keepers.clone();
        self.recover_lost().await;
        let listed = tokio::task::spawn_blocking(move || keeper::list(&keepers)).await;
        let found = match listed {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return tracing::error!(%error, "the keepers cannot be listed"),
            Err(error) => return tracing::error!(%error, "the keepers cannot be listed"),
        };
        self.forget_rows_but(&found).await;
        let mut at_work = self.tasks_at_work().await;
        for found in found {
            let Some(record) = found.record.clone() else { continue };
            let Some(purpose) = record.purpose.as_deref().and_then(Purpose::parse) else {
                continue;
            };
            match &found.condition {
                // Nothing of it can be seen or ended from here.
                Condition::Elsewhere | Condition::Broken { .. } => continue,
                Condition::Ended(_) | Condition::Gone => continue,
                Condition::Running | Condition::KeeperDead | Condition::Starting => {}
            }
            self.state().arriving.insert(found.id().as_str().to_owned(), purpose.clone());
            let expected = at_work.remove(found.id().as_str()).unwrap_or_default();
            let pool = self.clone();
            self.works.spawn(async move { pool.take_up(found, record, purpose, expected).await });
        }
        self.sweep_remains().await;
    }

    /// Keepers whose folder was deleted: until they have put it back, nothing there tells of them.
    async fn recover_lost(&self) {
        match keeper::recover_lost(&self.settings().keepers).await {
            Ok(found) => {
                for id in found.returned {
                    tracing::warn!(keeper = %id, "the folder of a keeper was deleted and is there again");
                }
                for id in found.ended {
                    tracing::warn!(keeper = %id, "an app-server without keeper and folder was ended");
                }
                for (id, pid) in found.unreachable {
                    tracing::error!(
                        keeper = %id,
                        "the folder of a keeper was deleted and does not come back; if nothing needs it, run `kill {pid}`"
                    );
                }
            }
            Err(error) => {
                tracing::error!(%error, "keepers without their folder cannot be looked for");
            }
        }
    }

    /// Tasks whose threads are at work, by the keeper that they are in.
    async fn tasks_at_work(&self) -> BTreeMap<String, BTreeSet<TaskId>> {
        let found = self.store.at_work().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the tasks at work cannot be read");
            Vec::new()
        });
        let mut at_work: BTreeMap<String, BTreeSet<TaskId>> = BTreeMap::new();
        for task in found {
            if let Some(keeper) = task.keeper {
                at_work.entry(keeper).or_default().insert(task.id);
            }
        }
        at_work
    }

    async fn take_up(
        self: Arc<Self>,
        found: Found,
        record: Record,
        purpose: Purpose,
        expected: BTreeSet<TaskId>,
    ) {
        let keeper = found.id().as_str().to_owned();
        let version = record.codex_version.as_deref().and_then(CodexVersion::parse);
        let home =
            canonical(&named_home(record.codex_home.as_deref(), &self.settings().environment));
        // Until it is known what becomes of it, nobody else moves in.
        let occupied = version.as_ref().map(|version| self.homes.occupy(&home, version));
        let joining = timeout(self.settings().waits.adoption, async {
            let version =
                version.clone().ok_or_else(|| no_answer("its record names no version"))?;
            self.join(&found, &record, version, &home, purpose).await
        });
        let joined = tokio::select! {
            // The next daemon will find it.
            () = self.stop.cancelled() => return,
            joined = joining => joined.unwrap_or_else(|_| Err(no_answer("it does not answer"))),
        };
        match joined {
            Ok(server) => {
                server.expect(expected, Instant::now() + self.settings().waits.adoption);
                self.state().servers.push(server);
                self.wants_look.notify_one();
            }
            Err(failure) => {
                tracing::warn!(%keeper, reason = %failure.message, "a keeper is not used again");
                self.end_keeper(Some(found.id().clone())).await;
            }
        }
        drop(occupied);
        self.state().arriving.remove(&keeper);
        self.tell_changed();
    }

    async fn join(
        &self,
        found: &Found,
        record: &Record,
        version: CodexVersion,
        home: &Path,
        purpose: Purpose,
    ) -> Result<Arc<Server>, Failure> {
        let tenancy = self.homes.occupy(home, &version);
        let kind = Kind {
            codex: record.codex_path.clone(),
            version,
            given_home: record.codex_home.clone(),
            home: home.to_owned(),
            login: Login::read(home),
            // Those it was given are known by its record.
            given: Given::default(),
            digest: purpose.digest.clone(),
        };
        let connector = Arc::new(self.connector(&kind, &purpose).at(found.id().clone()));
        let joined = Driver::join(connector.clone(), driver_settings()).await;
        let (driver, task) = joined.map_err(unreached)?;
        self.welcome(driver, task, connector, purpose, tenancy).await
    }

    /// What the store says of app-servers that are no more.
    async fn forget_rows_but(&self, found: &[Found]) {
        let rows = match self.store.app_servers().await {
            Ok(rows) => rows,
            Err(error) => return tracing::warn!(%error, "the app-servers on record cannot be read"),
        };
        for row in rows {
            let lives = found.iter().any(|found| {
                let is_over = matches!(found.condition, Condition::Ended(_) | Condition::Gone);
                found.id().as_str() == row.keeper && !is_over
            });
            if !lives {
                self.write(Write::AppServerGone { keeper: row.keeper }).await;
            }
        }
    }
}

fn no_answer(why: &str) -> Failure {
    gone(why.to_owned(), None)
}
