//! A workspace with something beside it, and the tool that runs commands there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ostler_agent::Activity;
use ostler_agent::ports::{Asks, PortError};
use ostler_agent::sandbox::{Confinement, Means};
use ostler_agent::tool::{CallContext, Tool, ToolResult};
use ostler_agent::tools::{Terminal, TerminalSettings};
use ostler_model::decision::Decision;
use ostler_model::task::{AskRecord, AskState, DecidedBy, DecisionRecord, Sandbox, SandboxMode};
use ostler_model::{Ask, AskId, TaskId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The whole test fails long before, if the machine is not stuck. Longer than any command may take.
const PATIENCE: Duration = Duration::from_secs(660);

pub(crate) struct Place {
    _folder: TempDir,
    /// May be written.
    pub(crate) work: PathBuf,
    /// May not.
    pub(crate) other: PathBuf,
    /// Below `work`, and protected.
    pub(crate) home: PathBuf,
    pub(crate) sandbox: Sandbox,
    pub(crate) means: Means,
    /// What a person says when they are asked; whoever is asked without one fails the test.
    pub(crate) answer: Option<Decision>,
}

/// Both means that there are.
pub(crate) fn both() -> [Means; 2] {
    let codex = ostler_testkit::codex_binary("0.166.0").unwrap();
    let bwrap = codex.ancestors().nth(2).unwrap().join("codex-resources/bwrap");
    assert!(bwrap.exists(), "Codex 0.166.0 brings {}", bwrap.display());
    [Means::Landlock, Means::Bubblewrap(bwrap)]
}

impl Place {
    /// Not below /tmp, which may be written, and where a checkout may be.
    pub(crate) fn new(mode: SandboxMode, means: Means) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, other) = (root.join("work"), root.join("other"));
        let home = work.join("deep/home");
        for folder in [&work, &other, &home] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::create_dir(work.join("deep/beside")).unwrap();
        std::fs::write(other.join("kept"), "kept").unwrap();
        let sandbox = Sandbox { mode, ..Sandbox::default() };
        // Landlock alone keeps no command from what decides on later programs, so each is asked for.
        let is_asked = means == Means::Landlock && mode == SandboxMode::WorkspaceWrite;
        let answer = is_asked.then_some(Decision::Once);
        Self { _folder: folder, work, other, home, sandbox, means, answer }
    }

    pub(crate) fn terminal(&self, protected: &[&Path]) -> Terminal {
        let confinement = Confinement {
            sandbox: self.sandbox.clone(),
            cwd: self.work.clone(),
            temporary: vec!["/tmp".into()],
            protected: protected.iter().map(|path| (*path).to_owned()).collect(),
            ..Confinement::default()
        };
        Terminal::new(TerminalSettings {
            launcher: vec![env!("CARGO_BIN_EXE_ostler").into(), "sandbox-exec".into()],
            boundary: Arc::new(confinement.resolve()),
            means: Ok(self.means.clone()),
            environment: [
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("OTHER".into(), self.other.clone().into()),
                ("HOME_OF_OURS".into(), self.home.clone().into()),
            ]
            .into(),
        })
    }

    pub(crate) fn context(&self) -> CallContext {
        CallContext {
            conversation: "conversation".into(),
            call: "call".into(),
            cwd: self.work.clone(),
            asks: Arc::new(Person(self.answer.clone())),
            stop: CancellationToken::new(),
        }
    }

    pub(crate) async fn call(&self, arguments: Value) -> ToolResult {
        let running = async { self.terminal(&[]).call(arguments, &self.context()).await };
        tokio::time::timeout(PATIENCE, running).await.unwrap()
    }

    pub(crate) async fn run(&self, command: &str) -> ToolResult {
        self.call(json!({ "command": command })).await
    }

    /// The pids that a command wrote into this file of the workspace, one in each line, when there are so many.
    pub(crate) async fn pids(&self, count: usize) -> Vec<u32> {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(self.work.join("pids")).unwrap_or_default();
            let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if pids.len() >= count && text.ends_with('\n') {
                return pids;
            }
            assert!(begun.elapsed() < PATIENCE, "{text:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A process that has ended and waits for its parent counts as gone.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

pub(crate) async fn is_gone(pids: &[u32]) {
    let begun = Instant::now();
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(begun.elapsed() < PATIENCE, "still there: {pids:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Answers at once.
struct Person(Option<Decision>);

impl Asks for Person {
    fn open<'a>(
        &'a self,
        _conversation: &'a str,
        _key: &'a str,
        _cwd: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        let Some(decision) = self.0.clone() else { panic!("asked for {ask:?}") };
        let by = DecidedBy::Person { name: "ada".into(), surface: "test".into() };
        let record = AskRecord {
            id: AskId::new("ask"),
            task: TaskId::new("task"),
            agent: None,
            source: None,
            content: ask,
            digest: String::new(),
            opened_at: 0,
            state: AskState::Open,
            decision: Some(DecisionRecord { decision, by, reason: None, at: 0 }),
            closed: None,
        };
        Box::pin(async move { Ok(record) })
    }

    fn decision<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        panic!("asked for {ask}")
    }

    fn withdraw<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn show(&self, activity: Activity) {
        panic!("shown: {activity:?}")
    }
}
