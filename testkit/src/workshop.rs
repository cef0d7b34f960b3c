//! An engine in the test's own process, on a stage. It can be ended like a daemon that is killed, and opened again.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostler_codex::binary::{Cache, Environment, Settings};
use ostler_codex::keeper;
use ostler_engine::{
    Allowed, Answer, Binaries, Engine, EngineSettings, EngineTask, Homes, NotifySettings,
    PoolSettings, PoolWaits, StartTask, StoredSecrets, WorktreeSettings,
};
use ostler_model::task::{
    AskRecord, DecidedBy, IntentState, Sandbox, SandboxMode, TaskSettings, Wish,
};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, Event, Input, IntentId, Task, TaskId, TaskState};
use ostler_store::{Store, StoreSettings};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::stage::Stage;

/// Everything here takes a second or two; the tests share two cores with each other.
const DEADLINE: Duration = Duration::from_secs(90);

pub struct Workshop {
    pub engine: Engine,
    stop: CancellationToken,
    task: EngineTask,
}

impl Workshop {
    pub async fn open(stage: &Stage) -> Result<Self> {
        Self::open_with(stage, |_| {}).await
    }

    /// With other settings than the usual ones.
    pub async fn open_with(
        stage: &Stage,
        change: impl FnOnce(&mut EngineSettings),
    ) -> Result<Self> {
        std::fs::create_dir_all(stage.state())?;
        let store = Store::open(StoreSettings::at(stage.state().join("ostler.db")))?;
        let mut settings = Self::usual_settings(stage)?;
        change(&mut settings);
        let stop = CancellationToken::new();
        let (engine, task) = Engine::start(store, settings, stop.clone()).await?;
        Ok(Self { engine, stop, task })
    }

    /// What an engine has that is opened without other wishes.
    pub fn usual_settings(stage: &Stage) -> Result<EngineSettings> {
        let start = stage.start_keeper()?;
        let binaries = Binaries::new(
            Settings { path: Some(stage.codex_path().to_owned()), version: None },
            Cache::new(stage.state().join("codex")),
            Environment::new(start.environment.clone()),
        );
        Ok(EngineSettings {
            pool: PoolSettings {
                stored: StoredSecrets::default(),
                keepers: start.root,
                program: start.program,
                environment: start.environment,
                keep: Vec::new(),
                binaries,
                threads_per_server: 50,
                memory_per_server: None,
                open_files_per_server: None,
                idle_server: Duration::from_secs(300),
                ready_deadline: start.ready_deadline,
                waits: PoolWaits::default(),
            },
            running: 8,
            running_per_pool: 8,
            queued: 1000,
            idle_thread: Duration::from_secs(60),
            approver: None,
            own_server: None,
            written_server: |_| None,
            trust: None,
            rules: Vec::new(),
            allowed: Allowed {
                homes: Homes { usual: Some(stage.codex_home()), ..Homes::default() },
                ..Allowed::default()
            },
            changes: stage.state().join("changes"),
            worktrees: WorktreeSettings {
                folder: stage.state().join("worktrees"),
                branch_prefix: "ostler/".to_owned(),
            },
            notify: NotifySettings::default(),
        })
    }

    /// Lets it end at once; what it has under way is given up.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Ends it. Its keepers and their turns go on.
    pub async fn close(self) -> Result<()> {
        self.stop.cancel();
        self.task.ended().await?;
        self.engine.store().clone().close().await;
        Ok(())
    }

    /// Starts a task in the stage's workspace, where it may write.
    pub async fn start(&self, stage: &Stage, prompt: &str) -> Result<TaskId> {
        self.start_with(stage, prompt, |_| {}).await
    }

