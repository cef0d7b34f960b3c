//! The demo's own world: a workspace, a Codex home, the scripted model and a keeper.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, Condition, Found, StartKeeper, StopMode};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_scripted_model::{ProviderLimits, Script, ScriptedModel};

use crate::bench::Bench;
use crate::commands::keeper::READY_DEADLINE;
use crate::conversation::Screen;
use crate::failure::{Exit, Failure};
use crate::places;
use crate::running::own_program;

const SCRIPT: &str = include_str!("script.toml");
const SIGN: &str = include_str!("sign.txt");
const FILES: [(&str, &str); 3] = [
    ("sign.txt", SIGN),
    ("check.sh", include_str!("check.sh")),
    ("words.txt", include_str!("words.txt")),
];

/// What the sign says when all went well.
const RIGHT_SIGN: &str = "Welcome to the Ostler Inn\nFresh horses, warm beds, hot soup\n";

/// Demos that are kept to be looked at, this one included. Each holds a Codex home of about 2 MB.
const KEPT_DEMOS: usize = 3;

pub(super) struct Codex {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

pub(super) struct Stage {
    folder: PathBuf,
    /// The folder that holds one folder per keeper.
    root: PathBuf,
    /// Answers Codex until the demo ends.
    _model: ScriptedModel,
}

/// What the workspace shows after the turn.
pub(super) struct Inspection {
    pub(super) sign_is_changed: bool,
    pub(super) sign_is_right: bool,
    /// The checker counts its own runs, so that nobody has to be believed.
    pub(super) checks_run: usize,
}

impl Stage {
    /// Lays out all but the keeper: nothing runs yet that would have to be stopped.
    pub(super) async fn set(bench: &Bench, screen: &mut Screen) -> Result<Self, Failure> {
        let demos = bench.places.state.join("demo");
        let root = bench.places.keepers();
        places::private_folder(&demos)?;
        places::private_folder(&root)?;
        end_left_over(&root, &demos, screen).await?;
        let name = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let folder = demos.join(format!("{name}-{}", std::process::id()));
        let script = Script::parse(SCRIPT).map_err(|error| broken(&error))?;
        let model = ScriptedModel::start(script).map_err(|error| broken(&error))?;
        let config = model.codex_config(&ProviderLimits::default());
        screen.step(format!("scripted model on {}", model.base_url()));
        let stage = Self { folder, root, _model: model };
        write_files(&stage.workspace(), &stage.codex_home(), &config).map_err(|error| {
            let message = format!("cannot set up {}: {error}", stage.folder.display());
            Failure::new(Exit::Failed, message).hint("is the disk full? `ostler doctor` looks")
        })?;
        remove_old(&demos, &keeper::list(&stage.root)?);
        Ok(stage)
    }

    /// How the demo's app-server is started.
    pub(super) fn keeper(&self, codex: Codex) -> Result<StartKeeper, Failure> {
        Ok(StartKeeper {
            root: self.root.clone(),
            program: own_program()?,
            codex: codex.path,
            codex_version: Some(codex.version),
            environment: places::environment(),
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

    /// Codex may write in the workspace and must ask before each command.
    pub(super) fn settings(&self) -> ThreadSettings {
        ThreadSettings {
            sandbox: SandboxPolicy::WorkspaceWrite {
                writable_roots: Vec::new(),
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: false,
            },
            approval_policy: ApprovalPolicy::Untrusted,
            ..ThreadSettings::new(self.workspace().display().to_string())
        }
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn codex_home(&self) -> PathBuf {
        self.folder.join("codex-home")
    }

    pub(super) fn inspect(&self) -> Result<Inspection, Failure> {
        let workspace = self.workspace();
        let sign = fs::read_to_string(workspace.join("sign.txt")).map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot read the sign: {error}"))
        })?;
        // A checker that never ran has left no log.
        let log = fs::read_to_string(workspace.join("check.log")).unwrap_or_default();
        Ok(Inspection {
            sign_is_changed: sign != SIGN,
            sign_is_right: sign == RIGHT_SIGN,
            checks_run: log.lines().count(),
        })
    }
}

fn write_files(workspace: &Path, home: &Path, config: &str) -> std::io::Result<()> {
    fs::create_dir_all(workspace)?;
    fs::create_dir_all(home)?;
    for (name, text) in FILES {
        fs::write(workspace.join(name), text)?;
    }
    fs::write(home.join("config.toml"), config)
}

/// A demo that was killed left its Codex running, as it should: nothing dies with us. The next demo ends it.
async fn end_left_over(root: &Path, demos: &Path, screen: &mut Screen) -> Result<(), Failure> {
    for found in keeper::list(root)? {
        let Some(record) = &found.record else { continue };
        let is_demo = codex_home(&found).is_some_and(|home| home.starts_with(demos));
        let runs = matches!(found.condition, Condition::Running | Condition::KeeperDead);
        if is_demo && runs && !record.started_by.is_alive() {
            screen.step(format!("an earlier demo was killed; ending its keeper {}", record.id));
            keeper::stop(&found, StopMode::Now).await?;
        }
    }
    Ok(())
}

/// Removes all but the newest demos, and none in which a Codex runs. Their names are times, so the newest sort last.
fn remove_old(demos: &Path, keepers: &[Found]) {
    let is_over = |found: &&Found| matches!(found.condition, Condition::Ended(_) | Condition::Gone);
    let in_use: Vec<&Path> =
        keepers.iter().filter(|found| !is_over(found)).filter_map(codex_home).collect();
    let mut names: Vec<_> =
        fs::read_dir(demos).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.sort();
    for old in names.iter().rev().skip(KEPT_DEMOS) {
        if in_use.iter().any(|home| home.starts_with(old)) {
            continue;
        }
        if let Err(error) = fs::remove_dir_all(old) {
            tracing::debug!(%error, folder = %old.display(), "an old demo stays");
        }
    }
}

fn codex_home(found: &Found) -> Option<&Path> {
    found.record.as_ref()?.codex_home.as_deref()
}

fn broken(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Failed, format!("the scripted model does not start: {error}"))
}
