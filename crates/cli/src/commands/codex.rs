//! `ostler codex`: the Codex binaries.

pub(crate) mod check;
mod choose;
mod install;
mod list;
mod path;
pub(crate) mod progress;
mod remove;
mod table;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_codex::binary::VersionRequest;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::running::block_on;
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
    // Leaving the work half done is safe: dropping it ends its children and removes its work folder.
    block_on(async {
        match arguments.command {
            CodexCommand::List => list::run(&bench).await,
            CodexCommand::Install { request } => install::run(&bench, &request).await,
            CodexCommand::Use(arguments) => choose::run(&bench, arguments).await,
            CodexCommand::Path { request } => path::run(&bench, request.as_ref()).await,
            CodexCommand::Check { request } => check::run(&bench, request.as_ref()).await,
            CodexCommand::Remove { request } => remove::run(&bench, &request).await,
        }
    })
}
