//! `ostler completions`: what a shell needs to complete our commands.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell to write for
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments, output: Output) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "ostler", &mut text);
    output.write(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}
