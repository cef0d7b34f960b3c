//! A daemon that can be killed at any time, and what it leaves on the machine.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use ostler_codex::keeper::{self, Found};
use ostler_server::api::TaskList;
use ostler_server::client::{Client, ClientError, ClientSettings, Versions};
use ostler_testkit::Stage;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

pub struct Daemon {
    /// `OSTLER_HOME`; short, because of the sockets in it.
    home: TempDir,
    program: PathBuf,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    process: Mutex<Option<Child>>,
}

impl Daemon {
    pub fn new(stage: &Stage, program: &str) -> Self {
        let home = tempfile::Builder::new().prefix("chaos").tempdir_in("/tmp").unwrap();
        let config = home.path().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let text = format!(
            "[codex]\npath = {:?}\nhome = {:?}\n\n[tasks]\ncrash_limit = 100\n\n\
             [limits]\nrunning = 8\nidle_app_server = \"2s\"\nidle_thread = \"1s\"\n",
            stage.codex_path(),
            stage.codex_home()
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
        Self {
            home,
            program: program.into(),
            environment: stage.start_keeper().unwrap().environment,
            process: Mutex::new(None),
        }
    }

    /// Starts it and waits until it answers.
    pub async fn start(&self) {
        let log = std::fs::OpenOptions::new();
        let log = log
            .clone()
            .create(true)
            .append(true)
            .open(self.home.path().join("daemon.log"))
            .unwrap();
        let child = Command::new(&self.program)
            .arg("serve")
            .env_clear()
            .envs(self.environment.clone())
            .env("OSTLER_HOME", self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.client().await.is_err() {
            assert!(Instant::now() < deadline, "the daemon does not answer:\n{}", self.log());
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn kill(&self) {
        if let Some(child) = self.process.lock().unwrap().as_mut() {
            child.start_kill().unwrap();
        }
    }

    pub async fn gone(&self) {
        let child = self.process.lock().unwrap().take();
        if let Some(mut child) = child {
            child.wait().await.unwrap();
        }
    }

    pub async fn client(&self) -> Result<Client, ClientError> {
        let mut client = Client::connect(ClientSettings {
            socket: self.home.path().join("run/daemon.sock"),
            versions: Versions::Any,
            deadline: Duration::from_secs(30),
        })
        .await?;
        client.health().await?;
        Ok(client)
    }

    pub fn keepers(&self) -> Vec<Found> {
        keeper::list(&self.home.path().join("run/keepers")).unwrap_or_default()
    }

    pub fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("daemon.log")).unwrap_or_default()
    }

    /// For whoever looks at a failure.
    pub async fn describe(&self) {
        if let Ok(mut client) = self.client().await
            && let Ok(list) = client.get::<TaskList>("/v1/tasks?limit=100").await
        {
            for task in list.tasks {
                println!("{} {} {:?} turn {:?}", task.id, task.state, task.cause, task.turn);
            }
        }
        println!("{}", self.log());
    }

    /// Waits until the app-servers were ended for being idle, then ends the daemon in peace.
    pub async fn end(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self
            .keepers()
            .iter()
            .any(|found| matches!(found.condition, keeper::Condition::Running))
        {
            assert!(Instant::now() < deadline, "idle app-servers live on:\n{}", self.log());
            sleep(Duration::from_millis(100)).await;
        }
        let mut client = self.client().await.unwrap();
        client.stop(ostler_server::StopMode::Graceful).await.unwrap();
        self.gone().await;
    }
}
