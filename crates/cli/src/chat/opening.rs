//! Opening the agent: from the settings to what it is made of.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agent::api::ModelApi;
use ostler_agent::{
    Activity, Agent, AgentError, Clock, CodexCompaction, CodexTools, Conversations, Intervals,
    KitSettings, Parts, ReviewTelling, Runtime, Settings,
};
use ostler_codex::binary::shipped_bubblewraps;
use ostler_config::migrate::OWN_SERVER;
use ostler_config::{Config, settings};
use ostler_model::task::TaskSettings;
use tokio::sync::mpsc;

use super::agent_session::{AgentSession, SHOWN};
use super::inbox::Inbox;
use super::models::Catalogue;
use super::session::{Opening, Which};
use super::switching::runtime_of;
use crate::agent::outside::{find_on_path, outside};
use crate::agent::provider::{connect, provider};
use crate::agent::{HostAsks, HostTasks, Way, confinement, memory_approval, reviewer, rights};
use crate::bench::Bench;
use crate::commands::serve::{own_server, task_defaults};
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::overlay;
use crate::places;
use crate::settings::ConfigFile;

/// What is kept of the environment for the agent's own commands: what programs need to work, and nothing that is a secret.
const FOR_COMMANDS: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

pub(super) async fn open(
    bench: &Bench,
    reach: &ReachArguments,
    later: Arc<Inbox>,
    which: Which,
    opening: &Opening,
) -> Result<AgentSession, Failure> {
    // Read anew for each session: it may have been changed since the chat began, by `/codex-runtime` or by hand.
    let file = ConfigFile::load(&bench.places)?;
    let config = file.config();
    let is_codex_served =
        ostler_agent::runtime::PROVIDERS_OF_CODEX.contains(&config.agent.provider.as_str());
    let conversations = conversations(&bench.places.state).await?;
    let way = Arc::new(Way::new(bench.places.clone(), reach.clone()));
    let (show, shown) = mpsc::channel(SHOWN);
    let show = move |activity: Activity| {
        if show.try_send(activity).is_err() {
            tracing::warn!("a question could not be shown here; `ostler asks` has it");
        }
    };
    let parts = Parts {
        api: api(bench, config)?,
        review_api: reviewer(bench, config),
        tasks: Arc::new(HostTasks::new(way.clone())),
        asks: Arc::new(HostAsks::new(way, Box::new(show))),
        conversations,
        later: Arc::new(move |activity| later.hear(activity)),
        clock: Clock::system(),
    };
    let mut settings = agent_settings(config, opening)?;
    settings.codex.config.extend(overlay::overrides(&bench.places));
    if let Some(written) = bench.usual_codex_home().and_then(|home| overlay::written_server(&home))
    {
        let config = &mut settings.codex.config;
        match settings.codex_tools {
            CodexTools::Mcp => own_server()?.bring_along(config, &written),
            // One thread alone cannot leave out what stands in Codex's own file, only switch it off.
            _ => {
                config.insert(format!("mcp_servers.{OWN_SERVER}.enabled"), "false".to_owned());
            }
        }
    }
    if !is_codex_served {
        settings.runtime = Some(Runtime::Auto);
    } else if which == Which::New && settings.runtime.is_none() {
        settings.runtime = Some(runtime_of(config.agent.runtime));
    }
    let kit = kit(bench, config, opening)?;
    let agent = Agent::open(settings, kit, parts, self::which(which))
        .await
        .map_err(|error| refused(&error))?;
    let catalogue = Catalogue { provider: provider(bench, config, &config.agent.provider)? };
    Ok(AgentSession::new(agent, shown, is_codex_served, catalogue))
}

pub(super) fn which(which: Which) -> ostler_agent::Which {
    match which {
        Which::New => ostler_agent::Which::New,
        Which::Resume(id) => ostler_agent::Which::Resume(id),
        Which::Last => ostler_agent::Which::Last,
    }
}

