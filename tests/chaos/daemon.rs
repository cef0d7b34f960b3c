//! A daemon that can be killed at any time, and what it leaves on the machine.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use ostler_codex::keeper::{self, Condition, Found};
use ostler_model::Task;
use ostler_server::api::TaskList;
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_testkit::Stage;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

enum Disk {
    Large,
    /// A file system in memory that only the daemon and its successors see: this process keeps it.
    Small {
        holder: Child,
    },
}

pub(crate) struct Daemon {
    /// `OSTLER_HOME`; short, because of the sockets in it.
    home: TempDir,
    program: PathBuf,
    disk: Disk,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    process: Mutex<Option<Child>>,
    /// How many were killed, and how far people have come.
    pub(crate) progress: watch::Sender<(usize, usize)>,
}

impl Daemon {
    pub(crate) fn new(stage: &Stage, program: &str) -> Self {
        Self::with_codex(stage, program, stage.codex_path())
    }

    /// On the Codex at this path.
    pub(crate) fn with_codex(stage: &Stage, program: &str, codex: &Path) -> Self {
        let limits = "running = 8\nidle_app_server = \"2s\"\nidle_thread = \"1s\"\n";
        Self::with_settings(stage, program, codex, limits)
    }

    pub(crate) fn with_limits(stage: &Stage, program: &str, limits: &str) -> Self {
        Self::with_settings(stage, program, stage.codex_path(), limits)
    }

    fn with_settings(stage: &Stage, program: &str, codex: &Path, limits: &str) -> Self {
        let home = tempfile::Builder::new().prefix("chaos").tempdir_in("/tmp").unwrap();
        let config = home.path().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let text = format!(
            "[codex]\npath = {:?}\nhome = {:?}\n\n[tasks]\ncrash_limit = 100\n\n[limits]\n{limits}",
            codex,
            stage.codex_home()
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
        Self {
            home,
            program: program.into(),
            disk: Disk::Large,
            environment: stage.start_keeper().unwrap().environment,
            process: Mutex::new(None),
            progress: watch::Sender::default(),
        }
    }

    /// Its state is on a disk of its own, of so many megabytes.
    pub(crate) async fn on_a_small_disk(self, megabytes: u32) -> Self {
        let state = self.home.path().join("state");
        std::fs::create_dir_all(&state).unwrap();
        let mount = format!(
            "mount -t tmpfs -o size={megabytes}m,mode=700 none \"$0\" && echo made && exec sleep infinity"
        );
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
            .arg(&state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut made = [0; 5];
        let mut said = holder.stdout.take().unwrap();
        tokio::io::AsyncReadExt::read_exact(&mut said, &mut made).await.unwrap();
        Self { disk: Disk::Small { holder }, ..self }
    }

    /// The folder of its state as the daemon sees it.
    pub(crate) fn state(&self) -> PathBuf {
        let path = self.home.path().join("state");
        match &self.disk {
            Disk::Large => path,
            Disk::Small { holder } => {
                let pid = holder.id().unwrap();
                PathBuf::from(format!("/proc/{pid}/root{}", path.display()))
            }
        }
    }

    fn command(&self) -> Command {
        match &self.disk {
            Disk::Large => {
                let mut command = Command::new(&self.program);
                command.arg("serve");
                command
            }
            Disk::Small { holder } => {
                let mut command = Command::new("nsenter");
                command.args(["--preserve-credentials", "--user", "--mount", "--target"]);
                command.arg(holder.id().unwrap().to_string()).arg(&self.program).arg("serve");
                command
            }
        }
    }

    /// Starts it and waits until it answers.
    pub(crate) async fn start(&self) {
        let log = std::fs::OpenOptions::new();
        let log = log
            .clone()
            .create(true)
            .append(true)
            .open(self.home.path().join("daemon.log"))
            .unwrap();
        let child = self
            .command()
            .env_clear()
            .envs(self.environment.clone())
            .env("OSTLER_HOME", self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(child);
        self.reachable().await;
    }

    /// Waits until it answers.
    pub(crate) async fn reachable(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.client().await.is_err() {
            assert!(Instant::now() < deadline, "the daemon does not answer:\n{}", self.log());
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// Whether it was there to get the signal.
    pub(crate) fn send(&self, signal: Signal) -> bool {
        let process = self.process.lock().unwrap();
        let pid = process.as_ref().and_then(Child::id).and_then(|pid| Pid::from_raw(pid as i32));
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    pub(crate) async fn gone(&self) {
        let child = self.process.lock().unwrap().take();
        if let Some(mut child) = child {
            child.wait().await.unwrap();
        }
    }

    pub(crate) async fn client(&self) -> Result<Client, ClientError> {
        let mut client = Client::connect(ClientSettings {
            socket: self.home.path().join("run/daemon.sock"),
            versions: Versions::Any,
            deadline: Duration::from_secs(30),
        })
        .await?;
        client.health().await?;
        Ok(client)
    }

    pub(crate) async fn tasks(&self) -> Result<Vec<Task>, ClientError> {
        let mut client = self.client().await?;
        Ok(client.get::<TaskList>("/v1/tasks?limit=500").await?.tasks)
    }

    pub(crate) fn keepers(&self) -> Vec<Found> {
        keeper::list(&self.home.path().join("run/keepers")).unwrap_or_default()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("daemon.log")).unwrap_or_default()
    }

    /// For whoever looks at a failure.
    pub(crate) async fn describe(&self) {
        if let Ok(mut client) = self.client().await
            && let Ok(list) = client.get::<TaskList>("/v1/tasks?limit=100").await
        {
            for task in list.tasks {
                println!("{} {} {:?} turn {:?}", task.id, task.state, task.cause, task.turn);
                if !task.state.is_over() {
                    for event in crate::check::log(self, task.id.as_str()).await {
                        println!("     {event:?}");
                    }
                }
            }
        }
        println!("{}", self.log());
    }

    /// Ends the daemon in peace when nothing is left to do.
    pub(crate) async fn end(&self) {
        self.idle().await;
        let mut client = self.client().await.unwrap();
        client.stop(ostler_server::StopMode::Graceful).await.unwrap();
        self.gone().await;
    }

    /// Waits until the app-servers were ended for being idle.
    pub(crate) async fn idle(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self
            .keepers()
            .iter()
            .any(|found| !matches!(found.condition, Condition::Ended(_) | Condition::Gone))
        {
            assert!(Instant::now() < deadline, "idle app-servers live on:\n{}", self.log());
            sleep(Duration::from_millis(100)).await;
        }
    }
}
