//! `ostler keeper`.

use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct KeeperArguments {}

pub(crate) fn run(_arguments: KeeperArguments, _output: Output) -> Result<ExitCode, Failure> {
    Ok(ExitCode::SUCCESS)
}