    pub async fn start_with(
        &self,
        stage: &Stage,
        prompt: &str,
        change: impl FnOnce(&mut TaskSettings),
    ) -> Result<TaskId> {
        let mut settings = TaskSettings {
            sandbox: Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() },
            ..TaskSettings::in_folder(stage.workspace().display().to_string())
        };
        settings.codex.home = Some(stage.codex_home().display().to_string());
        change(&mut settings);
        let wish = StartTask {
            settings,
            input: Input::text(prompt),
            by: "test".to_owned(),
            key: None,
            forked_from: None,
            id: None,
            worktree: false,
        };
        Ok(self.engine.start_task(wish).await?.task)
    }

    pub async fn task(&self, task: &TaskId) -> Result<Task> {
        self.engine.store().task(task).await?.context("no such task")
    }

    /// Waits until the task stands so.
    pub async fn until(&self, task: &TaskId, state: TaskState) -> Result<Task> {
        self.until_that(task, |task| task.state == state).await
    }

    pub async fn until_that(&self, task: &TaskId, is_so: impl Fn(&Task) -> bool) -> Result<Task> {
        let mut changes = self.engine.watch_all();
        let deadline = Instant::now() + DEADLINE;
        loop {
            let now = self.task(task).await?;
            if is_so(&now) {
                return Ok(now);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let log = self.engine.store().events(task, 0, 1000).await?;
                let log: Vec<String> =
                    log.iter().map(|logged| format!("{} {:?}", logged.at, logged.event)).collect();
                bail!(
                    "the task still stands as {:?}: {:?}; its log:\n{}",
                    now.state,
                    now.cause,
                    log.join("\n")
                );
            }
            // A change may be told before somebody listens; then the state is looked at again after a moment.
            drop(timeout(left.min(Duration::from_millis(200)), changes.recv()).await);
        }
    }

    /// Waits for an ask of the task.
    pub async fn ask(&self, task: &TaskId) -> Result<AskRecord> {
        self.until_that(task, |task| {
            task.state.waits_for_a_person() || task.state == TaskState::Parked
        })
        .await?;
        let asks = self.engine.store().undecided_asks_of(task).await?;
        asks.into_iter().next().context("no ask")
    }

    pub async fn answer(&self, ask: &AskRecord, decision: Decision) -> Result<()> {
        let by = DecidedBy::Person { name: "test".to_owned(), surface: "test".to_owned() };
        let answer = Answer { decision, reason: None, remember: None, by };
        Ok(self.engine.answer(&ask.id, answer).await?)
    }

    /// The whole log, checked for gaps.
    pub async fn log(&self, task: &TaskId) -> Result<Vec<Event>> {
        let logged = self.engine.store().events(task, 0, usize::MAX).await?;
        for (at, event) in logged.iter().enumerate() {
            anyhow::ensure!(event.seq == at as u64 + 1, "a gap before {}", event.seq);
        }
        Ok(logged.into_iter().map(|logged| logged.event).collect())
    }

    /// Waits until the model has got this many requests.
    pub async fn until_requests(&self, stage: &Stage, requests: u64) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        while stage.model().requests_seen() < requests {
            let seen = stage.model().requests_seen();
            anyhow::ensure!(Instant::now() < deadline, "only {seen} requests");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Kills the app-server that the task is in, as the kernel would.
    pub async fn kill_codex(&self, stage: &Stage, task: &TaskId) -> Result<()> {
        self.signal_codex(stage, task, Signal::KILL).await
    }

    /// Asks it to end when its turns have.
    pub async fn drain_codex(&self, stage: &Stage, task: &TaskId) -> Result<()> {
        self.signal_codex(stage, task, Signal::TERM).await
    }

    async fn signal_codex(&self, stage: &Stage, task: &TaskId, signal: Signal) -> Result<()> {
        let keeper = self.task(task).await?.keeper.context("the task is in no app-server")?;
        let found = keeper::find(&stage.start_keeper()?.root, &keeper)?;
        let record = found.record.context("no record")?;
        let pid = record.codex.context("codex does not run")?.pid;
        let pid = Pid::from_raw(pid).context("no pid")?;
        Ok(kill_process(pid, signal)?)
    }

    /// What became of all that was wanted of the task, in the order in which it came.
    pub async fn intents(&self, task: &TaskId) -> Result<Vec<(Wish, IntentState)>> {
        let intents = self.engine.store().intents(task).await?;
        Ok(intents.into_iter().map(|intent| (intent.wish, intent.state)).collect())
    }

    pub async fn send(&self, task: &TaskId, prompt: &str, if_busy: IfBusy) -> Result<IntentId> {
        Ok(self.engine.send(task, Input::text(prompt), if_busy, "test", None).await?)
    }

    /// Waits until the intent may have reached Codex.
    pub async fn until_sent(&self, intent: &IntentId) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let found = self.engine.store().intent(intent).await?.context("no such intent")?;
            if found.state != IntentState::Pending {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < deadline, "it was not sent");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the intent is settled.
    pub async fn settled(&self, intent: &IntentId) -> Result<IntentState> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let found = self.engine.store().intent(intent).await?.context("no such intent")?;
            if !found.state.is_open() {
                return Ok(found.state);
            }
            anyhow::ensure!(Instant::now() < deadline, "it is still {:?}", found.state);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The states the task has been in, each of which was left where the next begins.
    pub async fn states(&self, task: &TaskId) -> Result<Vec<TaskState>> {
        let log = self.log(task).await?;
        let mut now = TaskState::Queued;
        let mut states = Vec::new();
        for event in log {
            if let Event::State { from, to, cause } = event {
                anyhow::ensure!(from == now, "it went from {now} to {from} unseen, then {cause:?}");
                states.push(to);
                now = to;
            }
        }
        let stands = self.task(task).await?.state;
        anyhow::ensure!(stands == now, "the log ends with {now}, and the task stands as {stands}");
        Ok(states)
    }
}
