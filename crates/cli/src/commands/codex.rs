//! `ostler codex`: the Codex binaries.

mod check;
mod choose;
mod install;
mod list;
mod path;
mod progress;
mod remove;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_codex::binary::{
    Cache, CacheError, Environment, Installed, Passed, Resolution, Settings, VersionRequest,
    resolve,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::settings::ConfigFile;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct CodexArguments {
    #[command(subcommand)]
    command: CodexCommand,
}

#[derive(Debug, Subcommand)]
enum CodexCommand {
    /// Show every Codex there is and which one is in use
    List,
    /// Fetch a version from npm into our own cache, beside the others
    Install {
        /// Three numbers such as 0.130.0, or latest
        #[arg(value_name = "VERSION", default_value = "latest")]
        request: VersionRequest,
    },
    /// Settle on an installed version or on a binary of your own
    Use(choose::UseArguments),
    /// Print the path of the binary in use, or of one installed version
    Path {
        /// An installed version; without it, the one in use
        #[arg(value_name = "VERSION")]
        request: Option<VersionRequest>,
    },
    /// Look whether a binary is unchanged, has the right version and starts
    Check {
        /// An installed version; without it, the one in use
        #[arg(value_name = "VERSION")]
        request: Option<VersionRequest>,
    },
    /// Take an installed version away
    Remove {
        /// An installed version
        #[arg(value_name = "VERSION")]
        request: VersionRequest,
    },
}

pub(crate) fn run(arguments: CodexArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let work = async {
            match arguments.command {
                CodexCommand::List => list::run(&bench).await,
                CodexCommand::Install { request } => install::run(&bench, &request).await,
                CodexCommand::Use(arguments) => choose::run(&bench, arguments).await,
                CodexCommand::Path { request } => path::run(&bench, request.as_ref()).await,
                CodexCommand::Check { request } => check::run(&bench, request.as_ref()).await,
                CodexCommand::Remove { request } => remove::run(&bench, &request).await,
            }
        };
        // Leaving the work half done is safe: dropping it ends its children and removes its work folder.
        tokio::select! {
            result = work => result,
            result = interrupted() => result,
        }
    })
}

/// What every one of these commands works with.
struct Bench {
    output: Output,
    config: ConfigFile,
    cache: Cache,
    environment: Environment,
    home: Option<PathBuf>,
}

impl Bench {
    fn lay_out(output: Output) -> Result<Self, Failure> {
        let places = Places::find()?;
        let environment = Environment::new(places::environment());
        Ok(Self {
            output,
            config: ConfigFile::load(&places, output)?,
            cache: Cache::new(places.codex_cache()),
            home: environment.get("HOME").map(PathBuf::from),
            environment,
        })
    }

    fn settings(&self) -> Settings {
        let codex = &self.config.config.codex;
        Settings { path: codex.expanded_path(self.home.as_deref()), version: codex.version.clone() }
    }

    /// The Codex in use; the person is told what was passed over on the way to it.
    async fn resolve(&self) -> Result<Resolution, Failure> {
        let resolution = resolve(&self.settings(), &self.cache, &self.environment).await?;
        self.tell_passed(&resolution.passed);
        Ok(resolution)
    }

    fn tell_passed(&self, passed: &[Passed]) {
        for passed in passed {
            self.output.note(&format!("passed over: {}", passed.why));
        }
    }

    /// An installed version by name; `latest` is the newest that is installed.
    fn installed(&self, request: &VersionRequest) -> Result<Installed, Failure> {
        match request {
            VersionRequest::Latest => self.cache.newest()?.ok_or_else(|| {
                Failure::new(Exit::NotFound, "no Codex is installed")
                    .hint("run `ostler codex install` to fetch one")
            }),
            VersionRequest::Exact(version) => match self.cache.installed(version) {
                Ok(Some(installed)) => Ok(installed),
                Ok(None) => Err(CacheError::NotInstalled { version: version.clone() }.into()),
                Err(broken) => Err(Failure::new(Exit::Failed, broken.to_string())
                    .hint(format!("run `ostler codex install {version}` to replace it"))),
            },
        }
    }

    /// A path as a person would write it.
    fn short(&self, path: &Path) -> String {
        match self.home.as_ref().map(|home| path.strip_prefix(home)) {
            Some(Ok(rest)) => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }
}

/// Waits for the person to break off, which is always an error.
pub(super) async fn interrupted() -> Result<ExitCode, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"))
        })
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Err(Failure::new(Exit::CtrlC, "interrupted"))
}
