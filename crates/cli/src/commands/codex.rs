//! `ostler codex`.

use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct CodexArguments {}

pub(crate) fn run(_arguments: CodexArguments, _output: Output) -> Result<ExitCode, Failure> {
    Ok(ExitCode::SUCCESS)
}
