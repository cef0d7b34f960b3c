//! A machine with a daemon, a Codex home and a provider for the host agent.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ostler_codex::keeper::{self, Condition};
use ostler_scripted_model::{Answer, Conversation, ProviderLimits, Script, ScriptedModel};
use ostler_store::conversations::{Conversations, StoredMessage};
use ostler_testkit::{Terminal, codex_binary};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(90);

const SHORT_LIMITS: &str = "idle_app_server = \"2s\"\nidle_thread = \"1s\"";

/// Only the host agent's provider takes it.
pub(crate) const KEY: &str = "sk-hay-and-oats";

pub(crate) struct World {
    folder: TempDir,
    /// Whom the host agent asks.
    pub(crate) host: ScriptedModel,
    /// Whom Codex asks.
    pub(crate) codex: ScriptedModel,
    pub(crate) runtime: Runtime,
}

/// What the world is made of.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) version: &'static str,
    pub(crate) host: Vec<Conversation>,
    pub(crate) codex: Vec<Conversation>,
    /// Lines of the `[agent]` section.
    pub(crate) agent: &'static str,
    /// Lines of the `[tasks]` section.
    pub(crate) tasks: &'static str,
    /// Lines of the `[limits]` section; without them nothing stays open for long.
    pub(crate) limits: &'static str,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let runtime = Runtime::new().unwrap();
        let inside = runtime.enter();
        // A script must have something to play.
        let fallback = Some(Answer { text: Some("Unscripted.".to_owned()), ..Answer::default() });
        let script = |conversations| Script {
            conversations,
            fallback: fallback.clone(),
            ..Script::default()
        };
        let host = ScriptedModel::start(script(plan.host)).unwrap();
        let codex = ScriptedModel::start(script(plan.codex)).unwrap();
        drop(inside);
        // Socket paths must be short, so not below `target/`; and a Codex home must not be below `/tmp`.
        let folder = tempfile::Builder::new().prefix("c").tempdir_in("/var/tmp").unwrap();
        for name in ["home", "inn", "o", "o/config", "o/state", "o/state/agent"] {
            DirBuilder::new().mode(0o700).create(folder.path().join(name)).unwrap();
        }
        let limits = ProviderLimits {
            request_max_retries: 1,
            stream_max_retries: 1,
            ..ProviderLimits::default()
        };
        fs::write(folder.path().join("home/config.toml"), codex.codex_config(&limits)).unwrap();
        let version = if plan.version.is_empty() { "0.166.0" } else { plan.version };
        let config = format!(
            "[codex]\npath = {:?}\nhome = {:?}\n\n[limits]\n{}\n\n\
             [tasks]\nsandbox = \"workspace-write\"\n{}\n\n[agent]\nmodel = \"oats\"\n{}\n\n\
             [providers.openai]\nbase_url = {:?}\nwire = \"responses\"\nkey_env = \"INN_KEY\"\n",
            codex_binary(version).unwrap(),
            folder.path().join("home"),
            if plan.limits.is_empty() { SHORT_LIMITS } else { plan.limits },
            plan.tasks,
            plan.agent,
            format!("{}/v1", host.base_url().trim_end_matches("/v1")),
        );
        fs::write(folder.path().join("o/config/config.toml"), config).unwrap();
        Self { folder, host, codex, runtime }
    }

    /// Adds a section to the settings.
    pub(crate) fn set(&self, section: &str) {
        let file = self.path("o/config/config.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, format!("{text}\n{section}\n")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path("inn").join(name)).unwrap_or_default().lines().count()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(arguments);
        self.at_home(command)
    }

    /// As a person has it, on a terminal of its own.
    pub(crate) fn terminal(&self, arguments: &[&str]) -> Terminal {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_ostler")]).args(arguments);
        let mut command = self.at_home(command);
        command.env("NO_COLOR", "1");
        Terminal::run(command).unwrap()
    }

    fn at_home(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path("inn"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.path("o"))
            .env("INN_KEY", KEY)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// One question, and the whole outcome of its turn.
    pub(crate) fn ask(&self, question: &str, more: &[&str]) -> Value {
        let arguments = [&["chat", "-q", question, "--json"], more].concat();
        outcome(&self.run(&arguments))
    }

    /// The messages of the only conversation, as they are on disk.
    pub(crate) fn kept(&self) -> Vec<StoredMessage> {
        self.runtime.block_on(async {
            let all = Conversations::open(self.path("o/state/conversations.db")).await.unwrap();
            let found = all.find("", 2).await.unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            let kept = all.messages(&found[0].id, 0, 1000).await.unwrap();
            all.close().await;
            kept
        })
    }

    /// The state of the only conversation.
    pub(crate) fn state(&self) -> Value {
        self.runtime.block_on(async {
            let all = Conversations::open(self.path("o/state/conversations.db")).await.unwrap();
            let found = all.find("", 2).await.unwrap();
            all.close().await;
            serde_json::from_str(&found[0].body).unwrap()
        })
    }

    /// The bodies of what the host's provider was asked.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let bodies = self.host.requests().into_iter();
        bodies.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    pub(crate) fn wait_for_codex(&self, requests: u64) {
        self.runtime.block_on(self.codex.wait_for_requests(requests, PATIENCE)).unwrap();
    }

    pub(crate) fn wait_for_host(&self, requests: u64) {
        self.runtime.block_on(self.host.wait_for_requests(requests, PATIENCE)).unwrap();
    }

    /// Waits until the daemon has so many tasks.
    pub(crate) fn wait_for_tasks(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        let tasks = || {
            let listed = self.run(&["ls", "--all", "--json"]).stdout;
            let listed: Value = serde_json::from_slice(&listed).unwrap_or_default();
            listed["tasks"].as_array().map_or(0, Vec::len)
        };
        while tasks() < count {
            assert!(Instant::now() < deadline, "there are not {count} tasks");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until no app-server of this world runs any more.
    pub(crate) fn wait_until_no_codex_runs(&self) {
        let deadline = Instant::now() + PATIENCE;
        let runs = || {
            let found = keeper::list(&self.path("o/run/keepers")).unwrap_or_default();
            found.iter().any(|it| !matches!(it.condition, Condition::Ended(_) | Condition::Gone))
        };
        while runs() {
            assert!(Instant::now() < deadline, "an app-server lives on");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.run(&["daemon", "stop", "--now"]));
        let keepers = fs::read_dir(self.path("o/run/keepers")).into_iter().flatten().flatten();
        for keeper in keepers {
            let id = keeper.file_name().into_string().unwrap_or_default();
            drop(self.run(&["keeper", "stop", "--now", &id]));
        }
    }
}

pub(crate) fn outcome(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let read = serde_json::from_str(&text);
    read.unwrap_or_else(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {text}\n{errors}")
    })
}
