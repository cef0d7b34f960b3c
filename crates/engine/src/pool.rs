//! The app-servers that tasks share.
//!
//! One app-server serves many threads: a hundred in one process take a tenth of the memory of a hundred processes. They are
//! shared by those who want the same Codex on the same home with the same environment, up to a bound; then another one is
//! started. Nobody's app-server is ended here but our own, which are known by what their record says they are for.
//!
//! Start reading at [`Pool::seat`]; `start` brings up a new one on a home that is free for its version (`homes`), `adopt`
//! takes up those of an earlier daemon, `tidy` ends those that are not needed any more.

mod adopt;
mod binaries;
mod homes;
mod kind;
mod server;
mod start;
mod tidy;

pub use binaries::Binaries;
pub(crate) use kind::Kind;
pub(crate) use server::{Seat, Server};
pub(crate) use start::class_of;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use ostler_codex::keeper;
use ostler_codex::keeper::environment::{EnvironmentRule, Given, given_alone};
use ostler_codex::login::{Login, LoginWatch};
use ostler_codex::protocol::CodexVersion;
use ostler_model::task::TaskSettings;
use ostler_model::{Failure, FailureClass, TaskId};
use ostler_store::Store;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use homes::Homes;
use kind::Purpose;
use tidy::Tidying;

/// What the pool is given.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The folder that holds one folder per keeper.
    pub keepers: PathBuf,
    /// Our own binary.
    pub program: PathBuf,
    /// All of the daemon's, not yet filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// Passed on beyond the rule.
    pub keep: Vec<String>,
    pub stored: StoredSecrets,
    pub binaries: Binaries,
    pub threads_per_server: usize,
    /// An app-server whose Codex has more takes no further thread, and is replaced when those in it are closed. In bytes.
    pub memory_per_server: Option<u64>,
    pub open_files_per_server: Option<u64>,
    /// How long an app-server without threads is kept.
    pub idle_server: Duration,
    pub ready_deadline: Duration,
    pub waits: PoolWaits,
}

/// Finds the secrets that are stored for the MCP servers of a task. It is asked each time: they change without us.
#[derive(Clone)]
pub struct StoredSecrets(Arc<FindSecrets>);

/// By the Codex home, and by what the task says of Codex's configuration.
type FindSecrets = dyn Fn(&Path, &BTreeMap<String, String>) -> Given + Send + Sync;

impl StoredSecrets {
    pub fn new(
        find: impl Fn(&Path, &BTreeMap<String, String>) -> Given + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }
}

impl Default for StoredSecrets {
    fn default() -> Self {
        Self::new(|_, _| Given::default())
    }
}

impl fmt::Debug for StoredSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoredSecrets")
    }
}

/// How long the pool waits for what may never come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolWaits {
    /// For an app-server of an earlier daemon to answer; one that does not is ended. Only the tasks in it wait.
    pub adoption: Duration,
    /// For the app-servers of another version to leave a home.
    pub home: Duration,
}

impl Default for PoolWaits {
    /// Codex needs milliseconds to answer, and some seconds on a machine that has just come up. Turns usually end within
    /// minutes; a task that must wait for longer than that says so.
    fn default() -> Self {
        Self { adoption: Duration::from_secs(30), home: Duration::from_secs(10 * 60) }
    }
}

pub(crate) struct Pool {
    settings: RwLock<Arc<PoolSettings>>,
    store: Store,
    state: Mutex<State>,
    homes: Homes,
    /// Told whenever somebody who waits may find things otherwise than before.
    changed: watch::Sender<()>,
    /// Told when [`Pool::look`] is wanted.
    pub(crate) wants_look: Arc<Notify>,
    /// Told when the login of a home is seen to be another.
    pub(crate) login_changed: Notify,
    /// What runs beside.
    works: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    servers: Vec<Arc<Server>>,
    /// Keepers of an earlier daemon that have not answered yet.
    arriving: HashMap<String, Purpose>,
    /// Keepers that are being ended.
    ending: HashSet<String>,
    /// By digest; held while a shared app-server is looked for or started: two tasks must not start one each.
    making: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
    tidying: Tidying,
    /// The login of each home as it was seen last.
    logins: HashMap<PathBuf, String>,
    /// Homes for whose next login tasks wait.
    watched: HashSet<PathBuf>,
}

