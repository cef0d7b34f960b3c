//! The handle: what doors may ask of the engine. All of it is durable when it returns.

mod changes;
mod new_task;

pub use changes::{DiffFrom, DiffOf, TaskDiff};
pub use new_task::{fork_of, fresh_task_id};

use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use ostler_model::policy::{Rule, RuleSet};
use ostler_model::task::{AskRecord, AskState, DecidedBy, Intent, IntentState, TaskSettings, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{AskId, Decision, Event, Input, IntentId, RuleId, Task, TaskId, TaskState};
use ostler_store::{
    Batch, Committed, Retention, RuleRow, StartKey, Store, StoreError, SweepReport, Write,
};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::new_task::{intent_id, new_task};
use crate::approver::Approver;
use crate::dispatcher::{Dispatcher, FromDoor, Waiting};
use crate::hub::{Changed, Hub, News};
use crate::line::Line;
use crate::pool::{Pool, PoolSettings};
use crate::refusal::Refusal;
use crate::runner::{AnswerError, AnswerOrder, Order, Remembering};
use crate::shared::{Shared, now};
use crate::start::{self, Allowed, StartTask};
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
    /// Of the operator's file; those made by `always` are in the store.
    pub rules: Vec<Rule>,
    pub allowed: Allowed,
    pub worktrees: WorktreeSettings,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    doors: mpsc::Sender<FromDoor>,
    allowed: Allowed,
    queued: usize,
    /// Held while an intent with a key is looked for and written.
    keyed: Arc<tokio::sync::Mutex<()>>,
    worktrees: Worktrees,
}

/// Ends when the engine has ended.
#[derive(Debug)]
pub struct EngineTask {
    work: JoinHandle<Result<(), StoreError>>,
    /// Removes worktrees that are nobody's; what it does not get done, the next one does.
    tidying: JoinHandle<()>,
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

/// An answer of a person, or of a program that may decide.
#[derive(Debug, Clone)]
pub struct Answer {
    pub decision: Decision,
    pub reason: Option<String>,
    /// Also make a rule of it.
    pub remember: Option<Remembering>,
    pub by: DecidedBy,
}

impl Engine {
    /// Takes up all that an earlier engine left on this store, and works until `stop`.
    pub async fn start(
        store: Store,
        settings: EngineSettings,
        stop: CancellationToken,
    ) -> Result<(Self, EngineTask), StoreError> {
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
        // Whose they are is seen before anybody can start a task.
        let orphans = worktrees.orphans(&store).await;
        let (to_dispatcher, runners) = mpsc::channel(QUEUED_WORDS);
        let (doors, wants) = mpsc::channel(QUEUED_WORDS);
        let shared = Arc::new(Shared {
            pool: Arc::new(Pool::new(settings.pool, store.clone())),
            store,
            hub: Hub::new(),
            rules: RwLock::new(Arc::new(RuleSet::new(rules))),
            approver: settings.approver,
            idle_thread: settings.idle_thread,
            dispatcher: to_dispatcher,
        });
        let line = Line::new(settings.running, settings.running_per_pool);
        let dispatcher = Dispatcher::new(shared.clone(), line, stop);
        let work = tokio::spawn(dispatcher.run(wants, runners));
        let tidying = worktrees.clone();
        let tidying = tokio::spawn(async move { tidying.tidy(orphans).await });
        let engine = Self {
            shared,
            doors,
            allowed: settings.allowed,
            queued: settings.queued,
            keyed: Arc::default(),
            worktrees,
        };
        Ok((engine, EngineTask { work, tidying }))
    }

    /// What is remembered. Reading needs nobody's leave.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// News of one task from now on. Whoever lags behind reads the store again.
    pub fn watch(&self, task: &TaskId) -> broadcast::Receiver<News> {
        self.shared.hub.watch(task)
    }

    /// Which tasks have changed their state, from now on.
    pub fn watch_all(&self) -> broadcast::Receiver<Changed> {
        self.shared.hub.watch_all()
    }

    /// Writes a task down and lets it run when its time has come. With a key, a second start is the first one.
    pub async fn start_task(&self, wish: StartTask) -> Result<Started, Refusal> {
        let key = wish
            .key
            .as_ref()
            .map(|key| StartKey { key: format!("{}\n{key}", wish.by), digest: wish.digest() });
        self.check_room(&wish.by, key.as_ref()).await?;
        start::check(&wish, &self.allowed)?;
        // Which Codex it is stays so for good: a thread must not go back to an older one.
        let pool = &self.shared.pool;
        let kind = match &wish.forked_from {
            None => pool.admit(&wish.settings).await,
            Some(_) => pool.kind_now(&wish.settings).await,
        };
        let kind = kind.map_err(Refusal::Codex)?;
        let StartTask { mut settings, input, by, forked_from, id, worktree, .. } = wish;
        let id = id.unwrap_or_else(fresh_task_id);
        if worktree {
            let made = self.worktrees.make(&id, Path::new(&settings.cwd)).await?;
            settings.worktree = Some(made.worktree);
            settings.cwd = made.cwd;
        }
        settings.codex.version = Some(kind.version.to_string());
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

    /// Gives a task more to do, whatever its state. With a key, a second send is the first one.
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
        self.intend(task, Wish::Send { input, if_busy }, by, key).await
    }

