//! The `ostler` binary: the door for people. It alone prints and reads the environment and `$HOME`.

mod args;
mod asking;
mod bench;
mod commands;
mod conversation;
mod failure;
mod kept;
mod logging;
mod places;
mod running;
mod settings;
mod terminal;
mod turn;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::parse();
    let output = terminal::Output::new(arguments.json);
    match logging::start().and_then(|()| commands::run(arguments)) {
        Ok(code) => code,
        Err(failure) => failure.report(output),
    }
}
