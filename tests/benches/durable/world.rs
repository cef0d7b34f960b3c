//! An engine in this process, on the fake Codex in another one.

use std::path::PathBuf;
use std::time::Duration;

use ostler_codex::binary::{Cache, Environment, Settings};
use ostler_codex::keeper::{self, StopMode};
use ostler_engine::{
    Allowed, Binaries, Engine, EngineSettings, EngineTask, Homes, NotifySettings, PoolSettings,
    PoolWaits, StartTask, StoredSecrets, WorktreeSettings,
};
use ostler_model::policy::{Effect, Matcher, Rule, Scope, Words};
use ostler_model::task::TaskSettings;
use ostler_model::{Input, Task, TaskId, TaskState};
use ostler_store::{Store, StoreSettings};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(300);

pub(crate) struct World {
    /// Beside what is built, so that it is the disk that people build on and no memory.
    folder: TempDir,
    /// Short, because of the sockets in it.
    runtime: TempDir,
    pub(crate) engine: Engine,
    stop: CancellationToken,
    task: EngineTask,
}

impl World {
    pub(crate) async fn open(rules: Vec<Rule>) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let runtime = tempfile::Builder::new().prefix("bench").tempdir_in("/tmp").unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["codex-home", "workspace", "state"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let keepers = runtime.path().join("keepers");
        std::fs::create_dir(&keepers).unwrap();
        let environment = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), folder.path().into()),
        ];
        let fake = Settings { path: Some(std::env::current_exe().unwrap()), version: None };
        let binaries = Binaries::new(
            fake,
            Cache::new(at("state/codex")),
            Environment::new(environment.clone()),
        );
        let settings = EngineSettings {
            pool: PoolSettings {
                keepers,
                program: env!("CARGO_BIN_EXE_ostler").into(),
                environment,
                keep: Vec::new(),
                stored: StoredSecrets::default(),
                binaries,
                threads_per_server: 50,
                memory_per_server: None,
                open_files_per_server: None,
                idle_server: DEADLINE,
                ready_deadline: DEADLINE,
                waits: PoolWaits::default(),
            },
            running: 8,
            running_per_pool: 8,
            queued: 1000,
            idle_thread: DEADLINE,
            approver: None,
            own_server: None,
            written_server: |_| None,
            trust: None,
            rules,
            allowed: Allowed {
                homes: Homes { usual: Some(at("codex-home")), ..Homes::default() },
                ..Allowed::default()
            },
            changes: at("state/changes"),
            worktrees: WorktreeSettings {
                folder: at("state/worktrees"),
                branch_prefix: "ostler/".to_owned(),
            },
            notify: NotifySettings::default(),
        };
        let store = Store::open(StoreSettings::at(at("state/ostler.db"))).unwrap();
        let stop = CancellationToken::new();
        let (engine, task) = Engine::start(store, settings, stop.clone()).await.unwrap();
        Self { folder, runtime, engine, stop, task }
    }

    pub(crate) fn codex_home(&self) -> PathBuf {
        self.folder.path().join("codex-home")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("state/ostler.db")
    }

    /// On the same disk as the store.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn start(&self, prompt: &str) -> TaskId {
        let workspace = self.folder.path().join("workspace");
        let mut settings = TaskSettings::in_folder(workspace.display().to_string());
        settings.codex.home = Some(self.codex_home().display().to_string());
        let wish = StartTask {
            settings,
            input: Input::text(prompt),
            by: "bench".to_owned(),
            key: None,
            forked_from: None,
            id: None,
            worktree: false,
        };
        self.engine.start_task(wish).await.unwrap().task
    }

    /// Waits until the task is over, without looking again and again.
    pub(crate) async fn completed(&self, task: &TaskId) -> Task {
        let mut changes = self.engine.watch_all();
        let wait = async {
            loop {
                let found = self.engine.store().task(task).await.unwrap().unwrap();
                let is_bad = matches!(found.state, TaskState::Failed | TaskState::Parked);
                assert!(!is_bad, "{:?}", found.cause);
                if found.state == TaskState::Completed {
                    return found;
                }
                drop(changes.recv().await);
            }
        };
        timeout(DEADLINE, wait).await.unwrap()
    }

    /// Starts a task and waits for its end.
    pub(crate) async fn run(&self, prompt: &str) -> TaskId {
        let task = self.start(prompt).await;
        self.completed(&task).await;
        task
    }

    pub(crate) async fn close(self) {
        self.stop.cancel();
        self.task.ended().await.unwrap();
        self.engine.store().clone().close().await;
        for found in keeper::list(&self.runtime.path().join("keepers")).unwrap() {
            keeper::stop(&found, StopMode::Now).await.unwrap();
        }
    }
}

/// Lets the one command be run that the fake Codex asks for.
pub(crate) fn rule() -> Rule {
    let words = Words::try_from(vec!["touch".to_owned()]).unwrap();
    Rule {
        id: "bench".into(),
        effect: Effect::Allow,
        matcher: Matcher::CommandPrefix(words),
        // The fake Codex says nothing of a sandbox.
        sandboxing: ostler_model::ask::Sandboxing::Outside,
        cwd: None,
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "bench".to_owned(),
        made_at: 0,
        from_ask: None,
    }
}
