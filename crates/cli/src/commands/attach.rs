//! `ostler attach` and `ostler logs`: a task's log as it grows, and a person who answers what is asked.
//!
//! Start reading at [`follow`]. Nothing here changes the task but the person's own answers.

mod follower;
mod tui;

use std::process::ExitCode;

use clap::Args;

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running;
use crate::terminal::Output;
pub(crate) use follower::{History, Manner, Presence};

#[derive(Debug, Args)]
#[command(after_help = "\
Shows the last turn and what comes, and asks you what Codex asks. Ctrl-C leaves; the task goes on.
It ends when the task is over, with the exit code of the task; 4 if you leave a question open with `d`.
--tui opens Codex's own terminal interface on the same thread, for Codex versions whose `resume --remote` takes unix://.")]
pub(crate) struct AttachArguments {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    id: String,
    /// The whole log, not only the last turn
    #[arg(long)]
    all: bool,
    /// Codex's own terminal interface instead
    #[arg(long, conflicts_with = "all")]
    tui: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    id: String,
    /// Go on until the task is over
    #[arg(short, long)]
    follow: bool,
    /// Begin behind this event
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn attach(arguments: &AttachArguments, output: Output) -> Result<ExitCode, Failure> {
    if arguments.tui {
        return tui::open(&arguments.id, &arguments.reach, output);
    }
    let history = if arguments.all { History::After(0) } else { History::LastTurn };
    follow(&arguments.id, Manner { history, ..Manner::default() }, &arguments.reach, output)
}

pub(crate) fn logs(arguments: &LogsArguments, output: Output) -> Result<ExitCode, Failure> {
    let presence = if arguments.follow { Presence::Follows } else { Presence::Reads };
    let manner = Manner { history: History::After(arguments.after), presence };
    follow(&arguments.id, manner, &arguments.reach, output)
}

pub(crate) fn follow(
    task: &str,
    manner: Manner,
    reach: &ReachArguments,
    output: Output,
) -> Result<ExitCode, Failure> {
    let runtime = running::runtime()?;
    let result = runtime.block_on(follower::run(task, manner, reach, output));
    // A read from stdin that nobody waits for any more cannot be called off.
    runtime.shutdown_background();
    result
}
