//! All the looks at the machine, side by side, and what follows from them.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use ostler_codex::binary::{Cache, Resolution, Settings, resolve};

use super::binary;
use super::borrowed_home::{BorrowedHome, Login};
use super::check::{Check, Name};
use super::codex_file;
use super::config::{self, OwnConfig};
use super::database;
use super::deadline::{apart, blocking, blocking_within};
use super::extensions::{self, Extensions};
use super::folder::{self, Folder, Missing};
use super::keepers;
use super::layers;
use super::leftovers;
use super::login;
use super::mcp;
use super::patient::Patient;
use super::plugin_cache;
use super::plugins;
use super::progress::Progress;
use super::runtime_folder::{self, RuntimeFolder};
use super::sandbox;
use super::scratch::Scratch;
use super::session::{self, Ground, Session, Start};
use crate::overlay;
use crate::places::Places;
use crate::stored_secrets::{self, StoredSecrets};

/// Two binaries may be asked for their version, each for at most 10 s.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(25);

/// What only a Codex can tell.
const TOLD: [Name; 7] = [
    Name::AppServer,
    Name::Login,
    Name::Sandbox,
    Name::CodexConfig,
    Name::ConfigLayers,
    Name::McpServers,
    Name::Plugins,
];

/// All checks, in no order.
pub(super) async fn examine(patient: &Patient, progress: &Progress) -> Vec<Check> {
    let Places { state, cache, runtime, .. } = patient.places.clone();
    // Made before the others look, and removed after them.
    let scratch_place = state.clone();
    let scratch = blocking(move || Scratch::below(&scratch_place)).await;
    let scratch = scratch.and_then(|scratch| scratch.map_err(|error| error.to_string()));

    let (place, surroundings) = (patient.places.config_file(), patient.places.surroundings());
    let own = blocking(move || OwnConfig::gather(place, &surroundings)).await;
    let patient = &own.as_ref().map_or_else(|_| patient.clone(), |own| patient.settled(own));

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
    let leftovers = async {
        let places = patient.places.clone();
        let facts = blocking(move || leftovers::gather(&places)).await;
        told(progress, Name::Leftovers, facts.map(|facts| leftovers::judge(&facts)))
    };
    let databases = async {
        let conversations = patient.places.conversations();
        let config = own.as_ref().ok().and_then(OwnConfig::config);
        let Some(tasks) = config.map(|config| config.store.path.clone()) else {
            progress.done(Name::Databases);
            return Check::not_looked_at(Name::Databases, "our config does not say where they are");
        };
        let facts =
            blocking_within(database::DEADLINE, move || database::gather(&tasks, &conversations));
        told(progress, Name::Databases, facts.await.map(|facts| database::judge(&facts)))
    };
    let (codex, npm, runtime_folder, keepers, leftovers, databases, state, cache, codex_home) = tokio::join!(
        codex(patient, own.as_ref(), scratch.as_ref(), progress),
        npm,
        runtime_folder,
        keepers,
        leftovers,
        databases,
        state_folder(patient, progress, state),
        grows(progress, Name::CacheFolder, cache, Missing::IsMade),
        codex_home(patient, progress),
    );
    let others = [npm, runtime_folder, keepers, leftovers, databases, state, cache, codex_home];
    [codex, others.to_vec()].concat()
}

/// All that depends on one another: our config names the binary, and the binary tells the rest.
async fn codex(
    patient: &Patient,
    own: Result<&OwnConfig, &String>,
    scratch: Result<&Scratch, &String>,
    progress: &Progress,
) -> Vec<Check> {
    let settings = own.map(settings);
    let config = told(progress, Name::Config, own.map(config::judge_own));
    let (cache, environment) =
        (Cache::new(patient.places.codex_cache()), patient.environment.clone());
    let settings = settings.unwrap_or_default();
    let looking = apart(RESOLVE_DEADLINE, async move {
        let resolved = resolve(&settings, &cache, &environment).await;
        (resolved, environment.find_executable("bwrap"))
    });
    let home = patient.codex_home();
    let reading = blocking(move || codex_file::faults(home.as_deref()));
    let (looked, faults) = tokio::join!(looking, reading);
    // A file that does not answer is for Codex to name.
    let faults = faults.unwrap_or_default();
    let judged = looked.as_ref().map(|(resolved, _)| binary::judge_codex(resolved));
    let mut checks = vec![config, told(progress, Name::Codex, judged)];
    let Ok((Ok(resolution), bubblewrap)) = looked else {
        checks.extend(TOLD.map(|name| match name {
            Name::CodexConfig if !faults.is_empty() => config::judge_alone(&faults),
            name => Check::not_looked_at(name, "there is no Codex to ask"),
        }));
        TOLD.iter().for_each(|name| progress.done(*name));
        return checks;
    };
    let extended = extended(patient, scratch, &resolution, progress);
    let asked = asked(patient, own.ok(), scratch, &resolution, bubblewrap, &faults);
    let asked = async {
        let checks = asked.await;
        checks.iter().for_each(|check| progress.done(check.name));
        checks
    };
    let (asked, extended) = tokio::join!(asked, extended);
    checks.extend(asked);
    checks.extend(extended);
    checks
}

