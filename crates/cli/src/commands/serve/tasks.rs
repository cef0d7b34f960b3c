//! The engine inside the daemon: built from the settings, swept every hour, ended with the door.

use std::sync::Arc;
use std::time::Duration;

use ostler_engine::{Engine, EngineTask, Store, StoreError, StoreSettings, SweepReport};
use ostler_server::heart::Beat;
use ostler_server::lock::DaemonLock;
use ostler_server::{Hall, Office, StopMode};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::engine_settings;
use crate::failure::{Exit, Failure};
use crate::lost_database;
use crate::places::{self, Places};
use crate::settings::ConfigFile;

/// What is too old is too old by days; looking costs some milliseconds.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Every runner writes down what it has, which takes one sync of the disk; past this the disk is not well.
const END_DEADLINE: Duration = Duration::from_secs(20);

/// The dispatcher hears within milliseconds; past this it does not hear at all.
const APPLY_DEADLINE: Duration = Duration::from_secs(10);

/// All tasks of this state folder, at work.
pub(super) struct Tasks {
    engine: Engine,
    stop: CancellationToken,
}

/// The same once it is minded: whoever ends the daemon ends this first.
pub(super) struct Minded {
    engine: Engine,
    office: Arc<Office>,
    stop: CancellationToken,
    ended: JoinHandle<Result<(), StoreError>>,
    _beside: [AbortOnDropHandle<()>; 2],
}

impl Tasks {
    /// Opens the store and takes up what an earlier daemon left.
    pub(super) async fn take_up(
        places: &Places,
        file: &ConfigFile,
        lock: &mut DaemonLock,
    ) -> Result<(Self, EngineTask), Failure> {
        let config = file.config();
        places::private_folder(&places.keepers())?;
        let settings = engine_settings::engine(places, config)?;
        let store = Store::open(StoreSettings::at(&config.store.path))?;
        lost_database::note(lock, &config.store.path, false);
        if let Some(failing) = store.health().failing {
            tracing::error!(%failing, "the store can only be read for now; new work is refused");
        }
        let stop = CancellationToken::new();
        let (engine, task) = Engine::start(store, settings, stop.clone()).await?;
        Ok((Self { engine, stop }, task))
    }

    pub(super) fn office(
        &self,
        places: &Places,
        config: &ConfigFile,
        hall: &Arc<Hall>,
    ) -> Arc<Office> {
        let usual = engine_settings::usual(places, config.config());
        Arc::new(Office::new(self.engine.clone(), hall.clone(), usual, places.files()))
    }

    /// If the engine ends by itself, nothing can be written any more, and the daemon ends with it.
    pub(super) fn mind(self, task: EngineTask, office: Arc<Office>, beat: Beat) -> Minded {
        let Self { engine, stop } = self;
        let hall = office.hall.clone();
        let ended = tokio::spawn(async move {
            let ended = task.ended().await;
            if let Err(error) = &ended {
                hall.close(StopMode::Graceful, format!("the store: {error}"));
            }
            ended
        });
        let beside =
            [tokio::spawn(sweep(office.clone())), tokio::spawn(feel(engine.clone(), beat))];
        Minded { engine, office, stop, ended, _beside: beside.map(AbortOnDropHandle::new) }
    }
}

impl Minded {
    /// Other settings from now on. If they are not all right, all stays as it is.
    pub(super) async fn apply(&self, places: &Places, file: &ConfigFile) -> Result<(), Failure> {
        let config = file.config();
        let settings = engine_settings::engine(places, config)?;
        if timeout(APPLY_DEADLINE, self.engine.apply(settings)).await.is_err() {
            return Err(Failure::new(Exit::Failed, "the engine does not take other settings"));
        }
        self.office.apply(engine_settings::usual(places, config));
        Ok(())
    }

    /// Writes down what there is, and closes the store. `closing` is called when nothing more is written.
    pub(super) async fn end(self, closing: impl FnOnce()) -> Result<(), Failure> {
        self.stop.cancel();
        let ended = match timeout(END_DEADLINE, self.ended).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => {
                return Err(Failure::new(Exit::Failed, format!("the engine failed: {error}")));
            }
            Err(_) => return Err(Failure::new(Exit::Failed, "the engine does not end")),
        };
        closing();
        let closed = timeout(END_DEADLINE, self.engine.store().clone().close()).await;
        if closed.is_err() {
            tracing::error!("the store does not close");
        }
        Ok(ended?)
    }
}

/// Gives a beat each time that the dispatcher has gone round: one that stands still is missed.
async fn feel(engine: Engine, mut beat: Beat) {
    loop {
        engine.goes_round().await;
        beat.next().await;
    }
}

async fn sweep(office: Arc<Office>) {
    let mut hours = interval(SWEEP_EVERY);
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        match office.sweep().await {
            Ok(report) if report.is_empty() => tracing::debug!("nothing is too old to be kept"),
            Ok(report) => tell(&report),
            Err(error) => tracing::warn!(%error, "what is too old could not be removed"),
        }
    }
}

fn tell(report: &SweepReport) {
    tracing::info!(
        too_old = report.too_old.len(),
        too_many = report.too_many.len(),
        too_large = report.too_large.len(),
        rule_uses = report.rule_uses,
        host_asks = report.host_asks,
        notifications = report.notifications,
        audit = report.audit,
        bytes_before = report.bytes_before,
        bytes_after = report.bytes_after,
        "retention has removed tasks that are over"
    );
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_passing() { Exit::TryAgainLater } else { Exit::Failed };
        Self::new(exit, error.to_string())
    }
}
