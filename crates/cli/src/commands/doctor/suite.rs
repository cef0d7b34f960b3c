//! `ostler doctor --codex BIN`: does this Codex do all that we need? Every flow runs for real, on a model that plays a script,
//! in a home and a folder that nobody else uses.

mod flow;
mod table;
mod turns;
mod world;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use ostler_codex::binary::{Environment, Platform, Probe, native_binary, probe};
use ostler_codex::keeper::redact;
use ostler_codex::protocol::CodexVersion;
use serde::Serialize;
use tokio::time::timeout;

use crate::commands::codex::check::drifts;
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::{Interruption, runtime};
use crate::terminal::Output;
use crate::terminal::moving_line::{moving_line, style};
use flow::{Flow, FlowResult, Tried};
use world::World;

/// A flow takes about a second; this is for a machine that has other things to do.
const FLOW_DEADLINE: Duration = Duration::from_secs(120);

#[derive(Debug, Serialize)]
struct Report {
    path: PathBuf,
    version: Option<String>,
    ok: bool,
    flows: Vec<Tried>,
}

pub(super) fn run(codex: &Path, output: Output) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    let variables = places::environment();
    let environment = Environment::new(variables.clone());
    let report = runtime()?.block_on(async {
        let mut interruption = Interruption::listen()?;
        let progress = Progress::new(output);
        let (path, known) = interruption.or(async { Ok(look(codex, &environment).await) }).await?;
        let mut report = Report { path, version: None, ok: false, flows: known.flows };
        if let Some(version) = known.version {
            report.version = Some(version.to_string());
            let mut world = World::lay_out(&places, &report.path)?;
            let work = async { Ok(talk(&mut world, &report.path, &version, &progress).await) };
            let tried = interruption.or(work).await;
            // Whatever came out, no Codex of the suite may be left running.
            world.end().await?;
            report.flows.extend(tried?);
        }
        Ok::<_, Failure>(report)
    })?;
    let report = finished(report, |text| redact(text, &variables));
    if !output.is_json() {
        output.say_styled(&table::lay_out(&report.path, report.version.as_deref(), &report.flows));
    }
    output.emit(&report);
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(Exit::Failed as u8) })
}

/// What is known before anything is started.
struct Known {
    version: Option<CodexVersion>,
    flows: Vec<Tried>,
}

/// Which binary it is: a path, or a name on PATH; where that is a wrapper, the program behind it.
async fn look(codex: &Path, environment: &Environment) -> (PathBuf, Known) {
    let begun = Instant::now();
    let is_name = codex.components().count() == 1 && !codex.exists();
    let on_path = is_name.then(|| environment.find_executable(&codex.to_string_lossy())).flatten();
    let path = on_path.or_else(|| std::path::absolute(codex).ok());
    let path = path.unwrap_or_else(|| codex.to_owned());
    let native = Platform::current()
        .map_err(|error| error.to_string())
        .and_then(|platform| native_binary(&path, platform).map_err(|error| error.to_string()));
    let native = match native {
        Ok(native) => native,
        Err(why) => return (path, unusable(why, begun)),
    };
    match probe(&native, environment).await {
        Probe::Fits { version } => {
            let saw = format!("codex {version}");
            let tried = Tried::new(Flow::Version, Ok(saw), begun.elapsed());
            let version = CodexVersion::parse(&version.to_string());
            (native, Known { version, flows: vec![tried] })
        }
        other => (native, unusable(other.to_string(), begun)),
    }
}

fn unusable(why: String, begun: Instant) -> Known {
    let because = "there is no Codex to try";
    let others = Flow::ALL.into_iter().filter(|flow| *flow != Flow::Version);
    let others = others.map(|flow| Tried::not_tried(flow, because));
    let failed = Tried::new(Flow::Version, Err(why), begun.elapsed());
    Known { version: None, flows: std::iter::once(failed).chain(others).collect() }
}

/// All flows but the first. Without an app-server that greets, none of the later ones is tried.
async fn talk(
    world: &mut World,
    codex: &Path,
    version: &CodexVersion,
    progress: &Progress,
) -> Vec<Tried> {
    let mut tried: Vec<Tried> = Vec::new();
    for flow in Flow::ALL.into_iter().filter(|flow| *flow != Flow::Version) {
        let greeting = tried.iter().find(|tried| tried.flow == Flow::Greeting);
        if greeting.is_some_and(|greeting| greeting.result != FlowResult::Passed) {
            tried.push(Tried::not_tried(flow, "the app-server does not greet"));
            continue;
        }
        progress.show(flow);
        let begun = Instant::now();
        let outcome = timeout(FLOW_DEADLINE, one(world, flow, codex, version)).await;
        let late = || Err(format!("it took longer than {} s", FLOW_DEADLINE.as_secs()));
        tried.push(Tried::new(flow, outcome.unwrap_or_else(|_| late()), begun.elapsed()));
    }
    tried
}

async fn one(
    world: &mut World,
    flow: Flow,
    codex: &Path,
    version: &CodexVersion,
) -> Result<String, String> {
    match flow {
        Flow::Version => Ok(version.to_string()),
        Flow::Schema => schema(world, codex, version).await,
        Flow::Greeting => turns::greeting(world, &version.to_string()).await,
        Flow::PlainTurn => turns::plain_turn(world).await,
        Flow::CommandAllowed => turns::command_allowed(world).await,
        Flow::CommandRefused => turns::command_refused(world).await,
        Flow::FileChange => turns::file_change(world).await,
        Flow::Steer => turns::steer(world).await,
        Flow::Interrupt => turns::interrupt(world).await,
        Flow::Goal => turns::goal(world).await,
        Flow::TwoClients => turns::two_clients(world).await,
        Flow::UnknownRequest => turns::unknown_request(world).await,
        Flow::ResumeAfterKill => turns::resume_after_kill(world).await,
    }
}

/// Whether every field that we rely on is in the schema that it writes of itself.
async fn schema(world: &World, codex: &Path, version: &CodexVersion) -> Result<String, String> {
    let drifts = drifts(codex, version, &world.schema_folder()).await?;
    if drifts.is_empty() {
        return Ok("every field that ostler relies on is there".to_owned());
    }
    let drifts: Vec<String> = drifts.iter().map(ToString::to_string).collect();
    Err(drifts.join("; "))
}

fn finished(mut report: Report, shown: impl Fn(&str) -> String) -> Report {
    report.ok = report.flows.iter().all(|tried| tried.result == FlowResult::Passed);
    for tried in &mut report.flows {
        tried.saw = shown(&tried.saw);
    }
    report
}

/// Which flow is being tried, on a terminal only.
struct Progress(Option<ProgressBar>);

impl Progress {
    fn new(output: Output) -> Self {
        let shown = !output.is_json() && std::io::stderr().is_terminal();
        Self(shown.then(|| {
            let bar = moving_line();
            bar.set_style(style("{spinner} {wide_msg}"));
            bar
        }))
    }

    fn show(&self, flow: Flow) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("trying: {}", flow.word()));
        }
    }
}

/// Also when the suite is interrupted, nothing half drawn stays on the screen.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
