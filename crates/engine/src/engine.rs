//! The handle: what doors may ask of the engine. All of it is durable when it returns.

mod accounts;
mod answering;
mod changes;
mod from_log;
mod hosts;
mod model_check;
mod new_task;
mod telling;
mod watching;

pub use accounts::{AccountLimits, EffortShown, LimitWindow, ModelShown};
pub use answering::Answer;
pub(crate) use answering::too_late;
pub use changes::{DiffFrom, DiffOf, TaskDiff};
pub use new_task::{fork_of, fresh_task_id};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use ostler_codex::folder_trust::TrustFile;
use ostler_codex::keeper::{self, Condition, Found};
use ostler_codex::own_server::OwnServer;
use ostler_model::policy::{Rule, RuleSet};
use ostler_model::task::{Intent, IntentState, NotDone, TaskSettings, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{
    Event, FailureClass, GoalChange, Input, IntentId, RuleId, Task, TaskId, TaskState,
};
use ostler_store::{
    Batch, Committed, Retention, StartKey, Store, StoreError, SweepReport, TurnMessages, Write,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::new_task::intent_id;
pub(crate) use self::new_task::new_task;
use crate::approver::Approver;
use crate::dispatcher::{Dispatcher, FromDoor, Waiting};
use crate::host_asks::HostAsks;
use crate::hub::{Hub, News};
use crate::line::Line;
use crate::messages::messages;
use crate::notify::{NotifySettings, Outbox};
use crate::on_disk::OnDisk;
use crate::places::Writers;
use crate::pool::{Pool, PoolSettings};
use crate::refusal::{Problem, Refusal};
use crate::runner::Order;
use crate::shared::{Live, Shared, now};
use crate::start::{self, Allowed, StartTask};
use crate::verdict::row;
use crate::worktree::{Force, WorktreeError, WorktreeSettings, Worktrees};

/// Words of runners and doors that wait for the dispatcher.
const QUEUED_WORDS: usize = 4096;

#[derive(Debug)]
pub struct EngineSettings {
    pub pool: PoolSettings,
    /// Tasks that work at once, in all and on one kind of app-server.
    pub running: usize,
    pub running_per_pool: usize,
    /// Tasks that wait; more are refused.
    pub queued: usize,
    /// How long a thread stays open with nothing to do.
    pub idle_thread: Duration,
    pub approver: Option<Approver>,
    /// The MCP server of ours whose tools need no person's word; none if all do.
    pub own_server: Option<OwnServer>,
    /// That server as the file of a Codex home has it, as JSON text; none where it does not.
    pub written_server: fn(&Path) -> Option<String>,
    /// Which folders may bring programs along; without it none may.
    pub trust: Option<TrustFile>,
    /// Of the operator's file; those made by `always` are in the store.
    pub rules: Vec<Rule>,
    pub allowed: Allowed,
    pub worktrees: WorktreeSettings,
    /// Holds one folder per task, with the states of its folder before and after each turn.
    pub changes: PathBuf,
    pub notify: NotifySettings,
}

impl EngineSettings {
    fn live(&self) -> Live {
        Live {
            approver: self.approver.clone(),
            own_server: self.own_server.clone(),
            written_server: self.written_server,
            trust: self.trust.clone(),
            idle_thread: self.idle_thread,
            allowed: self.allowed.clone(),
            queued: self.queued,
            notify: self.notify.clone(),
            rules: self.rules.iter().map(|rule| rule.id.clone()).collect(),
        }
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    doors: mpsc::Sender<FromDoor>,
    /// Held while an intent with a key is looked for and written.
    keyed: Arc<tokio::sync::Mutex<()>>,
    worktrees: Worktrees,
    host_asks: Arc<HostAsks>,
    /// What Codex said last of its models.
    models: Arc<std::sync::Mutex<Vec<model_check::KnownModels>>>,
}

/// Ends when the engine has ended.
#[derive(Debug)]
pub struct EngineTask {
    work: JoinHandle<Result<(), StoreError>>,
    /// Removes worktrees that are nobody's; what it does not get done, the next one does.
    tidying: JoinHandle<()>,
    /// Tells people what became of tasks.
    telling: JoinHandle<()>,
}

/// A task that was started, now or before by the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub task: TaskId,
    pub is_known: bool,
}

/// An app-server that serves tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppServerShown {
    pub keeper: Option<String>,
    pub codex_version: String,
    pub codex_home: String,
    pub threads: usize,
    /// The only task that it is for.
    pub isolated_for: Option<TaskId>,
    /// It takes no further thread, and is replaced when those in it are closed.
    pub is_full: bool,
}

impl Engine {
    /// Takes up all that an earlier engine left on this store, and works until `stop`.
    pub async fn start(
        store: Store,
        settings: EngineSettings,
        stop: CancellationToken,
    ) -> Result<(Self, EngineTask), StoreError> {
        let live = settings.live();
        let mut rules = settings.rules;
        for row in store.rules(now()).await? {
            match serde_json::from_str(&row.json) {
                Ok(rule) => rules.push(rule),
                Err(error) => {
                    tracing::error!(%error, rule = %row.id, "a rule cannot be read and does not count");
                }
            }
        }
        let worktrees = Worktrees::new(settings.worktrees, &settings.pool.environment);
        let on_disk = OnDisk::new(settings.changes, &settings.pool.environment);
        // Whose they are is seen before anybody can start a task.
        let orphans = worktrees.orphans(&store).await;
        let (to_dispatcher, runners) = mpsc::channel(QUEUED_WORDS);
        let (doors, wants) = mpsc::channel(QUEUED_WORDS);
        let shared = Arc::new(Shared {
            pool: Arc::new(Pool::new(settings.pool, store.clone())),
            store,
            hub: Hub::new(),
            tool_calls: Arc::default(),
            on_disk,
            writers: Writers::default(),
            rules: RwLock::new(Arc::new(RuleSet::new(rules))),
            live: RwLock::new(Arc::new(live)),
            dispatcher: to_dispatcher,
            mail: Notify::new(),
        });
        let host_asks = HostAsks::start(shared.clone()).await?;
        let line = Line::new(settings.running, settings.running_per_pool);
        let telling = tokio::spawn(Outbox::new(shared.clone()).run(stop.clone()));
        let dispatcher = Dispatcher::new(shared.clone(), line, stop);
        let work = tokio::spawn(dispatcher.run(wants, runners));
        let tidying = worktrees.clone();
        let states = shared.clone();
        let tidying = tokio::spawn(async move {
            drop(tidying.tidy(orphans).await);
            states.on_disk.tidy(&states.store).await;
        });
        let engine = Self {
            shared,
            doors,
            keyed: Arc::default(),
            worktrees,
            host_asks,
            models: Arc::default(),
        };
        Ok((engine, EngineTask { work, tidying, telling }))
    }

    /// Other settings from now on; what runs goes on with those that it began with. Where worktrees are made stays as it was.
    pub async fn apply(&self, settings: EngineSettings) {
        let live = settings.live();
        self.shared.apply(live, settings.rules);
        self.shared.pool.apply(settings.pool);
        let (most, most_per_pool) = (settings.running, settings.running_per_pool);
        self.tell(FromDoor::Room { most, most_per_pool }).await;
    }

    /// Returns when the dispatcher has gone round: as long as it does not, nothing begins and nobody is heard.
    pub async fn goes_round(&self) {
        let (done, gone_round) = oneshot::channel();
        self.tell(FromDoor::Knock { done }).await;
        // One that has ended goes round no more.
        if gone_round.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// What is remembered. Reading needs nobody's leave.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Those keys of a task's configuration that are not known to leave its rights as they are, and that the operator has not named.
    pub fn widening(&self, config: &BTreeMap<String, String>) -> Vec<String> {
        self.shared.live().allowed.widening(config).into_iter().map(str::to_owned).collect()
    }

    /// Writes a task down and lets it run when its time has come. With a key, a second start is the first one.
    pub async fn start_task(&self, wish: StartTask) -> Result<Started, Refusal> {
        let key = wish
            .key
            .as_ref()
            .map(|key| StartKey { key: format!("{}\n{key}", wish.by), digest: wish.digest() });
        // One that was started before needs no room, no folder and no Codex any more.
        if let Some(key) = &key
            && let Some(task) = self.shared.store.started_with(&wish.by, key).await?
        {
            return Ok(Started { task, is_known: true });
        }
        self.check_room().await?;
        let live = self.shared.live();
        let others = match live.allowed.homes.is_strange(&wish.settings) {
            true => self.shared.store.unfinished().await?,
            false => Vec::new(),
        };
        let others: Vec<TaskSettings> = others.into_iter().map(|task| task.settings).collect();
        let problems = live.notify.check(&wish.settings.notify);
        start::check(&wish, &live.allowed, &others, problems)?;
        // A version that nobody asked for is not kept: the task runs on what is there when its time has come.
        let pool = &self.shared.pool;
        let kind = match &wish.forked_from {
            None => pool.admit(&wish.settings).await,
            Some(_) => pool.kind_now(&wish.settings).await,
        };
        // What is missing for the moment only is waited for.
        if let Err(failure) = kind
            && failure.class != FailureClass::ServerGone
        {
            return Err(Refusal::Codex(failure));
        }
        let StartTask { mut settings, input, by, forked_from, id, worktree, key: wish_key } = wish;
        let id = id.unwrap_or_else(fresh_task_id);
        if worktree {
            let made = self.worktrees.make(&id, Path::new(&settings.cwd)).await?;
            settings.worktree = Some(made.worktree);
            settings.cwd = made.cwd;
        }
        if let Some(own) = &live.own_server {
            if let Some(written) = (live.written_server)(&pool.home(&settings)) {
                own.bring_along(&mut settings.config, &written);
            }
            own.work_for(&mut settings.config, id.as_str());
        }
        let key = wish_key.zip(key);
        let (task, batch) = new_task(settings, input, by, forked_from, &id, key);
        let committed = self.shared.store.commit(batch).await;
        if let (Err(_) | Ok(Committed::Known(_)), Some(made)) =
            (&committed, &task.settings.worktree)
        {
            self.worktrees.discard(&task.id, made).await;
        }
        match committed? {
            Committed::Known(task) => Ok(Started { task, is_known: true }),
            _ => {
                self.shared.hub.tell_changed(&task.id, TaskState::Queued);
                self.tell(FromDoor::Queue(Waiting::of(&task))).await;
                Ok(Started { task: task.id, is_known: false })
            }
        }
    }

    /// Gives a task more to do, whatever its state. With a key, a second send is the first one. Whoever wants it only if no
    /// turn runs is told at once whether one does.
    pub async fn send(
        &self,
        task: &TaskId,
        input: Input,
        if_busy: IfBusy,
        by: &str,
        key: Option<&str>,
    ) -> Result<IntentId, Refusal> {
        start::check_input(&input)?;
        let worktree = self.find(task).await?.settings.worktree;
        if worktree.is_some_and(|worktree| !Path::new(&worktree.path).is_dir()) {
            return Err(WorktreeError::Removed { task: task.clone() }.into());
        }
        let intent = self.intend(task, Wish::Send { input, if_busy }, by, key).await?;
        match if_busy {
            IfBusy::Fail => self.check_not_busy(task, &intent).await?,
            IfBusy::SteerOnly => self.check_in_time(task, &intent, "steered").await?,
            _ => {}
        }
        Ok(intent)
    }

    /// Whether a task could take an input is seen by its runner alone.
    async fn check_not_busy(&self, task: &TaskId, intent: &IntentId) -> Result<(), Refusal> {
        // Where it is not seen in time, the input stays written down and may yet be taken.
        self.settled(task).await;
        match self.shared.store.intent(intent).await?.map(|intent| intent.state) {
            Some(IntentState::NotDone { why: NotDone::Refused { failure } })
                if failure.class == FailureClass::Busy =>
            {
                Err(Refusal::Busy { task: task.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Whether there is a turn for it is seen by the task's runner alone.
    async fn check_in_time(
        &self,
        task: &TaskId,
        intent: &IntentId,
        what: &'static str,
    ) -> Result<(), Refusal> {
        // Where it is not seen in time, what is wanted stays written down and may yet be done.
        self.settled(task).await;
        match self.shared.store.intent(intent).await?.map(|intent| intent.state) {
            Some(IntentState::NotDone { why: NotDone::TooLate }) => {
                let state = self.find(task).await?.state;
                Err(Refusal::NothingRuns { task: task.clone(), state, what })
            }
            _ => Ok(()),
        }
    }

    /// What became of the input that was given under this key, with the start of the task or later.
    pub async fn intent_by_key(
        &self,
        task: &TaskId,
        key: &str,
    ) -> Result<Option<Intent>, StoreError> {
        self.shared.store.intent(&intent_id(task, Some(key))).await
    }

    /// Ends the turn that runs. A task that has not begun is cancelled; one that is over is refused.
    pub async fn interrupt(&self, task: &TaskId, by: &str) -> Result<IntentId, Refusal> {
        let intent = self.intend(task, Wish::Interrupt, by, None).await?;
        self.check_in_time(task, &intent, "ended").await?;
        Ok(intent)
    }

    /// Sets, pauses, resumes or clears the goal that Codex works on by itself.
    pub async fn change_goal(
        &self,
        task: &TaskId,
        change: GoalChange,
        by: &str,
        key: Option<&str>,
    ) -> Result<IntentId, Refusal> {
        change.check().map_err(|message| Refusal::Invalid {
            problems: vec![Problem { what: "goal".to_owned(), message }],
        })?;
        self.intend(task, Wish::Goal { goal: change }, by, key).await
    }

    /// Whoever used the task needs it no more for now: its thread is closed, and its app-server ended if nobody else has a thread
    /// there. False if something is being done on it; then both are closed when they have been idle for a while.
    pub async fn release(&self, task: &TaskId) -> Result<bool, Refusal> {
        self.find(task).await?;
        let (done, released) = oneshot::channel();
        self.tell(FromDoor::Release { task: task.clone(), done }).await;
        let is_released = released.await.unwrap_or(false);
        if is_released && let Some(keeper) = self.find(task).await?.keeper {
            self.shared.pool.end_if_unused(&keeper);
        }
        Ok(is_released)
    }

    /// Ends what runs of a task, and forgets it. Its thread in Codex's home stays, and so does its worktree if that has work
    /// that is nowhere else; then its folder is given back.
    pub async fn remove(&self, task: &TaskId) -> Result<Option<String>, Refusal> {
        let (engine, task) = (self.clone(), task.clone());
        // Whoever asked may leave in the middle of it, and half a removal would be a task that nobody works on.
        let removing = tokio::spawn(async move { engine.remove_whole(&task).await });
        removing.await.unwrap_or(Err(Refusal::Ending))
    }

    async fn remove_whole(&self, task: &TaskId) -> Result<Option<String>, Refusal> {
        let worktree = self.find(task).await?.settings.worktree;
        let (done, removed) = oneshot::channel();
        self.tell(FromDoor::Remove { task: task.clone(), done }).await;
        removed.await.unwrap_or(Err(Refusal::Ending))?;
        self.shared.store.commit(Write::RemoveTask(task.clone()).into()).await?;
        self.shared.hub.tell_gone(task);
        self.shared.on_disk.forget(task).await;
        let Some(worktree) = worktree else { return Ok(None) };
        match self.worktrees.remove(task, &worktree, Force::No).await {
            Ok(_) | Err(WorktreeError::Removed { .. }) => Ok(None),
            Err(error) => {
                tracing::info!(%error, %task, "the worktree of a task that was removed stays");
                Ok(Some(worktree.path))
            }
        }
    }

    /// The chat messages of all turns that have ended.
    pub async fn messages(&self, task: &TaskId) -> Result<Vec<TurnMessages>, StoreError> {
        messages(&self.shared.store, task).await
    }

    pub async fn sweep(&self, retention: &Retention) -> Result<SweepReport, StoreError> {
        self.host_asks.expire(now()).await?;
        let report = self.shared.store.sweep(now(), retention).await?;
        for task in report.too_old.iter().chain(&report.too_many).chain(&report.too_large) {
            self.shared.hub.tell_gone(task);
            self.shared.on_disk.forget(task).await;
        }
        Ok(report)
    }

    /// Makes a rule. None gets a name that is for rules of the operator's file: it would stand in the place of one.
    pub async fn add_rule(&self, rule: Rule) -> Result<(), Refusal> {
        if self.is_of_file(&rule.id) || rule.id.as_str().starts_with(Rule::OF_FILE) {
            return Err(Refusal::RuleNameTaken { rule: rule.id });
        }
        self.shared.store.commit(Write::Rule(row(&rule)).into()).await?;
        self.shared.add_rule(rule);
        Ok(())
    }

    /// Removes a rule that somebody has made. One of the operator's file would hold again as soon as the file is read.
    pub async fn remove_rule(&self, rule: &RuleId) -> Result<(), Refusal> {
        if self.is_of_file(rule) {
            return Err(Refusal::RuleOfFile { rule: rule.clone() });
        }
        self.shared.store.commit(Write::RuleGone(rule.clone()).into()).await?;
        self.shared.remove_rule(rule);
        Ok(())
    }

    fn is_of_file(&self, rule: &RuleId) -> bool {
        self.shared.live().rules.contains(rule)
    }

    pub fn rules(&self) -> Arc<RuleSet> {
        self.shared.rules()
    }

    /// The app-servers that run for tasks.
    /// Whether no keeper lives, of a task or of a person's own: then no agent of ours runs. What cannot be read counts as one.
    pub async fn has_no_keeper(&self) -> bool {
        let keepers = self.shared.pool.keepers();
        let look = move || {
            let found = keeper::list(&keepers).ok()?;
            let is_over =
                |found: &Found| matches!(found.condition, Condition::Ended(_) | Condition::Gone);
            found.iter().all(is_over).then_some(())
        };
        matches!(tokio::task::spawn_blocking(look).await, Ok(Some(())))
    }

    pub fn app_servers(&self) -> Vec<AppServerShown> {
        let servers = self.shared.pool.servers().into_iter();
        let shown = servers.map(|server| AppServerShown {
            keeper: server.keeper().map(|keeper| keeper.as_str().to_owned()),
            codex_version: server.version.to_string(),
            codex_home: server.home.display().to_string(),
            threads: server.seats(),
            isolated_for: server.isolated_for().cloned(),
            is_full: server.is_retired(),
        });
        shown.collect()
    }

    async fn check_room(&self) -> Result<(), Refusal> {
        let counts = self.shared.store.counts().await?;
        let queued = counts.get(&TaskState::Queued).copied().unwrap_or(0);
        let most = self.shared.live().queued;
        match queued < u64::try_from(most).unwrap_or(u64::MAX) {
            true => Ok(()),
            false => Err(Refusal::QueueFull { most }),
        }
    }

    async fn find(&self, task: &TaskId) -> Result<Task, Refusal> {
        let found = self.shared.store.task(task).await?;
        found.ok_or_else(|| Refusal::NoTask(task.clone()))
    }

    async fn intend(
        &self,
        task: &TaskId,
        wish: Wish,
        by: &str,
        key: Option<&str>,
    ) -> Result<IntentId, Refusal> {
        let found = self.find(task).await?;
        let id = intent_id(task, key);
        // Two that come at once with the same key must not both be written.
        let _alone = match key {
            Some(_) => Some(self.keyed.lock().await),
            None => None,
        };
        if let Some(key) = key
            && let Some(known) = self.shared.store.intent(&id).await?
        {
            let (key, task) = (key.to_owned(), task.clone());
            return match known.wish == wish {
                true => Ok(id),
                false => Err(StoreError::KeyReused { key, task }.into()),
            };
        }
        let at = now();
        let intent = Intent {
            id: id.clone(),
            task: task.clone(),
            wish,
            by: by.to_owned(),
            at,
            state: IntentState::Pending,
        };
        let mut batch = Batch::new();
        batch.push(Write::Intent(Box::new(intent.clone())));
        batch.event(task, at, Event::Intended { intent: Box::new(intent.clone()) });
        if let Committed::Written(seqs) = self.shared.store.commit(batch).await?
            && let Some(seqs) = seqs.first()
        {
            self.shared.hub.tell(task, || News::Logged { seq: seqs.last });
        }
        let order = Order::Submit(Box::new(intent));
        self.tell(FromDoor::Do { task: found.id, order }).await;
        Ok(id)
    }

    /// What an engine that is ending is not told, the next one finds in the store.
    async fn tell(&self, word: FromDoor) {
        drop(self.doors.send(word).await);
    }
}

impl EngineTask {
    /// Waits until all runners have written down what they have.
    pub async fn ended(self) -> Result<(), StoreError> {
        self.tidying.abort();
        let ended = self.work.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the dispatcher failed");
            Err(StoreError::Closed)
        });
        if let Err(error) = self.telling.await {
            tracing::error!(%error, "the outbox failed");
        }
        ended
    }
}

/// Tasks of one name may share app-servers, as far as what they wish for tells.
pub(crate) fn pool_name(settings: &TaskSettings) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}\n{}", part(&settings.codex.version), part(&settings.codex.home))
}
