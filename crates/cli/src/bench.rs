//! What a command works with: where our files are, what the config says, which Codex there is.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use ostler_codex::binary::{
    Cache, CacheError, Environment, InstallOutcome, Installed, Installer, Passed, Resolution,
    Settings, VersionRequest, resolve,
};

use crate::commands::codex::progress::Progress;
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::Interruption;
use crate::settings::ConfigFile;
use crate::terminal::{self, Output, typed};

/// The newest that all tests run on.
pub(crate) const FETCHED_VERSION: &str = "0.166.0";

/// What is laid out before the work begins.
pub(crate) struct Bench {
    pub(crate) output: Output,
    pub(crate) places: Places,
    pub(crate) config: ConfigFile,
    pub(crate) cache: Cache,
    pub(crate) environment: Environment,
    home: Option<PathBuf>,
}

impl Bench {
    pub(crate) fn lay_out(output: Output) -> Result<Self, Failure> {
        let places = Places::find()?;
        let environment = Environment::new(places::environment());
        Ok(Self {
            output,
            config: ConfigFile::load(&places)?,
            cache: Cache::new(places.codex_cache()),
            home: environment.get("HOME").map(PathBuf::from),
            environment,
            places,
        })
    }

    /// The home that Codex is to be given: the settings say so where `CODEX_HOME` says nothing, which it is started with anyway.
    pub(crate) fn codex_home(&self) -> Option<PathBuf> {
        let is_named = self.environment.get("CODEX_HOME").is_some_and(|home| !home.is_empty());
        self.config.config().codex.home.clone().filter(|_| !is_named)
    }

    /// The home that Codex has when nobody says another: where it keeps its login and its settings.
    pub(crate) fn usual_codex_home(&self) -> Option<PathBuf> {
        let named = self.environment.get("CODEX_HOME").filter(|home| !home.is_empty());
        let usual = || self.home.as_ref().map(|home| home.join(".codex"));
        named.map(PathBuf::from).or_else(|| self.codex_home()).or_else(usual)
    }

    pub(crate) fn settings(&self) -> Settings {
        let codex = &self.config.config().codex;
        Settings { path: codex.path.clone(), version: codex.version.clone() }
    }

    /// The Codex in use. Where there is none, a person at a terminal is offered one.
    pub(crate) async fn resolve(&self) -> Result<Resolution, Failure> {
        match self.find().await {
            Err(failure) if failure.exit == Exit::NotFound && self.is_attended() => {
                if !offer(&failure).await {
                    return Err(failure);
                }
                Interruption::listen()?.or(self.install(&fetched_version()?)).await?;
                self.find().await
            }
            found => found,
        }
    }

    /// The Codex in use; the person is told what was passed over on the way to it.
    pub(crate) async fn find(&self) -> Result<Resolution, Failure> {
        let resolution = resolve(&self.settings(), &self.cache, &self.environment).await?;
        self.tell_passed(&resolution.passed);
        Ok(resolution)
    }

    /// The binary to use and its version: the one that is asked for, fetched if need be, or else the one in use.
    pub(crate) async fn choose(
        &self,
        wanted: Option<&VersionRequest>,
    ) -> Result<(PathBuf, String), Failure> {
        match wanted {
            Some(request) => {
                let installed = self.install(request).await?.installed;
                Ok((installed.binary, installed.version.to_string()))
            }
            None => {
                let found = self.resolve().await?;
                Ok((found.path, found.version.to_string()))
            }
        }
    }

    /// Makes a version be there, and shows how that goes.
    pub(crate) async fn install(
        &self,
        request: &VersionRequest,
    ) -> Result<InstallOutcome, Failure> {
        let installer = Installer::new(self.cache.clone(), self.environment.clone());
        let mut progress = Progress::new(self.output);
        let outcome = installer.install(request, &mut |step| progress.show(&step)).await;
        drop(progress);
        Ok(outcome?)
    }

    /// Whether there is somebody to ask. The question goes to stderr: stdout may be read by a script.
    fn is_attended(&self) -> bool {
        !self.output.is_json() && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    pub(crate) fn tell_passed(&self, passed: &[Passed]) {
        for passed in passed {
            self.output.note(&format!("passed over: {}", passed.why));
        }
    }

    /// An installed version by name; `latest` is the newest that is installed.
    pub(crate) fn installed(&self, request: &VersionRequest) -> Result<Installed, Failure> {
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
    pub(crate) fn short(&self, path: &Path) -> String {
        match self.home.as_ref().map(|home| path.strip_prefix(home)) {
            Some(Ok(rest)) => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }
}

/// The version that is fetched when there is no Codex at all.
pub(crate) fn fetched_version() -> Result<VersionRequest, Failure> {
    FETCHED_VERSION.parse().map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot name the version to fetch: {error}"))
    })
}

/// Anything but a yes is a no, also the end of input.
async fn offer(failure: &Failure) -> bool {
    let mut lines = typed::lines();
    terminal::ask(&format!("{}; fetch {FETCHED_VERSION} from npm now? [y/N] ", failure.message));
    let answer = lines.recv().await.unwrap_or_default();
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
