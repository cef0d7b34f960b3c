//! `ostler doctor`: is this machine fit to run Codex, and if not, what to do.
//!
//! Every check first gathers facts, each gathering with a deadline of its own, and then judges them; judging is pure.
//! Codex is looked at as it would run: the same binary, the user's own config and login, the environment that a keeper
//! gives it. Its home is a scratch folder with links to those files, because Codex writes into its home as it starts.
//!
//! Start reading at `examine`. `fix` is what `--fix` does before; `suite` is `--codex`, which looks at a binary and at nothing
//! of the user's.

mod binary;
pub(super) mod borrowed_home;
mod check;
mod codex_file;
mod config;
mod database;
mod deadline;
mod examine;
mod extensions;
mod fix;
mod folder;
mod keepers;
mod layers;
mod leftovers;
mod login;
mod mcp;
mod page;
mod patient;
mod plugin_cache;
mod plugins;
mod progress;
mod runtime_folder;
mod sandbox;
pub(super) mod scratch;
mod session;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::daemon::refuse_agents;
use crate::failure::{Exit, Failure};
use crate::running::Interruption;
use crate::terminal::{self, Output};
use examine::examine;
use patient::Patient;
use progress::Progress;

#[derive(Debug, Args)]
#[command(after_help = "\
Codex is started for a moment, with your own config and login; no task is run, nothing is sent to a model and
nothing is written into your CODEX_HOME. The MCP servers of your Codex config are started to see whether they
list their tools. --fix touches only what dead processes of ostler left, and says each time what it did.
With --codex everything is private to the suite: home, workspace, and a model that plays a script.
Exit code: 0 if there is no problem (warnings do not count), 1 if there is one.")]
pub(crate) struct DoctorArguments {
    /// First put in order what is safe: stale sockets, folders and processes of dead keepers, worktrees nobody knows
    #[arg(long, conflicts_with = "codex")]
    fix: bool,
    /// Try instead whether this Codex binary does all that ostler needs, and print a table
    #[arg(long, value_name = "BIN")]
    codex: Option<PathBuf>,
}

pub(crate) fn run(arguments: &DoctorArguments, output: Output) -> Result<ExitCode, Failure> {
    if let Some(codex) = &arguments.codex {
        return suite::run(codex, output);
    }
    let patient = Patient::find()?;
    if arguments.fix {
        refuse_agents(&patient.places, "put this machine in order")?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One that may be stuck in the file system, and one that goes on.
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let report = runtime.block_on(async {
        let progress = Progress::new(output);
        let examination = async {
            let fixes = if arguments.fix { fix::fix(&patient).await } else { Vec::new() };
            Ok(patient.report(examine(&patient, &progress).await, fixes))
        };
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
