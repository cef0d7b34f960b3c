//! A throw-away world for one test: a scripted model, a Codex home, a workspace, and keepers that never outlive it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ostler_codex::bare_client::Client;
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, Found, StartKeeper};
use ostler_codex::rollout;
use ostler_model::ThreadId;
use ostler_scripted_model::{ProviderLimits, Script, ScriptedModel};
use tempfile::TempDir;

use crate::codex::codex_binary;
use crate::script::write_script;

/// Codex listens after 0.1 s; the tests share two cores with each other.
const READY_DEADLINE: Duration = Duration::from_secs(60);

/// Codex writes within milliseconds; a busy machine may take its time.
const FILE_DEADLINE: Duration = Duration::from_secs(60);

pub struct Stage {
    /// Holds the Codex home and the workspace. Not below `/tmp`: Codex warns there, and its sandbox may write there.
    folder: TempDir,
    /// Holds the keepers. Below `/tmp`, because the path of a unix socket must be short.
    runtime: TempDir,
    model: ScriptedModel,
    program: PathBuf,
    codex: PathBuf,
}

/// A keeper that is ended with the test, whatever happens.
pub struct KeptCodex {
    pub found: Found,
    program: PathBuf,
    runtime: PathBuf,
}

impl Stage {
    /// `program` is the `ostler` binary under test, `scratch` a folder for its files.
    pub fn set(program: &str, scratch: &str, version: &str, script: Script) -> Result<Self> {
        let limits = ProviderLimits {
            request_max_retries: 1,
            stream_max_retries: 1,
            ..ProviderLimits::default()
        };
        Self::set_with_limits(program, scratch, version, script, &limits)
    }

    /// The same with a Codex that is as patient with the model as the test wants.
    pub fn set_with_limits(
        program: &str,
        scratch: &str,
        version: &str,
        script: Script,
        limits: &ProviderLimits,
    ) -> Result<Self> {
        let codex = codex_binary(version)?;
        let folder = TempDir::new_in(scratch)?;
        let runtime = tempfile::Builder::new().prefix("ostler").tempdir_in("/tmp")?;
        let model = ScriptedModel::start(script)?;
        std::fs::create_dir(folder.path().join("workspace"))?;
        std::fs::create_dir(folder.path().join("codex-home"))?;
        std::fs::create_dir(runtime.path().join("run"))?;
        std::fs::write(folder.path().join("codex-home/config.toml"), model.codex_config(limits))?;
        Ok(Self { folder, runtime, model, program: program.into(), codex })
    }

