//! A world of the suite's own: home, workspace, a model that plays a script, and keepers that it ends itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_codex::bare_client::Client;
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, Condition, Found, StartKeeper};
use ostler_codex::peer::PeerSettings;
use ostler_codex::secrets::Secrets;
use ostler_scripted_model::{ProviderLimits, Script, ScriptedModel};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::super::scratch::Scratch;
use crate::commands::keeper::READY_DEADLINE;
use crate::failure::{Exit, Failure};
use crate::kept::{Kept, Remains};
use crate::places::{self, Places};
use crate::running::own_program;

const SCRIPT: &str = include_str!("script.toml");

/// Between two looks at what must come true in a moment.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long what must come true may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct World {
    scratch: Scratch,
    pub(super) model: ScriptedModel,
    start: StartKeeper,
    /// The last is the one in use; the ones before have ended, or were killed.
    kept: Vec<Kept>,
}

impl World {
    pub(super) fn lay_out(places: &Places, codex: &Path) -> Result<Self, Failure> {
        let broken = |error: &dyn std::error::Error| {
            Failure::new(Exit::Failed, format!("the suite cannot be set up: {error}"))
        };
        let root = places.keepers();
        places::private_folder(&root)?;
        let script = Script::parse(SCRIPT).map_err(|error| broken(&error))?;
        let model = ScriptedModel::start(script).map_err(|error| broken(&error))?;
        let scratch = Scratch::below(&places.state).map_err(|error| broken(&error))?;
        let config = model.codex_config(&ProviderLimits::default());
        let home = scratch.codex_home();
        fs::write(home.join("config.toml"), config).map_err(|error| broken(&error))?;
        let environment_rule =
            EnvironmentRule { codex_home: Some(home), ..EnvironmentRule::default() };
        let start = StartKeeper {
            root,
            program: own_program()?,
            codex: codex.to_owned(),
            codex_version: None,
            environment: places::environment(),
            environment_rule,
            purpose: None,
            extra_arguments: Vec::new(),
            open_files: None,
            ready_deadline: READY_DEADLINE,
        };
        Ok(Self { scratch, model, start, kept: Vec::new() })
    }

    /// Where the binary may write the schema of itself.
    pub(super) fn schema_folder(&self) -> PathBuf {
        self.scratch.outside()
    }

    /// A folder in which one flow works.
    pub(super) fn workspace(&self, flow: &str) -> Result<PathBuf, String> {
        let folder = self.scratch.workspace().join(flow.replace(' ', "-"));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(folder)
    }

    /// A client of the app-server, which is started if none runs.
    pub(super) async fn client(&mut self, workspace: &Path) -> Result<Client, String> {
        let found = match self.running() {
            Some(found) => found,
            None => self.start().await?,
        };
        let client = Client::connect(&found.folder.socket(), workspace.to_owned()).await;
        client.map_err(|error| error.to_string())
    }

    async fn start(&mut self) -> Result<Found, String> {
        let mut kept = Kept::new(self.start.clone(), PeerSettings::default(), Secrets::default());
        let started = kept.start().await;
        self.kept.push(kept);
        started.map_err(|failure| failure.message)?;
        self.running().ok_or_else(|| "its keeper ended at once".to_owned())
    }

    fn running(&self) -> Option<Found> {
        let keeper = self.kept.last()?.keeper()?;
        let found = keeper::find(&self.start.root, keeper.as_str()).ok()?;
        (found.condition == Condition::Running).then_some(found)
    }

    /// Kills Codex, as a machine that runs out of memory would, and gives how its keeper says that it ended.
    pub(super) async fn kill_codex(&mut self) -> Result<String, String> {
        let found = self.running().ok_or("no app-server runs")?;
        let codex = found.record.as_ref().and_then(|record| record.codex);
        let pid = codex.and_then(|codex| Pid::from_raw(codex.pid)).ok_or("it has no process")?;
        kill_process(pid, Signal::KILL).map_err(|error| error.to_string())?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = keeper::find(&self.start.root, found.id().as_str());
            if let Condition::Ended(ended) = now.map_err(|error| error.to_string())?.condition {
                return Ok(ended.exit.to_string());
            }
            if Instant::now() >= deadline {
                return Err("its keeper did not notice that Codex is gone".to_owned());
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until this many lines stand in a file of the workspace.
    pub(super) async fn lines(&self, file: &Path, wanted: usize) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while lines(file) < wanted {
            if Instant::now() >= deadline {
                return Err("the command did not start".to_owned());
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Ends every app-server of the suite. The folders go with this value.
    pub(super) async fn end(mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for kept in &mut self.kept {
            let ended = kept.end(Remains::Removed).await;
            outcome = outcome.and(ended);
        }
        self.model.shutdown().await;
        outcome
    }
}

/// How many lines a file has; none if there is no such file.
pub(super) fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}
