//! What all parts of an engine share, for a test of one of them: no app-server is ever started.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use ostler_codex::binary::{Cache, Environment, Settings};
use ostler_model::policy::RuleSet;
use ostler_store::{Store, StoreSettings};
use tokio::sync::{Notify, mpsc};

use super::{Live, Shared};
use crate::hub::Hub;
use crate::notify::NotifySettings;
use crate::on_disk::OnDisk;
use crate::places::Writers;
use crate::pool::{Binaries, Pool, PoolSettings, PoolWaits, StoredSecrets};
use crate::start::Allowed;

/// With a store in this folder. Nobody hears what runners tell.
pub(crate) fn shared_in(folder: &Path) -> Arc<Shared> {
    let store = Store::open(StoreSettings::at(folder.join("ostler.db"))).unwrap();
    Arc::new(sample(store, folder, NotifySettings::default()))
}

pub(crate) fn sample(store: Store, folder: &Path, notify: NotifySettings) -> Shared {
    let pool = PoolSettings {
        keepers: folder.join("keepers"),
        program: "/nowhere".into(),
        environment: Vec::new(),
        keep: Vec::new(),
        stored: StoredSecrets::default(),
        binaries: Binaries::new(
            Settings::default(),
            Cache::new(folder.join("codex")),
            Environment::new(Vec::new()),
        ),
        threads_per_server: 1,
        memory_per_server: None,
        open_files_per_server: None,
        idle_server: Duration::from_secs(1),
        ready_deadline: Duration::from_secs(1),
        waits: PoolWaits::default(),
    };
    let live = Live {
        approver: None,
        own_server: None,
        written_server: |_| None,
        trust: None,
        idle_thread: Duration::from_secs(1),
        allowed: Allowed::default(),
        queued: 9,
        notify,
        rules: HashSet::new(),
    };
    Shared {
        pool: Arc::new(Pool::new(pool, store.clone())),
        store,
        hub: Hub::new(),
        on_disk: OnDisk::new(folder.join("changes"), &[]),
        writers: Writers::default(),
        rules: RwLock::new(Arc::new(RuleSet::new(Vec::new()))),
        live: RwLock::new(Arc::new(live)),
        dispatcher: mpsc::channel(1).0,
        mail: Notify::new(),
        tool_calls: Arc::default(),
    }
}
