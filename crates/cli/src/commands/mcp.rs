//! `ostler mcp`: Codex for other programs, by MCP on stdin and stdout. It opens no socket: it is a client of the daemon, like all commands.

mod daemon;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ostler_server::mcp::bridge::{self, Bridge};
use ostler_server::mcp::{Library, ToolTable, serve};

use self::daemon::Outside;
use crate::daemon::{ReachArguments, VERSION};
use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::running::{self, Interruption};

#[derive(Debug, Args)]
#[command(after_help = "\
Register it with a program that speaks MCP: the command `ostler` with the argument `mcp`. Tasks are started with the rights of whoever
runs it. What they ask is answered by people; `may_decide` in [mcp] of the configuration names the programs that may.")]
pub(crate) struct McpArguments {
    /// The name under which the program is known here, instead of what it calls itself
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    let cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let outside = Outside::new(places, arguments.reach.clone(), arguments.name.clone());
    let bridge = Arc::new(Bridge { daemon: Arc::new(outside), cwd });
    let table = bridge::table(&bridge, VERSION);
    serve_here(table, Some(bridge))
}

/// Until whoever started it closes stdin, or ends it.
pub(super) fn serve_here(
    table: ToolTable,
    library: Option<Arc<dyn Library>>,
) -> Result<ExitCode, Failure> {
    let runtime = running::runtime()?;
    let served = runtime.block_on(async {
        let serving = async {
            let served = serve(table, library, tokio::io::stdin(), tokio::io::stdout()).await;
            served.map_err(|error| Failure::new(Exit::Failed, error.to_string()))
        };
        Interruption::listen()?.or(serving).await
    });
    // A read from stdin that nobody waits for any more cannot be called off.
    runtime.shutdown_background();
    match served {
        Err(failure) if failure.exit != Exit::CtrlC => Err(failure),
        _ => Ok(ExitCode::SUCCESS),
    }
}
