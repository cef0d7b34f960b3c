//! `ostler config`: the settings.

mod check;
mod excerpt;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show the settings that hold, and where each comes from
    Show {
        /// A setting such as tasks.sandbox, whose value alone is printed, or a section such as tasks
        key: Option<String>,
    },
    /// Look whether a config file is right, and show all that is wrong with it
    #[command(after_help = "Exit code: 0 if it is right, 2 if it is not, 3 if it is not there.")]
    Check {
        /// A file that is not in use yet; without it, the one in use
        file: Option<PathBuf>,
    },
    /// Print where the config file is, or would be
    Path,
}

pub(crate) fn run(arguments: ConfigArguments, output: Output) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    match arguments.command {
        ConfigCommand::Show { key } => show::run(&places, key.as_deref(), output),
        ConfigCommand::Check { file } => check::run(&places, file, output),
        ConfigCommand::Path => {
            let path = places.config_file();
            output.say(&path.display().to_string());
            output.emit(&json!({ "path": path, "exists": path.exists() }));
            Ok(ExitCode::SUCCESS)
        }
    }
}
