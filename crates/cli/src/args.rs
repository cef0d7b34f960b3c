//! What the user typed.

use clap::{Parser, Subcommand};
use serde_json::json;

use crate::commands::{
    codex, completions, config, daemon, demo, doctor, keeper, replay, run, serve, service,
};
use crate::failure::Exit;
use crate::terminal::Output;

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
    /// Let Codex do something, here and now
    Run(Box<run::RunArguments>),
    /// The Codex binaries: list, install, use, path, check
    Codex(codex::CodexArguments),
    /// The settings: show, check, path
    Config(config::ConfigArguments),
    /// Look whether this machine is fit to run Codex, and say what to do if not
    Doctor(doctor::DoctorArguments),
    /// Be the daemon, here in the foreground (for a service manager, or to watch it)
    Serve(serve::ServeArguments),
    /// The daemon in the background: start, stop, status, restart
    Daemon(daemon::DaemonArguments),
    /// Let the user's service manager (systemd) run the daemon
    Service(service::ServiceArguments),
    /// The keepers: small processes that each own one codex app-server
    Keeper(keeper::KeeperArguments),
    /// Play a recorded conversation again and show its messages
    Replay(replay::ReplayArguments),
    /// Print the completions of a shell
    Completions(completions::CompletionsArguments),
}

/// Ends the process when there is nothing to run: help was asked for, or the words make no sense.
pub(crate) fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|error| {
        // Whether JSON is wanted cannot be read from words that make no sense; the word itself says enough.
        let json = std::env::args_os().any(|argument| argument == "--json");
        if error.use_stderr() {
            let text = error.render().to_string();
            let (message, hint) = text.trim_end().split_once("\n\n").unwrap_or((&text, ""));
            let message = message.trim().trim_start_matches("error: ");
            let error = json!({ "exit": Exit::Usage as u8, "message": message, "hint": hint });
            Output::new(json).emit(&json!({ "error": error }));
        }
        error.exit()
    })
}
