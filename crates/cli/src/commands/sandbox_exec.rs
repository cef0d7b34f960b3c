//! `ostler sandbox-exec`: what stands above every command of the host agent. Nobody types it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ostler_agent::sandbox::{Walls, sandbox_exec};

use crate::failure::{Exit, Failure};
use crate::running::own_program;

#[derive(Debug, Args)]
pub(crate) struct SandboxExecArguments {
    /// What holds the command, as JSON
    #[arg(long, value_name = "JSON")]
    walls: String,
    /// A folder that is removed when all that ran has ended
    #[arg(long, value_name = "FOLDER")]
    throw_away: Vec<PathBuf>,
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &SandboxExecArguments) -> Result<ExitCode, Failure> {
    let walls: Walls = serde_json::from_str(&arguments.walls)
        .map_err(|error| Failure::new(Exit::Usage, format!("these are no walls: {error}")))?;
    let own = [own_program()?.into_os_string(), "sandbox-exec".into()];
    let code = sandbox_exec(&walls, &arguments.command, &own, &arguments.throw_away)
        .map_err(|error| Failure::new(Exit::Failed, format!("the command was not run: {error}")))?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}
