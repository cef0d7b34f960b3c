//! `ostler doctor`: is this machine fit to run Codex, and if not, what to do.
//!
//! Every check first gathers facts, each gathering with a deadline of its own, and then judges them; judging is pure.
//! Codex is looked at as it would run: the same binary, the user's own config and login, the environment that a keeper
//! gives it. Its home is a scratch folder with links to those files, because Codex writes into its home as it starts.

mod binary;
mod borrowed_home;
mod check;
mod config;
mod folder;
mod keepers;
mod login;
mod page;
mod progress;
mod runtime_folder;
mod sandbox;
mod scratch;
mod session;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use ostler_codex::binary::{Cache, Environment, Resolution, Settings, resolve};
use ostler_codex::keeper::redact;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::Interruption;
use crate::terminal::{self, Output};
use borrowed_home::BorrowedHome;
use check::{Check, Name, Report};
use config::OwnConfig;
use folder::{Folder, Missing};
use progress::Progress;
use runtime_folder::RuntimeFolder;
use scratch::Scratch;
use session::{Ground, Session, Start};

/// A local disk answers in milliseconds; a network drive that has gone never does.
const FILE_DEADLINE: Duration = Duration::from_secs(5);

/// Two binaries may be asked for their version, each for at most 10 s.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(25);

#[derive(Debug, Args)]
#[command(after_help = "\
Codex is started for a moment, with your own config and login; no task is run, nothing is sent to a model and
nothing is written into your CODEX_HOME.
Exit code: 0 if there is no problem (warnings do not count), 1 if there is one.")]
pub(crate) struct DoctorArguments {}