/// The file with all conversations.
pub(super) async fn conversations(state: &Path) -> Result<Conversations, Failure> {
    places::private_folder(state)?;
    let opened = Conversations::open(state.join(places::CONVERSATIONS)).await;
    opened.map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

fn api(bench: &Bench, config: &Config) -> Result<Arc<dyn ModelApi>, Failure> {
    connect(bench, config, &config.agent.provider)
}

fn agent_settings(config: &Config, opening: &Opening) -> Result<Settings, Failure> {
    let agent = &config.agent;
    let identity = match &agent.identity {
        None => None,
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
            Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display()))
                .hint("identity in [agent] names the file with who the agent is")
        })?),
    };
    let intervals = match agent.review {
        true => {
            // A review asks nobody, so it could not remember anything.
            let is_asked = agent.memory_approval;
            let memory = if is_asked { 0 } else { agent.memory_nudge_interval };
            Intervals { memory, skills: agent.skill_nudge_interval }
        }
        false => Intervals { memory: 0, skills: 0 },
    };
    let program = |invocation: &ostler_config::Invocation| {
        let words = std::iter::once(&invocation.program).chain(&invocation.arguments);
        words.cloned().collect()
    };
    Ok(Settings {
        runtime: opening.runtime,
        model: opening.model.clone(),
        default_model: agent.model.clone().unwrap_or_default(),
        effort: opening.effort.clone(),
        default_effort: agent.effort.clone(),
        cwd: opening.cwd.clone(),
        context_window: agent.context_window,
        iterations: agent.iterations,
        full_percent: u64::from(agent.compression_threshold),
        intervals,
        review_model: agent.review_model.clone(),
        review_telling: match agent.memory_notifications {
            settings::MemoryNotifications::Off => ReviewTelling::Nothing,
            settings::MemoryNotifications::On => ReviewTelling::OneLine,
            settings::MemoryNotifications::Verbose => ReviewTelling::Everything,
        },
        codex_compaction: match agent.codex_compaction {
            settings::CodexCompaction::Native => CodexCompaction::Native,
            settings::CodexCompaction::Host => CodexCompaction::Host,
            settings::CodexCompaction::Off => CodexCompaction::Off,
        },
        codex_tools: match agent.codex_tools {
            settings::CodexTools::Mcp => CodexTools::Mcp,
            settings::CodexTools::Dynamic => CodexTools::Dynamic,
            settings::CodexTools::None => CodexTools::Nothing,
        },
        codex: on_codex(config, &opening.cwd),
        memory_sync: agent.memory_sync.as_ref().map(program),
        identity,
        day: jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
        new_id: None,
    })
}

/// The conversation has the same rights on either runtime: those that `[agent]` gives it.
fn on_codex(config: &Config, cwd: &Path) -> TaskSettings {
    let (sandbox, approval) = rights(config);
    TaskSettings { sandbox, approval, ..in_folder(config, cwd) }
}

fn in_folder(config: &Config, cwd: &Path) -> TaskSettings {
    TaskSettings { cwd: cwd.display().to_string(), ..task_defaults(config) }
}

fn kit(bench: &Bench, config: &Config, opening: &Opening) -> Result<KitSettings, Failure> {
    let mut environment: BTreeMap<OsString, OsString> = BTreeMap::new();
    for name in FOR_COMMANDS {
        environment.extend(places::variable(name).map(|value| (OsString::from(name), value)));
    }
    let own = crate::running::own_program()?;
    Ok(KitSettings {
        home: bench.places.state.join("agent"),
        confinement: confinement(bench, config, &opening.cwd),
        launcher: vec![own.into_os_string(), OsString::from("sandbox-exec")],
        bubblewraps: bubblewraps(bench),
        environment,
        delegated: in_folder(config, &opening.cwd),
        memory_approval: memory_approval(config),
        outside: Some(outside(bench, config, opening.model.as_deref())?),
    })
}

/// The system's own first: some systems let no other make namespaces.
fn bubblewraps(bench: &Bench) -> Vec<PathBuf> {
    let shipped = shipped_bubblewraps(&bench.settings(), &bench.cache, &bench.environment);
    find_on_path("bwrap").into_iter().chain(shipped).collect()
}

pub(super) fn refused(error: &AgentError) -> Failure {
    let exit = match error {
        AgentError::NoConversation(_) | AgentError::NoneYet => Exit::NotFound,
        AgentError::Ambiguous(..) | AgentError::OpenTurn(_) => Exit::Usage,
        _ => Exit::Failed,
    };
    let failure = Failure::new(exit, error.to_string());
    match error {
        AgentError::OpenTurn(id) => failure.hint(format!(
            "`ostler chat --resume {id}` brings it to its end; --force removes it as it is"
        )),
        _ => failure,
    }
}