/// Whether Codex may be at work for the task that wants a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtWork {
    Yes,
    No,
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings, store: Store) -> Self {
        let (changed, _) = watch::channel(());
        Self {
            settings: RwLock::new(Arc::new(settings)),
            store,
            state: Mutex::default(),
            homes: Homes::new(changed.clone()),
            changed,
            wants_look: Arc::default(),
            login_changed: Notify::new(),
            works: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Which Codex a new task runs on. One that is older than what its home was used with is refused.
    pub(crate) async fn admit(&self, settings: &TaskSettings) -> Result<Kind, Failure> {
        let Some(wanted) = settings.codex.version.as_deref() else {
            return self.kind_now(settings).await;
        };
        self.kind_asked_for(settings, wanted).await
    }

    async fn kind_asked_for(&self, settings: &TaskSettings, wanted: &str) -> Result<Kind, Failure> {
        let kind = self.kind(settings, Some(wanted)).await?;
        match self.pin(&kind.home).await? {
            Some(pin) if pin > kind.version => Err(too_old(&kind, &pin)),
            _ => Ok(kind),
        }
    }

    /// Which Codex a task goes on with: its own, or the newer one that its home has been used with since.
    pub(crate) async fn kind_now(&self, settings: &TaskSettings) -> Result<Kind, Failure> {
        let wanted = settings.codex.version.as_deref();
        let home = self.home(settings);
        let pin = self.pin(&home).await?;
        let is_older = |wanted: &str| {
            let wanted = CodexVersion::parse(wanted);
            pin.as_ref().is_some_and(|pin| wanted.is_some_and(|wanted| *pin > wanted))
        };
        match (&pin, wanted) {
            (Some(pin), Some(wanted)) if is_older(wanted) => {
                self.kind(settings, Some(&pin.to_string())).await
            }
            (_, Some(wanted)) => self.kind_asked_for(settings, wanted).await,
            (pin, None) => self.kind_in_use(settings, pin.as_ref()).await,
        }
    }

    /// Nobody asked for a version: the one in use, or one that is installed where that is too old for the home.
    async fn kind_in_use(
        &self,
        settings: &TaskSettings,
        pin: Option<&CodexVersion>,
    ) -> Result<Kind, Failure> {
        let found = self.kind(settings, None).await;
        let Some(pin) = pin else { return found };
        let failure = match found {
            Ok(kind) if kind.version >= *pin => return Ok(kind),
            Ok(kind) => too_old(&kind, pin),
            Err(failure) if failure.class == FailureClass::NoCodex => failure,
            Err(failure) => return Err(failure),
        };
        match self.settings().binaries.installed_since(pin) {
            Some((codex, version)) => self.kind_of(settings, codex, &version),
            None => Err(failure),
        }
    }

    /// A place for a thread: in the app-server that it was in if that lives, or else in any of its kind.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "whoever wants the same kind of app-server must wait until it is known whether one is started"
    )]
    pub(crate) async fn seat(
        self: &Arc<Self>,
        task: &TaskId,
        settings: &TaskSettings,
        before: Option<&str>,
        at_work: AtWork,
    ) -> Result<Seat, Failure> {
        let deadline = Instant::now() + self.settings().waits.home;
        // One that is being joined or ended will be known for what it is in a moment.
        self.wait_until(deadline, |state| !state.is_unclear(task, before)).await?;
        if let Some(seat) = self.own_seat(task, before, at_work) {
            return Ok(seat);
        }
        let kind = self.kind_now(settings).await?;
        if settings.isolate {
            return self.start(&kind, Some(task.clone()), deadline).await;
        }
        let making = self.making(&kind.digest);
        let Ok(_making) = timeout_at(deadline, making.lock()).await else {
            return Err(self.still_occupied(&kind));
        };
        self.wait_until(deadline, |state| !state.may_arrive(&kind.digest)).await?;
        match self.free_seat(&kind) {
            Some(seat) => Ok(seat),
            None => self.start(&kind, None, deadline).await,
        }
    }

    /// Where the threads of other tasks that are open may write. What they have started may run although their turns are over.
    pub(crate) fn writable_by_others(&self, task: &TaskId) -> Vec<PathBuf> {
        self.servers().iter().flat_map(|server| server.writable_by_others(task)).collect()
    }

    /// The folder that holds one folder per keeper.
    pub(crate) fn keepers(&self) -> PathBuf {
        self.settings().keepers.clone()
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        self.state().servers.clone()
    }

    async fn kind(&self, settings: &TaskSettings, wanted: Option<&str>) -> Result<Kind, Failure> {
        let (codex, version) = self.settings().binaries.find(wanted).await?;
        self.kind_of(settings, codex, &version)
    }

    fn kind_of(
        &self,
        settings: &TaskSettings,
        codex: PathBuf,
        version: &str,
    ) -> Result<Kind, Failure> {
        let version = CodexVersion::parse(version).ok_or_else(|| {
            Failure::new(FailureClass::BadRequest, format!("{version:?} is no Codex version"))
        })?;
        let home = settings.codex.home.as_ref().map(PathBuf::from);
        let given = self.given(settings);
        let settings = self.settings();
        let kind = Kind::new(codex, version, home, &settings.environment, &settings.keep, given);
        self.note_login(&kind);
        Ok(kind)
    }

    /// Whoever waits for another login looks again when one is seen.
    fn note_login(&self, kind: &Kind) {
        let login = kind.login.content.clone();
        let before = self.state().logins.insert(kind.home.clone(), login.clone());
        if before.is_some_and(|before| before != login) {
            self.login_changed.notify_one();
        }
    }

    /// Tells [`Pool::login_changed`] when there is another login than the one that was refused.
    pub(crate) fn watch_login(self: &Arc<Self>, settings: &TaskSettings, refused: String) {
        let home = self.home(settings);
        if !self.state().watched.insert(home.clone()) {
            return;
        }
        let pool = self.clone();
        self.works.spawn(async move {
            let watched = LoginWatch::new(&home);
            let seen = match watched {
                Ok(mut watch) => tokio::select! {
                    () = watch.differs_from(&refused) => true,
                    () = pool.stop.cancelled() => false,
                },
                Err(error) => {
                    tracing::warn!(%error, home = %home.display(), "only another task will notice another login");
                    false
                }
            };
            pool.state().watched.remove(&home);
            if seen {
                pool.login_changed.notify_one();
            }
        });
    }

    /// The login on disk that a task would use, as a digest.
    pub(crate) fn login(&self, settings: &TaskSettings) -> String {
        Login::read(&self.home(settings)).content
    }

    pub(crate) fn home(&self, settings: &TaskSettings) -> PathBuf {
        let given = settings.codex.home.as_ref().map(PathBuf::from);
        kind::canonical(&kind::named_home(given.as_deref(), &self.settings().environment))
    }

    fn given(&self, settings: &TaskSettings) -> Given {
        (self.settings().stored.0)(&self.home(settings), &settings.config)
    }

    /// Variables that an app-server has for MCP servers alone, and that no command of the model may see.
    pub(crate) fn hidden_variables(&self, seat: &Seat) -> Vec<String> {
        let pool = self.settings();
        let found = seat.keeper().and_then(|id| keeper::find(&pool.keepers, &id).ok());
        let given = found
            .and_then(|found| found.record)
            .map_or_else(Vec::new, |record| record.given_variables);
        let rule = EnvironmentRule { keep: pool.keep.clone(), ..EnvironmentRule::default() };
        given_alone(given, &pool.environment, &rule)
    }

    fn own_seat(&self, task: &TaskId, before: Option<&str>, at_work: AtWork) -> Option<Seat> {
        let state = self.state();
        // One whose login is refused is used only by what runs there.
        let may_go = |server: &&Arc<Server>| at_work == AtWork::Yes || !server.is_refused();
        let is_before = |server: &&Arc<Server>| {
            before.is_some_and(|keeper| server.is_in(keeper))
                && server.isolated_for().is_none_or(|only| only == task)
        };
        let is_own = |server: &&Arc<Server>| server.isolated_for() == Some(task);
        let server = state.servers.iter().filter(may_go).find(is_before);
        let server = server.or_else(|| state.servers.iter().filter(may_go).find(is_own))?;
        let seat = Seat::take(server.clone(), self.wants_look.clone());
        server.has_come_back(task);
        Some(seat)
    }

    fn free_seat(&self, kind: &Kind) -> Option<Seat> {
        // A newer Codex waits for the home: it must become empty.
        if self.homes.is_claimed_over(&kind.home, &kind.version) {
            return None;
        }
        let state = self.state();
        let fits = |server: &&Arc<Server>| {
            server.purpose.digest == kind.digest
                && server.isolated_for().is_none()
                && !server.is_retired()
                && server.seats() < self.settings().threads_per_server
        };
        // The fullest one that has room, so that the others can become idle.
        let mut fitting: Vec<&Arc<Server>> = state.servers.iter().filter(fits).collect();
        fitting.sort_by_key(|server| std::cmp::Reverse(server.seats()));
        let server = fitting.into_iter().find(|server| !self.retire_without_keeper(server))?;
        Some(Seat::take(server.clone(), self.wants_look.clone()))
    }

    fn making(&self, digest: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut state = self.state();
        state.making.retain(|_, making| Arc::strong_count(making) > 1);
        state.making.entry(digest.to_owned()).or_default().clone()
    }

    async fn wait_until(
        &self,
        deadline: Instant,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<(), Failure> {
        let mut changed = self.changed.subscribe();
        loop {
            if is_so(&self.state()) {
                return Ok(());
            }
            if timeout_at(deadline, changed.changed()).await.is_err() {
                let message = "the app-server of this task neither answers nor ends; try again";
                return Err(Failure::new(FailureClass::Busy, message));
            }
        }
    }

    /// App-servers that run stay as they are; those that are started from now on are as the new settings say.
    pub(crate) fn apply(&self, settings: PoolSettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.wants_look.notify_one();
    }

    fn settings(&self) -> Arc<PoolSettings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_changed(&self) {
        self.changed.send_replace(());
    }
}

impl State {
    /// Whether it is not known yet what becomes of the app-server of this task.
    fn is_unclear(&self, task: &TaskId, before: Option<&str>) -> bool {
        let is_moving =
            |keeper: &str| self.arriving.contains_key(keeper) || self.ending.contains(keeper);
        before.is_some_and(is_moving)
            || self.arriving.values().any(|purpose| purpose.isolated_for.as_ref() == Some(task))
    }

    /// Whether a shared app-server of this kind may be there in a moment.
    fn may_arrive(&self, digest: &str) -> bool {
        let mut arriving = self.arriving.values();
        arriving.any(|purpose| purpose.digest == digest && purpose.isolated_for.is_none())
    }
}

fn too_old(kind: &Kind, pin: &CodexVersion) -> Failure {
    let (home, version) = (kind.home.display(), &kind.version);
    Failure::new(
        FailureClass::NoCodex,
        format!(
            "the Codex home {home} was used with Codex {pin}, and the older Codex {version} may destroy what is in it; \
             use Codex {pin} or a newer one, or another home"
        ),
    )
}