    pub fn model(&self) -> &ScriptedModel {
        &self.model
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub fn codex_home(&self) -> PathBuf {
        self.folder.path().join("codex-home")
    }

    /// Where a daemon of this world keeps its files.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The Codex under test.
    pub fn codex_path(&self) -> &Path {
        &self.codex
    }

    /// Changes Codex's configuration. An app-server that runs already has read the old one.
    pub fn configure(&self, edit: impl FnOnce(String) -> String) -> Result<()> {
        let path = self.codex_home().join("config.toml");
        let text = std::fs::read_to_string(&path)?;
        Ok(std::fs::write(path, edit(text))?)
    }

    /// Starts an app-server for which `/etc/codex/requirements.toml` holds this text, and nobody else's does: it runs in
    /// a mount namespace of its own, where `/etc` is a copy.
    pub async fn codex_under(&self, requirements: &str) -> Result<KeptCodex> {
        self.keep(self.start_keeper_of(self.program_under(requirements, &self.codex)?)?).await
    }

    /// This program, with that text for itself and all that it starts.
    pub fn program_under(&self, requirements: &str, program: &Path) -> Result<PathBuf> {
        let etc = self.folder.path().join("etc");
        // What only root may read is not needed.
        let copied = Command::new("cp").args(["-a", "/etc"]).arg(&etc).output()?;
        ensure!(etc.join("passwd").exists(), "/etc was not copied: {copied:?}");
        std::fs::create_dir_all(etc.join("codex"))?;
        std::fs::write(etc.join("codex/requirements.toml"), requirements)?;
        let root = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
        let wrapper = format!(
            "#!/bin/sh\nexec unshare --mount --propagation private {root} sh -c \
             'mount --bind \"$0\" /etc && exec \"$@\"' '{}' '{}' \"$@\"\n",
            etc.display(),
            program.display(),
        );
        let path = self.folder.path().join("program-in-namespace");
        write_script(&path, &wrapper, 0o755)?;
        Ok(path)
    }

    /// The lines of a file in the workspace; none if there is no such file.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.workspace().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until Codex's own file of a thread is as the test needs it, and gives its path. Codex's word comes before its file
    /// (decision 0010).
    pub async fn until_file(
        &self,
        thread: &ThreadId,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<PathBuf> {
        let deadline = Instant::now() + FILE_DEADLINE;
        loop {
            let file = rollout::find(&self.codex_home(), thread);
            let text = file.as_ref().ok().and_then(|file| std::fs::read_to_string(file).ok());
            match (file, text) {
                (Ok(file), Some(text)) if is_so(&text) => return Ok(file),
                (file, text) => {
                    ensure!(Instant::now() < deadline, "waited in vain: {file:?} has {text:?}");
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The same until it holds these words for the model, from which on an app-server may die without losing them.
    pub async fn until_held(&self, thread: &ThreadId, words: &str) -> Result<PathBuf> {
        let is_held = |line: &str| line.contains("\"response_item\"") && line.contains(words);
        self.until_file(thread, |text| text.lines().any(is_held)).await
    }

    /// How an app-server of this world is started.
    pub fn start_keeper(&self) -> Result<StartKeeper> {
        self.start_keeper_of(self.codex.clone())
    }

    fn start_keeper_of(&self, codex: PathBuf) -> Result<StartKeeper> {
        let root = self.runtime.path().join("run/keepers");
        std::fs::create_dir_all(&root)?;
        Ok(StartKeeper {
            root,
            program: self.program.clone(),
            codex,
            codex_version: None,
            environment: environment(self.folder.path()),
            environment_rule: EnvironmentRule {
                codex_home: Some(self.codex_home()),
                ..EnvironmentRule::default()
            },
            purpose: None,
            extra_arguments: Vec::new(),
            open_files: None,
            ready_deadline: READY_DEADLINE,
        })
    }

    /// Starts an app-server under a keeper.
    pub async fn codex(&self) -> Result<KeptCodex> {
        self.keep(self.start_keeper()?).await
    }

    /// The same with a Codex of another version, on the same home.
    pub async fn codex_of(&self, version: &str) -> Result<KeptCodex> {
        self.keep(self.start_keeper_of(codex_binary(version)?)?).await
    }

    /// Starts an app-server as described by [`Self::start_keeper`], with what the test has changed there.
    pub async fn keep(&self, start: StartKeeper) -> Result<KeptCodex> {
        let root = start.root.clone();
        let record = keeper::start(start).await?;
        let found = keeper::find(&root, record.id.as_str())?;
        let runtime = self.runtime.path().to_owned();
        Ok(KeptCodex { found, program: self.program.clone(), runtime })
    }

    /// A client of this app-server.
    pub async fn client(&self, codex: &KeptCodex) -> Result<Client> {
        Ok(Client::connect(&codex.socket(), self.workspace()).await?)
    }
}

/// Whatever of this world still runs must not outlive it.
impl Drop for Stage {
    fn drop(&mut self) {
        let keepers = keeper::list(&self.runtime.path().join("run/keepers")).unwrap_or_default();
        for found in keepers {
            let id = found.id().as_str().to_owned();
            let mut stop = Command::new(&self.program);
            stop.args(["keeper", "stop", "--now", &id]).env("OSTLER_HOME", self.runtime.path());
            // It may have ended by itself; a test that failed has its own message.
            drop(stop.output());
        }
    }
}

impl KeptCodex {
    pub fn socket(&self) -> PathBuf {
        self.found.folder.socket()
    }

    /// Codex's own pid.
    pub fn pid(&self) -> Result<i32> {
        let record = self.found.record.as_ref().context("no record")?;
        let codex = record.codex.as_ref().context("codex does not run")?;
        Ok(codex.pid)
    }

    /// Runs `ostler` as a person would, on this keeper's folders.
    pub fn ostler(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(arguments)
            .env("OSTLER_HOME", &self.runtime)
            .output()?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "ostler {arguments:?}: {error}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for KeptCodex {
    fn drop(&mut self) {
        let id = self.found.folder.id().as_str().to_owned();
        // It may have been ended by the test itself; a test that failed has its own message.
        drop(self.ostler(&["keeper", "stop", "--now", &id]));
    }
}

/// As good as nothing, so that the machine the tests run on does not matter.
fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
        ("HOME".into(), home.into()),
        ("LANG".into(), "C.UTF-8".into()),
        // Codex writes some times in the zone of its process.
        ("TZ".into(), "UTC".into()),
    ]
}
