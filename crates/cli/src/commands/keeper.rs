//! `ostler keeper`: the processes that each own one codex app-server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use ostler_codex::keeper::environment::EnvironmentRule;
use ostler_codex::keeper::{self, KeeperFolder, StartKeeper, StopMode};
use serde_json::json;

use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::{block_on, own_program, runtime};
use crate::terminal::Output;

mod table;

/// Codex listens after about 0.1 s; a cold disk and a busy machine may need a hundred times as much.
pub(crate) const READY_DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct KeeperArguments {
    #[command(subcommand)]
    command: KeeperCommand,
}

#[derive(Debug, Subcommand)]
enum KeeperCommand {
    /// Start a codex app-server that outlives this command
    Start(StartArguments),
    /// Show every keeper and what really runs
    List,
    /// End a keeper, its codex and everything below it
    Stop(StopArguments),
    /// Remove what keepers that have ended left behind
    Sweep(SweepArguments),
    /// First stage of a keeper: starts it and tells its pid
    #[command(hide = true)]
    Detach(DirArguments),
    /// The keeper itself
    #[command(hide = true)]
    Run(DirArguments),
}

#[derive(Debug, Args)]
struct StartArguments {
    /// The codex binary [default: the one in use, see `ostler codex path`]
    #[arg(long, value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Codex's home [default: what CODEX_HOME says, else ~/.codex]
    #[arg(long, value_name = "DIR")]
    codex_home: Option<PathBuf>,
    /// A codex setting; every user of this machine can see it
    #[arg(short, long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Let codex see this variable although it looks like a secret
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Hide this variable from codex
    #[arg(long, value_name = "NAME")]
    strip: Vec<String>,
}

#[derive(Debug, Args)]
struct StopArguments {
    /// The keeper's id, or the first part of it
    id: String,
    /// Cut running turns off instead of waiting for them
    #[arg(long)]
    now: bool,
    /// How long to wait for running turns
    #[arg(long, value_name = "SECONDS", default_value_t = 60, conflicts_with = "now")]
    wait: u64,
}

#[derive(Debug, Args)]
struct SweepArguments {
    /// Only what ended at least this long ago
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    older_than: u64,
}

#[derive(Debug, Args)]
struct DirArguments {
    #[arg(long)]
    dir: PathBuf,
}

pub(crate) fn run(arguments: KeeperArguments, output: Output) -> Result<ExitCode, Failure> {
    match arguments.command {
        KeeperCommand::Start(arguments) => start(arguments, output)?,
        KeeperCommand::List => list(output)?,
        KeeperCommand::Stop(arguments) => stop(&arguments, output)?,
        KeeperCommand::Sweep(arguments) => sweep(&arguments, output)?,
        KeeperCommand::Detach(arguments) => detach(&arguments)?,
        KeeperCommand::Run(arguments) => {
            keeper::run(&folder(&arguments)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn start(arguments: StartArguments, output: Output) -> Result<(), Failure> {
    let places = Places::find()?;
    let root = places.keepers();
    places::private_folder(&root)?;
    let overrides = arguments.config.into_iter();
    let environment_rule = EnvironmentRule {
        codex_home: arguments.codex_home.as_deref().map(absolute).transpose()?,
        keep: arguments.keep,
        strip: arguments.strip,
        ..EnvironmentRule::default()
    };
    let record = block_on(async {
        let (codex, codex_version) = match &arguments.codex {
            Some(path) => (absolute(path)?, None),
            None => {
                let found = Bench::lay_out(output)?.resolve().await?;
                (found.path, Some(found.version.to_string()))
            }
        };
        let started = keeper::start(StartKeeper {
            root: root.clone(),
            program: own_program()?,
            codex,
            codex_version,
            environment: places::environment(),
            environment_rule,
            purpose: None,
            extra_arguments: overrides.flat_map(|setting| ["-c".to_owned(), setting]).collect(),
            open_files: None,
            ready_deadline: READY_DEADLINE,
        });
        started.await.map_err(Failure::from)
    })?;
    let socket = root.join(record.id.as_str()).join("socket");
    output.say(&format!("keeper {}: codex listens on {}", record.id, socket.display()));
    output.emit(&json!({ "id": record.id, "socket": socket, "record": record }));
    Ok(())
}

fn list(output: Output) -> Result<(), Failure> {
    let found = keeper::list(&Places::find()?.keepers())?;
    if output.is_json() {
        let keepers: Vec<_> = found.iter().map(table::as_json).collect();
        output.emit(&json!({ "keepers": keepers }));
        return Ok(());
    }
    if found.is_empty() {
        output.say("no keepers");
        return Ok(());
    }
    output.say(&table::as_text(&found, Timestamp::now()));
    Ok(())
}

fn stop(arguments: &StopArguments, output: Output) -> Result<(), Failure> {
    let root = Places::find()?.keepers();
    let found = keeper::find(&root, &arguments.id)?;
    let mode = if arguments.now {
        StopMode::Now
    } else {
        let deadline = Duration::from_secs(arguments.wait);
        StopMode::Drain { deadline }
    };
    let report = runtime()?.block_on(keeper::stop(&found, mode))?;
    let exit = report.exit.map_or_else(String::new, |exit| format!(" ({exit})"));
    let count = report.ended.len();
    let processes = if count == 1 { "process" } else { "processes" };
    output.say(&format!("keeper {} ended{exit}, {count} {processes} with it", report.id));
    output.emit(&report);
    Ok(())
}

fn sweep(arguments: &SweepArguments, output: Output) -> Result<(), Failure> {
    let age = Duration::from_secs(arguments.older_than.saturating_mul(60 * 60));
    let root = Places::find()?.keepers();
    let removed = keeper::sweep(&root, age, Timestamp::now())?;
    for id in &removed {
        output.say(&format!("removed {id}"));
    }
    output.emit(&json!({ "removed": removed }));
    Ok(())
}

fn detach(arguments: &DirArguments) -> Result<(), Failure> {
    let pid = keeper::detach(&own_program()?, &folder(arguments)?)?;
    Output::new(false).say(&pid.to_string());
    Ok(())
}

fn folder(arguments: &DirArguments) -> Result<KeeperFolder, Failure> {
    KeeperFolder::at(&arguments.dir).ok_or_else(|| {
        let message = format!("{} is not a keeper's folder", arguments.dir.display());
        Failure::new(Exit::Usage, message)
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot use {}: {error}", path.display()))
    })
}
