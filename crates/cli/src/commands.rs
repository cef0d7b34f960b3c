//! One file per command; this one only sends each to its place.

pub(crate) mod answer;
pub(crate) mod asks;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod codex;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod goal;
pub(crate) mod history;
pub(crate) mod keeper;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod notify;
pub(crate) mod open;
pub(crate) mod policy;
pub(crate) mod remove;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod sandbox_exec;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod token;
pub(crate) mod tools_mcp;
pub(crate) mod trust;
pub(crate) mod wait;
pub(crate) mod worktree;

use std::process::ExitCode;

use crate::args::{Arguments, Command};
use crate::failure::Failure;
use crate::logging;
use crate::terminal::Output;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let output = Output::new(arguments.json);
    // A daemon speaks without being asked to, and perhaps into a file.
    if !matches!(arguments.command, Command::Serve(_)) {
        logging::start()?;
    }
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Chat(arguments) => chat::run(&arguments, output),
        Command::Start(arguments) => start::run(&arguments, output),
        Command::List(arguments) => list::run(&arguments, output),
        Command::Show(arguments) => show::run(&arguments, output),
        Command::Logs(arguments) => attach::logs(&arguments, output),
        Command::Attach(arguments) => attach::attach(&arguments, output),
        Command::Send(arguments) => send::send(&arguments, output),
        Command::Steer(arguments) => send::steer(&arguments, output),
        Command::Interrupt(arguments) => send::interrupt(&arguments, output),
        Command::Goal(arguments) => goal::run(&arguments, output),
        Command::Fork(arguments) => send::fork(&arguments, output),
        Command::Review(arguments) => send::review(&arguments, output),
        Command::Asks(arguments) => asks::run(&arguments, output),
        Command::Answer(arguments) => answer::run(&arguments, output),
        Command::Policy(arguments) => policy::run(&arguments, output),
        Command::Open(arguments) => open::run(&arguments, output),
        Command::Token(arguments) => token::run(&arguments, output),
        Command::Trust(arguments) => trust::run(&arguments, output),
        Command::Wait(arguments) => wait::run(&arguments, output),
        Command::Diff(arguments) => history::diff(&arguments, output),
        Command::Worktree(arguments) => worktree::run(&arguments, output),
        Command::Receipts(arguments) => history::receipts(&arguments, output),
        Command::Notify(arguments) => notify::run(&arguments, output),
        Command::Audit(arguments) => audit::run(&arguments, output),
        Command::Why(arguments) => history::why(&arguments, output),
        Command::Remove(arguments) => remove::remove(&arguments, output),
        Command::Gc(arguments) => remove::sweep(&arguments, output),
        Command::Man(arguments) => man::run(&arguments, output),
        Command::Runtime(arguments) => runtime::run(&arguments, output),
        Command::Migrate(arguments) => migrate::run(&arguments, output),
        Command::Codex(arguments) => codex::run(arguments, output),
        Command::Config(arguments) => config::run(arguments, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::ToolsMcp(arguments) => tools_mcp::run(&arguments, output),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Daemon(arguments) => daemon::run(&arguments, output),
        Command::Service(arguments) => service::run(&arguments, output),
        Command::Keeper(arguments) => keeper::run(arguments, output),
        Command::SandboxExec(arguments) => sandbox_exec::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments, output),
        Command::Completions(arguments) => Ok(completions::run(&arguments, output)),
    }
}