    /// Ends the turn that runs. A task that has not begun is cancelled.
    pub async fn interrupt(&self, task: &TaskId, by: &str) -> Result<IntentId, Refusal> {
        self.intend(task, Wish::Interrupt, by, None).await
    }

    /// Decides an ask. The first decision counts.
    pub async fn answer(&self, ask: &AskId, answer: Answer) -> Result<(), AnswerError> {
        let record =
            self.shared.store.ask(ask).await?.ok_or_else(|| AnswerError::NotFound(ask.clone()))?;
        if record.state == AskState::Closed || record.state == AskState::Decided {
            return Err(too_late(&record));
        }
        let Answer { decision, reason, remember, by } = answer;
        let (reply, answered) = oneshot::channel();
        let order = AnswerOrder { ask: ask.clone(), decision, by, reason, remember, reply };
        self.tell(FromDoor::Do {
            task: record.task.clone(),
            order: Order::Answer(Box::new(order)),
        })
        .await;
        match answered.await {
            Ok(Err(AnswerError::Closed)) => match self.shared.store.ask(ask).await? {
                Some(record) => Err(too_late(&record)),
                None => Err(AnswerError::Closed),
            },
            Ok(answered) => answered,
            Err(_) => Err(AnswerError::Ending),
        }
    }

    /// Writes down that a program under an app-server tried to decide.
    pub async fn note_self_approval(
        &self,
        ask: &AskRecord,
        who: String,
        why: String,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        batch.event(
            &ask.task,
            now(),
            Event::SelfApprovalRefused { ask: Some(ask.id.clone()), who, why },
        );
        let committed = self.shared.store.commit(batch).await?;
        if let Committed::Written(seqs) = committed
            && let Some(seqs) = seqs.first()
        {
            self.shared.hub.tell(&ask.task, News::Logged { seq: seqs.last });
        }
        Ok(())
    }

    /// Ends what runs of a task, and forgets it. Its thread in Codex's home stays, and so does its worktree if that has work
    /// that is nowhere else; then its folder is given back.
    pub async fn remove(&self, task: &TaskId) -> Result<Option<String>, Refusal> {
        let worktree = self.find(task).await?.settings.worktree;
        let (done, removed) = oneshot::channel();
        self.tell(FromDoor::Remove { task: task.clone(), done }).await;
        if removed.await.is_err() {
            return Err(Refusal::Ending);
        }
        self.shared.store.commit(Write::RemoveTask(task.clone()).into()).await?;
        let Some(worktree) = worktree else { return Ok(None) };
        match self.worktrees.remove(task, &worktree, Force::No).await {
            Ok(_) | Err(WorktreeError::Removed { .. }) => Ok(None),
            Err(error) => {
                tracing::info!(%error, %task, "the worktree of a task that was removed stays");
                Ok(Some(worktree.path))
            }
        }
    }

    pub async fn sweep(&self, retention: &Retention) -> Result<SweepReport, StoreError> {
        self.shared.store.sweep(now(), retention).await
    }

    pub async fn add_rule(&self, rule: Rule) -> Result<(), StoreError> {
        let json = serde_json::to_string(&rule).unwrap_or_default();
        let row = RuleRow { id: rule.id.clone(), json, expires_at: rule.expires_at };
        self.shared.store.commit(Write::Rule(row).into()).await?;
        self.shared.add_rule(rule);
        Ok(())
    }

    pub async fn remove_rule(&self, rule: &RuleId) -> Result<(), StoreError> {
        self.shared.store.commit(Write::RuleGone(rule.clone()).into()).await?;
        self.shared.remove_rule(rule);
        Ok(())
    }

    pub fn rules(&self) -> Arc<RuleSet> {
        self.shared.rules()
    }

    /// The app-servers that run for tasks.
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

    /// One that was started before needs no room.
    async fn check_room(&self, by: &str, key: Option<&StartKey>) -> Result<(), Refusal> {
        let store = &self.shared.store;
        let queued = store.counts().await?.get(&TaskState::Queued).copied().unwrap_or(0);
        if queued < u64::try_from(self.queued).unwrap_or(u64::MAX) {
            return Ok(());
        }
        if let Some(key) = key
            && store.task_by_key(by, &key.key).await?.is_some()
        {
            return Ok(());
        }
        Err(Refusal::QueueFull { most: self.queued })
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
            self.shared.hub.tell(task, News::Logged { seq: seqs.last });
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
        self.work.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the dispatcher failed");
            Err(StoreError::Closed)
        })
    }
}

/// Tasks of one name may share app-servers, as far as what they wish for tells.
pub(crate) fn pool_name(settings: &TaskSettings) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}\n{}", part(&settings.codex.version), part(&settings.codex.home))
}

fn too_late(record: &AskRecord) -> AnswerError {
    match &record.decision {
        Some(decided) => AnswerError::Decided { by: decided.by.describe() },
        None => AnswerError::Closed,
    }
}
