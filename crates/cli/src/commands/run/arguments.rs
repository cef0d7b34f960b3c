//! What `ostler run` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ostler_codex::binary::VersionRequest;
use ostler_model::thread::{IfBusy, OnStall};

#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal you are asked before Codex does what its sandbox forbids. Without one, everything that it asks is declined;
--approval never tells it not to ask at all.
Ctrl-C interrupts the turn; a second Ctrl-C, or Ctrl-\\ at any time, leaves it running and says how to come back.
Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 waiting on a person, 5 usage limit, 7 interrupted, 75 try later,
124 out of time, 130 Ctrl-C. The JSON of --json is described in docs/run.md.")]
pub(crate) struct RunArguments {
    /// What Codex shall do; `-` reads it from stdin, and piped stdin beside a prompt is added to it
    pub(super) prompt: Option<String>,
    /// The folder to work in [default: this one, or that of the thread]
    #[arg(long, value_name = "DIR")]
    pub(super) cd: Option<PathBuf>,
    /// What commands may do without asking [default: read-only, or that of the thread]
    #[arg(long, value_enum)]
    pub(super) sandbox: Option<Sandbox>,
    /// A folder beside the working folder that may be written to
    #[arg(long, value_name = "DIR")]
    pub(super) add_dir: Vec<PathBuf>,
    /// Let commands use the network
    #[arg(long)]
    pub(super) network: bool,
    /// When Codex asks [default: on-request, or that of the thread]
    #[arg(long, value_enum)]
    pub(super) approval: Option<Approval>,
    #[arg(long)]
    pub(super) model: Option<String>,
    /// How hard the model thinks: minimal, low, medium, high, …
    #[arg(long)]
    pub(super) effort: Option<String>,
    /// An image to go with the prompt
    #[arg(long, value_name = "FILE")]
    pub(super) image: Vec<PathBuf>,
    /// A JSON schema that the final answer must fit
    #[arg(long, value_name = "FILE")]
    pub(super) output_schema: Option<PathBuf>,
    /// Go on with this thread; if a turn of it runs, join it
    #[arg(long, value_name = "THREAD", conflicts_with_all = ["fork", "ephemeral"])]
    pub(super) resume: Option<String>,
    /// Go on with a copy of this thread
    #[arg(long, value_name = "THREAD")]
    pub(super) fork: Option<String>,
    /// Write no history: the thread is gone when the turn is over
    #[arg(long)]
    pub(super) ephemeral: bool,
    /// What to do with the prompt if a turn of the thread runs
    #[arg(long, value_enum, default_value_t = Busy::Queue)]
    pub(super) if_busy: Busy,
    /// A setting of Codex; the value is TOML, or else text
    #[arg(short, long = "config", value_name = "KEY=VALUE")]
    pub(super) config: Vec<String>,
    /// The time the turn may take, not counting the time it waits for you: 90s, 10m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = crate::tasks::time::duration)]
    pub(super) timeout: Option<Duration>,
    /// What to do if nothing comes for two minutes although Codex answers
    #[arg(long, value_enum, default_value_t = Stall::Warn)]
    pub(super) on_stall: Stall,
    /// Record every message from and to Codex in this folder, without secrets
    #[arg(long, value_name = "DIR")]
    pub(super) wire_log: Option<PathBuf>,
    /// Use this Codex version, fetching it if it is not installed [default: the one in use, see `ostler codex path`]
    #[arg(long, value_name = "VERSION")]
    pub(super) codex: Option<VersionRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// Read anything, write nothing
    ReadOnly,
    /// Write in the working folder
    WorkspaceWrite,
    /// No sandbox at all
    DangerFullAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approval {
    /// Before every command that is not known to be harmless
    Untrusted,
    /// When a command needs more than the sandbox gives
    OnRequest,
    /// Never: what the sandbox forbids fails
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Busy {
    /// Put it into the running turn
    Steer,
    /// Answer it after the running turn
    Queue,
    /// End the running turn first
    Interrupt,
    /// Do not send it
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stall {
    Warn,
    Interrupt,
    Fail,
}

impl From<Busy> for IfBusy {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Steer => Self::Steer,
            Busy::Queue => Self::Queue,
            Busy::Interrupt => Self::Interrupt,
            Busy::Fail => Self::Fail,
        }
    }
}

impl From<Stall> for OnStall {
    fn from(stall: Stall) -> Self {
        match stall {
            Stall::Warn => Self::Warn,
            Stall::Interrupt => Self::Interrupt,
            Stall::Fail => Self::Fail,
        }
    }
}
