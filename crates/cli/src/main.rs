//! The `ostler` binary: the door for people. It alone prints and reads the environment and `$HOME`.

mod agent;
mod args;
mod asking;
mod bench;
mod chat;
mod commands;
mod conversation;
mod daemon;
mod durable;
mod failure;
mod folder_trust;
mod kept;
mod logging;
mod lost_database;
mod overlay;
mod places;
mod prompt;
mod running;
mod settings;
mod stored_secrets;
mod supervisor;
mod tasks;
mod terminal;
mod turn;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::parse();
    let output = terminal::Output::new(arguments.json);
    match commands::run(arguments) {
        Ok(code) => code,
        Err(failure) => failure.report(output),
    }
}
