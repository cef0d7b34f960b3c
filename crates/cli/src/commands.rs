//! One file per command; this one only sends each to its place.

pub(crate) mod codex;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod keeper;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod service;

use std::process::ExitCode;

use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::logging;
use crate::terminal::Output;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let output = Output::new(arguments.json);
    // A daemon speaks without being asked to, and perhaps into a file.
    if !matches!(arguments.command, Command::Serve(_)) {
        logging::start()?;
    }
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Codex(arguments) => codex::run(arguments, output),
        Command::Config(arguments) => config::run(arguments, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Daemon(arguments) => daemon::run(&arguments, output),
        Command::Service(arguments) => service::run(&arguments, output),
        Command::Keeper(arguments) => keeper::run(arguments, output),
        Command::Replay(arguments) => replay::run(&arguments, output),
        Command::Completions(arguments) => Ok(completions::run(&arguments, output)),
    }
}