pub(crate) fn run(_: &DoctorArguments, output: Output) -> Result<ExitCode, Failure> {
    let patient = Patient::find()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One that may be stuck in the file system, and one that goes on.
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let report = runtime.block_on(async {
        let progress = Progress::new(output);
        let examination = async { Ok(patient.report(examine(&patient, &progress).await)) };
        // Dropping the examination ends Codex and removes the scratch folder.
        Interruption::listen()?.or(examination).await
    });
    // Whatever is stuck in the file system is not waited for.
    runtime.shutdown_background();
    let report = report?;
    if !output.is_json() {
        output.say_styled(&page::lay_out(&report, terminal::width()));
    }
    output.emit(&report);
    Ok(if report.problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The machine, as far as it is known without looking.
struct Patient {
    places: Places,
    variables: Vec<(OsString, OsString)>,
    environment: Environment,
    home: Option<PathBuf>,
    /// What `CODEX_HOME` says, made absolute because Codex runs in another folder than we do.
    named_codex_home: Option<PathBuf>,
}

impl Patient {
    fn find() -> Result<Self, Failure> {
        let variables = places::environment();
        let environment = Environment::new(variables.clone());
        let folder = |name: &str| {
            let value = environment.get(name).filter(|value| !value.is_empty());
            value.and_then(|value| std::path::absolute(value).ok())
        };
        Ok(Self {
            places: Places::find()?,
            home: folder("HOME"),
            named_codex_home: folder("CODEX_HOME"),
            environment,
            variables,
        })
    }

    fn codex_home(&self) -> Option<PathBuf> {
        let default = || self.home.as_ref().map(|home| home.join(".codex"));
        self.named_codex_home.clone().or_else(default)
    }

    /// Codex's words may quote a config file: no secret of the environment or of a known form leaves this door.
    fn report(&self, checks: Vec<Check>) -> Report {
        let home = self.home.as_ref().map(|home| format!("{}/", home.display()));
        let home = home.filter(|home| home != "//");
        let shown = |text: &str| {
            let text = redact(text, &self.variables);
            home.as_ref().map_or(text.clone(), |home| text.replace(home.as_str(), "~/"))
        };
        let checks = checks.into_iter().map(|check| Check {
            found: shown(&check.found),
            advice: check.advice.as_deref().map(shown),
            ..check
        });
        Report::new(checks.collect())
    }
}

async fn examine(patient: &Patient, progress: &Progress) -> Vec<Check> {
    let Places { state, cache, runtime, .. } = patient.places.clone();
    // Made before the others look, and removed after them.
    let scratch_place = state.clone();
    let scratch = blocking(move || Scratch::below(&scratch_place)).await;
    let scratch = scratch.and_then(|scratch| scratch.map_err(|error| error.to_string()));

    let npm = async {
        let environment = patient.environment.clone();
        let npm = blocking(move || environment.find_executable("npm")).await;
        told(progress, Name::Npm, npm.map(binary::judge_npm))
    };
    let runtime_folder = async {
        let keepers = patient.places.keepers();
        let facts = blocking(move || RuntimeFolder::gather(&runtime, &keepers)).await;
        told(progress, Name::RuntimeFolder, facts.map(|facts| runtime_folder::judge(&facts)))
    };
    let keepers = async {
        let root = patient.places.keepers();
        let facts = blocking(move || keepers::gather(&root, Timestamp::now())).await;
        told(progress, Name::Keepers, facts.map(|facts| keepers::judge(&facts)))
    };
    let (codex, npm, runtime_folder, keepers, state, cache, codex_home) = tokio::join!(
        codex(patient, scratch.as_ref(), progress),
        npm,
        runtime_folder,
        keepers,
        grows(progress, Name::StateFolder, state, Missing::IsMade),
        grows(progress, Name::CacheFolder, cache, Missing::IsMade),
        codex_home(patient, progress),
    );
    [codex, vec![npm, runtime_folder, keepers, state, cache, codex_home]].concat()
}

/// All that depends on one another: our config names the binary, and the binary tells the rest.
async fn codex(
    patient: &Patient,
    scratch: Result<&Scratch, &String>,
    progress: &Progress,
) -> Vec<Check> {
    const TOLD: [Name; 4] = [Name::AppServer, Name::Login, Name::Sandbox, Name::CodexConfig];
    let (place, surroundings) = (patient.places.config_file(), patient.places.surroundings());
    let own = blocking(move || OwnConfig::gather(place, &surroundings)).await;
    let settings = own.as_ref().map(settings);
    let config = told(progress, Name::Config, own.as_ref().map(config::judge_own));
    let (cache, environment) =
        (Cache::new(patient.places.codex_cache()), patient.environment.clone());
    let settings = settings.unwrap_or_default();
    let looking = apart(RESOLVE_DEADLINE, async move {
        let resolved = resolve(&settings, &cache, &environment).await;
        (resolved, environment.find_executable("bwrap"))
    });
    let looked = looking.await;
    let judged = looked.as_ref().map(|(resolved, _)| binary::judge_codex(resolved));
    let mut checks = vec![config, told(progress, Name::Codex, judged)];
    let Ok((Ok(resolution), bubblewrap)) = looked else {
        TOLD.iter().for_each(|name| progress.done(*name));
        checks.extend(TOLD.map(|name| Check::not_looked_at(name, "there is no Codex to ask")));
        return checks;
    };
    match borrow_home(patient, scratch).await {
        Ok((ground, home)) => {
            let start = Start {
                codex: resolution.path.clone(),
                environment: patient.environment.for_codex(Some(home.path.clone())),
                ground,
                bubblewrap,
            };
            let session = apart(session::TALK_DEADLINE, session::talk(start)).await;
            let told = match session {
                Ok(session) => judge_session(&session, &resolution, patient, &home),
                Err(stuck) => TOLD.map(|name| Check::problem(name, &stuck)).to_vec(),
            };
            checks.extend(told.into_iter().map(|check| Check {
                found: home.name_the_real(&check.found),
                advice: check.advice.as_deref().map(|advice| home.name_the_real(advice)),
                ..check
            }));
        }
        Err(why) => checks.extend(TOLD.map(|name| {
            Check::problem(name, format!("cannot be tried: {why}"))
                .advise("make the state folder writable, and look again")
        })),
    }
    TOLD.iter().for_each(|name| progress.done(*name));
    checks
}

/// Where Codex is started, and the home that it is started with.
async fn borrow_home(
    patient: &Patient,
    scratch: Result<&Scratch, &String>,
) -> Result<(Ground, BorrowedHome), String> {
    let scratch = scratch.map_err(Clone::clone)?;
    let ground = Ground { workspace: scratch.workspace(), outside: scratch.outside() };
    let (folder, real) = (scratch.codex_home(), patient.codex_home());
    let is_named = patient.named_codex_home.is_some();
    let home = blocking(move || BorrowedHome::lay_out(folder, real, is_named)).await?;
    Ok((ground, home.map_err(|error| error.to_string())?))
}

fn judge_session(
    session: &Session,
    resolution: &Resolution,
    patient: &Patient,
    home: &BorrowedHome,
) -> Vec<Check> {
    let start = session::judge_start(session, &resolution.path, &resolution.version);
    let Session::Talked(talk) = session else {
        let told = [Name::Login, Name::Sandbox, Name::CodexConfig];
        let because = "the app-server does not start";
        let others = told.map(|name| Check::not_looked_at(name, because));
        return std::iter::once(start).chain(others).collect();
    };
    let sandbox = match &talk.sandbox {
        Ok(trial) => sandbox::judge(trial),
        Err(why) => {
            Check::problem(Name::Sandbox, format!("cannot be tried: {why}")).advise("look again")
        }
    };
    let config = talk.config.clone().with_words(|words| home.name_the_real(words));
    let place = patient.codex_home();
    vec![
        start,
        login::judge(&talk.account),
        config::judge_codex(&config, place.as_deref()),
        sandbox,
    ]
}

async fn codex_home(patient: &Patient, progress: &Progress) -> Check {
    // Codex makes its default home itself, but not one that it was given.
    let missing =
        if patient.named_codex_home.is_some() { Missing::IsProblem } else { Missing::IsMade };
    match patient.codex_home() {
        Some(path) => grows(progress, Name::CodexHome, path, missing).await,
        None => {
            let check = Check::warning(Name::CodexHome, "neither HOME nor CODEX_HOME is set");
            told(progress, Name::CodexHome, Ok::<_, String>(check.advise("set HOME")))
        }
    }
}

async fn grows(progress: &Progress, name: Name, path: PathBuf, missing: Missing) -> Check {
    let facts = blocking(move || Folder::gather(&path)).await;
    told(progress, name, facts.map(|folder| folder::judge(name, &folder, missing)))
}

fn told(progress: &Progress, name: Name, judged: Result<Check, impl AsRef<str>>) -> Check {
    progress.done(name);
    judged.unwrap_or_else(|stuck| {
        Check::problem(name, stuck.as_ref())
            .advise("look whether a disk or a network drive does not answer")
    })
}

fn settings(own: &OwnConfig) -> Settings {
    let Some(Ok(reading)) = &own.reading else {
        return Settings::default();
    };
    let codex = &reading.config.codex;
    Settings { path: codex.path.clone(), version: codex.version.clone() }
}

/// Work that the file system may hold up for ever, on a thread that is then left behind.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    match timeout(FILE_DEADLINE, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("the look at it failed: {error}")),
        Err(_) => Err(format!("stuck: no answer within {} s", FILE_DEADLINE.as_secs())),
    }
}

/// Work in a task of its own, because parts of it may hold its thread up.
async fn apart<T: Send + 'static>(
    deadline: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    match timeout(deadline, AbortOnDropHandle::new(tokio::spawn(work))).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("the look at it failed: {error}")),
        Err(_) => Err(format!("stuck: no answer within {} s", deadline.as_secs())),
    }
}
