//! What the user typed.

use clap::{Parser, Subcommand};

use crate::commands::{codex, completions, demo, doctor, keeper};

/// Keeps OpenAI Codex at work.
#[derive(Debug, Parser)]
#[command(name = "ostler", version, arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print machine-readable JSON on stdout; human text goes to stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A real Codex task on the embedded scripted model: see it work before you log in
    Demo(demo::DemoArguments),
    /// The Codex binaries: list, install, use, path, check
    Codex(codex::CodexArguments),
    /// Look whether this machine is fit to run Codex, and say what to do if not
    Doctor(doctor::DoctorArguments),
    /// The keepers: small processes that each own one codex app-server
    Keeper(keeper::KeeperArguments),
    /// Print the completions of a shell
    Completions(completions::CompletionsArguments),
}

pub(crate) fn parse() -> Arguments {
    Arguments::parse()
}
