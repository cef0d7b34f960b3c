//! One file per command; this one only sends each to its place.

pub(crate) mod codex;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod keeper;
pub(crate) mod replay;
pub(crate) mod run;

use std::process::ExitCode;

use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::terminal::Output;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let output = Output::new(arguments.json);
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Codex(arguments) => codex::run(arguments, output),
        Command::Config(arguments) => config::run(arguments, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Keeper(arguments) => keeper::run(arguments, output),
        Command::Replay(arguments) => replay::run(&arguments, output),
        Command::Completions(arguments) => Ok(completions::run(&arguments, output)),
    }
}