/// What a Codex with the user's login and config says.
async fn asked(
    patient: &Patient,
    own: Option<&OwnConfig>,
    scratch: Result<&Scratch, &String>,
    resolution: &Resolution,
    bubblewrap: Option<PathBuf>,
    faults: &[String],
) -> Vec<Check> {
    const ASKED: [Name; 5] =
        [Name::AppServer, Name::Login, Name::Sandbox, Name::CodexConfig, Name::ConfigLayers];
    let folder = scratch.map(Scratch::codex_home);
    let (start, home) = match borrow_home(patient, scratch, folder, Login::Linked, resolution).await
    {
        Ok(borrowed) => borrowed,
        Err(why) => return ASKED.map(|name| untried(name, &why)).to_vec(),
    };
    let start = Start { bubblewrap, ..start };
    let checks = match apart(session::TALK_DEADLINE, session::talk(start)).await {
        Ok(session) => judge_session(&session, resolution, patient, own, &home, faults),
        Err(stuck) => ASKED.map(|name| Check::problem(name, &stuck)).to_vec(),
    };
    checks.into_iter().map(|check| check.with_words(|text| home.name_the_real(text))).collect()
}

/// What a Codex without login says of MCP servers and plugins.
async fn extended(
    patient: &Patient,
    scratch: Result<&Scratch, &String>,
    resolution: &Resolution,
    progress: &Progress,
) -> Vec<Check> {
    const EXTENDED: [Name; 2] = [Name::McpServers, Name::Plugins];
    let talked = async {
        let folder = scratch.map(Scratch::bare_home);
        let (start, home) =
            borrow_home(patient, scratch, folder, Login::LeftOut, resolution).await?;
        if !home.is_borrowed() {
            return Err("the Codex home cannot be used".to_owned());
        }
        let (real, bare) = (patient.codex_home(), home.path.clone());
        let copied = blocking(move || plugin_cache::copy(real.as_deref(), &bare)).await?;
        let places = patient.places.clone();
        let usual = patient.codex_home();
        let looked = blocking(move || {
            let migrated = overlay::overrides(&places);
            let given = usual.map(|home| stored_secrets::given(&places, &home, &migrated));
            (migrated, given.unwrap_or_default())
        });
        let (migrated, given) = looked.await?;
        let mut start = start;
        given.add_to(&mut start.environment);
        let talking = async move { extensions::talk(start, &migrated).await };
        let talked = apart(extensions::DEADLINE, talking).await??;
        let plugins = copied.and(talked.plugins);
        Ok((Extensions { plugins, ..talked }, home))
    };
    let checks = match talked.await {
        Ok((extensions, home)) => {
            let config = codex_file::file_in(&home.path);
            let checks =
                [mcp::judge(&extensions.servers, &config), plugins::judge(&extensions.plugins)];
            checks.map(|check| check.with_words(|text| home.name_the_real(text)))
        }
        Err(why) => EXTENDED.map(|name| Check::not_looked_at(name, &why)),
    };
    EXTENDED.iter().for_each(|name| progress.done(*name));
    checks.to_vec()
}

fn untried(name: Name, why: &str) -> Check {
    Check::problem(name, format!("cannot be tried: {why}"))
        .advise("make the state folder writable, and look again")
}

/// Where Codex is started, and the home that it is started with.
async fn borrow_home(
    patient: &Patient,
    scratch: Result<&Scratch, &String>,
    folder: Result<PathBuf, &String>,
    login: Login,
    resolution: &Resolution,
) -> Result<(Start, BorrowedHome), String> {
    let scratch = scratch.map_err(Clone::clone)?;
    let ground = Ground { workspace: scratch.workspace(), outside: scratch.outside() };
    let (folder, real) = (folder.map_err(Clone::clone)?, patient.codex_home());
    let is_named = patient.named_codex_home.is_some();
    let home = blocking(move || BorrowedHome::lay_out(folder, real, is_named, login)).await?;
    let home = home.map_err(|error| error.to_string())?;
    let environment = patient.environment.for_codex(Some(home.path.clone()));
    let codex = resolution.path.clone();
    Ok((Start { codex, environment, ground, bubblewrap: None }, home))
}

fn judge_session(
    session: &Session,
    resolution: &Resolution,
    patient: &Patient,
    own: Option<&OwnConfig>,
    home: &BorrowedHome,
    faults: &[String],
) -> Vec<Check> {
    let start = session::judge_start(session, &resolution.path, &resolution.version);
    let Session::Talked(talk) = session else {
        let told = [Name::Login, Name::Sandbox, Name::CodexConfig, Name::ConfigLayers];
        let because = "the app-server does not start";
        let others = told.map(|name| match name {
            Name::CodexConfig if !faults.is_empty() => config::judge_alone(faults),
            name => Check::not_looked_at(name, because),
        });
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
        layers::judge(own, &config.read),
        config::judge_codex(&config, place.as_deref(), faults),
        sandbox,
    ]
}

async fn codex_home(patient: &Patient, progress: &Progress) -> Check {
    // Codex makes its default home itself, but not one that it was given.
    let missing = patient
        .named_codex_home
        .as_ref()
        .map_or(Missing::IsMade, |_| Missing::IsProblem { named_by: patient.home_named_by });
    match patient.codex_home() {
        Some(path) => grows(progress, Name::CodexHome, path, missing).await,
        None => {
            let check = Check::warning(Name::CodexHome, "neither HOME nor CODEX_HOME is set");
            told(progress, Name::CodexHome, Ok::<_, String>(check.advise("set HOME")))
        }
    }
}

/// With the secrets in it.
async fn state_folder(patient: &Patient, progress: &Progress, path: PathBuf) -> Check {
    let check = grows(progress, Name::StateFolder, path, Missing::IsMade).await;
    let places = patient.places.clone();
    let loaded = blocking(move || StoredSecrets::load(&places).map(drop)).await;
    match loaded {
        Ok(Err(failure)) => {
            let advice = failure.hint.unwrap_or_else(|| "run `ostler migrate` again".to_owned());
            Check::problem(Name::StateFolder, failure.message).advise(advice)
        }
        _ => check,
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
