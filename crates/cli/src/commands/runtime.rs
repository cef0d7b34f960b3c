//! `ostler runtime`: who runs the turns of `ostler chat`.

use std::process::ExitCode;

use clap::Args;
use ostler_agent::runtime::{Turn, parse};

use crate::bench::Bench;
use crate::chat::switching::switch_runtime;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::terminal::Output;

#[derive(Debug, Args)]
#[command(after_help = "\
auto (also off, default, disable, ostler): the agent's own loop on the API of a model.
codex_app_server (also on, codex, enable): Codex runs each turn whole. It must be 0.125.0 or newer.
The choice is written into the config file and holds for chats that begin after it; inside a chat, use /codex-runtime.")]
pub(crate) struct RuntimeArguments {
    /// show, auto or codex_app_server; nothing means show
    #[arg(value_name = "RUNTIME", default_value = "show")]
    word: String,
}

pub(crate) fn run(arguments: &RuntimeArguments, output: Output) -> Result<ExitCode, Failure> {
    let asked =
        parse(&arguments.word).map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let bench = Bench::lay_out(output)?;
    // Nothing runs in this process; other chats keep what they have.
    let switch = block_on(switch_runtime(&bench, asked, Turn::None))?;
    output.emit(&switch);
    match switch.success {
        true => {
            output.say(&switch.message);
            Ok(ExitCode::SUCCESS)
        }
        false => {
            output.note(&switch.message);
            Ok(ExitCode::from(Exit::Failed as u8))
        }
    }
}
