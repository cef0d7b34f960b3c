//! A real daemon with a thousand tasks that wait.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_codex::keeper::{self, StopMode};
use ostler_model::task::SandboxMode;
use ostler_server::api::{StartAnswer, StartRequest};
use ostler_server::client::{Client, ClientSettings, Versions};
use ostler_store::{Store, StoreSettings};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::budgets::Budget;
use crate::processes::{cpu, private_kb, sleeps, status_kb};

const QUEUED: usize = 1000;
/// Long enough that a timer of seconds is seen.
const LOOK: Duration = Duration::from_secs(10);

/// Ended with its Codex, whatever happens.
pub(crate) struct Daemon {
    /// `OSTLER_HOME`; short, because of the sockets in it.
    home: TempDir,
    pub(crate) folder: TempDir,
    process: Child,
}

pub(crate) fn queued() -> Vec<Budget> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let daemon = Daemon::start("").await;
        let idle = daemon.at_rest().await;
        let mut client = daemon.client().await.unwrap();
        let begin = Instant::now();
        for number in 0..=QUEUED {
            let request = StartRequest {
                // The first one is at work for ever; the others wait for it.
                prompt: Some("never".to_owned()),
                cwd: daemon.folder.path().display().to_string(),
                sandbox: Some(SandboxMode::ReadOnly),
                developer_instructions: Some(format!("task {number} of a thousand")),
                ..StartRequest::default()
            };
            let _task: StartAnswer = client.post("/v1/tasks", &request).await.unwrap();
        }
        let each = begin.elapsed().as_secs_f64() * 1e3 / QUEUED as f64;
        drop(client);
        let full = daemon.at_rest().await;
        daemon.end().await;
        let note = |seen: &AtRest| {
            format!(
                "{:.1} MB private, {:.1} wake-ups a second",
                seen.private_mb, seen.sleeps_per_second
            )
        };
        vec![
            budget("an idle daemon", idle.resident_mb, 20.0, "MB", note(&idle)),
            budget("an idle daemon, of a processor", idle.percent, 0.1, "%", note(&idle)),
            budget(
                "a daemon with 1,000 tasks in line",
                full.resident_mb,
                60.0,
                "MB",
                format!("{}, {each:.2} ms per start", note(&full)),
            ),
            budget(
                "a daemon with 1,000 tasks in line, of a processor",
                full.percent,
                0.1,
                "%",
                note(&full),
            ),
        ]
    })
}

fn budget(what: &'static str, figure: f64, most: f64, unit: &'static str, note: String) -> Budget {
    Budget { what, figure, most, unit, note }
}

fn command(home: &TempDir, folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", folder.path())
        .env("OSTLER_HOME", home.path())
        .stdin(Stdio::null());
    command
}

fn serve(home: &TempDir, folder: &TempDir) -> Child {
    command(home, folder)
        .arg("serve")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(home.path().join("daemon.log")).unwrap())
        .spawn()
        .unwrap()
}

struct AtRest {
    resident_mb: f64,
    private_mb: f64,
    percent: f64,
    sleeps_per_second: f64,
}

impl Daemon {
    /// With this at the end of its configuration.
    pub(crate) async fn start(more: &str) -> Self {
        let home = tempfile::Builder::new().prefix("bench").tempdir_in("/tmp").unwrap();
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let config = home.path().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let text = format!(
            "[codex]\npath = {:?}\nhome = {:?}\n\n[limits]\nrunning = 1\n{more}",
            std::env::current_exe().unwrap(),
            folder.path()
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
        let process = serve(&home, &folder);
        let daemon = Self { home, folder, process };
        daemon.answers().await;
        daemon
    }

    /// Ends it, lets somebody write into its store, and starts it again.
    pub(crate) async fn filled(mut self, fill: impl AsyncFnOnce(Store)) -> Self {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let store = Store::open(StoreSettings::at(self.home.path().join("state/ostler.db")));
        let store = store.unwrap();
        fill(store.clone()).await;
        store.close().await;
        self.process = serve(&self.home, &self.folder);
        self.answers().await;
        self
    }

    async fn answers(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.client().await.is_none() {
            let log = std::fs::read_to_string(self.home.path().join("daemon.log")).unwrap();
            assert!(Instant::now() < deadline, "the daemon does not answer: {log}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// One that may do everything, for TCP.
    pub(crate) fn token(&self) -> String {
        let mut command = self.command();
        let made = command.args(["token", "new", "bench", "--scope", "operate"]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    fn command(&self) -> Command {
        command(&self.home, &self.folder)
    }

    pub(crate) async fn client(&self) -> Option<Client> {
        let settings = ClientSettings {
            socket: self.home.path().join("run/daemon.sock"),
            versions: Versions::Any,
            deadline: Duration::from_secs(30),
        };
        let mut client = Client::connect(settings).await.ok()?;
        client.health().await.ok()?;
        Some(client)
    }

    /// What it takes while nobody wants anything.
    async fn at_rest(&self) -> AtRest {
        sleep(Duration::from_secs(2)).await;
        let pid = self.pid();
        let (spent, slept) = (cpu(&pid), sleeps(&pid));
        sleep(LOOK).await;
        let spent = (cpu(&pid).saturating_sub(spent)).as_secs_f64();
        let slept = sleeps(&pid).saturating_sub(slept) as f64;
        AtRest {
            resident_mb: status_kb(&pid, "VmRSS") as f64 / 1024.0,
            private_mb: private_kb(&pid) as f64 / 1024.0,
            percent: spent / LOOK.as_secs_f64() * 100.0,
            sleeps_per_second: slept / LOOK.as_secs_f64(),
        }
    }

    pub(crate) async fn end(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for found in keeper::list(&self.home.path().join("run/keepers")).unwrap_or_default() {
            keeper::stop(&found, StopMode::Now).await.unwrap();
        }
    }
}
