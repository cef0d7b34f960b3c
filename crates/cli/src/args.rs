//! What the user typed.

use clap::{Parser, Subcommand};
use serde_json::json;

use crate::commands::{
    answer, asks, attach, audit, chat, codex, completions, config, daemon, demo, doctor, goal,
    history, keeper, list, man, mcp, migrate, notify, open, policy, remove, replay, run, runtime,
    sandbox_exec, send, serve, service, show, start, token, tools_mcp, trust, wait, worktree,
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
    /// Talk with the agent, which remembers and learns, and can let Codex do the work
    Chat(Box<chat::ChatArguments>),
    /// Let Codex do something in the background, and never lose it
    Start(Box<start::StartArguments>),
    /// The tasks, those that need you first
    #[command(name = "ls", alias = "list")]
    List(list::ListArguments),
    /// How one task stands
    Show(show::ShowArguments),
    /// What a task did
    Logs(attach::LogsArguments),
    /// Follow a task, and answer what it asks
    Attach(attach::AttachArguments),
    /// Give a task more to do
    Send(send::SendArguments),
    /// Put something into the turn that runs
    Steer(send::SteerArguments),
    /// End the turn that runs
    Interrupt(send::InterruptArguments),
    /// Show, set, pause, resume or clear the goal of a task
    Goal(goal::GoalArguments),
    /// Go on with a copy of a task
    Fork(send::ForkArguments),
    /// Let a task review code
    Review(send::ReviewArguments),
    /// All that waits for a person
    Asks(asks::AsksArguments),
    /// Decide what Codex asked
    Answer(answer::AnswerArguments),
    /// The rules that decide without a person: ls, rm
    Policy(policy::PolicyArguments),
    /// Wait until tasks are over or need a person
    Wait(wait::WaitArguments),
    /// What a task has changed
    Diff(history::DiffArguments),
    /// The git worktrees of tasks: ls, merge, rm
    Worktree(worktree::WorktreeArguments),
    /// What a task was given to do, and the proof that it ran
    Receipts(history::TaskArgument),
    /// Who was told what became of tasks, and what was given up
    Notify(notify::NotifyArguments),
    /// The audit log: who was refused what, and who decided what
    Audit(audit::AuditArguments),
    /// Why a task stands where it stands
    Why(history::TaskArgument),
    /// Forget tasks
    #[command(name = "rm", alias = "remove")]
    Remove(remove::RemoveArguments),
    /// Forget what the configuration keeps no longer
    Gc(remove::SweepArguments),
    /// Open the page in a browser, by a link that logs in once
    Open(open::OpenArguments),
    /// What programs show to be let in over TCP: new, ls, rm
    Token(token::TokenArguments),
    /// Let Codex use a folder's own settings, and show which programs they start
    Trust(trust::TrustArguments),
    /// The Codex binaries: list, install, use, path, check
    Codex(codex::CodexArguments),
    /// Who runs the turns of `ostler chat`: auto or codex_app_server
    Runtime(runtime::RuntimeArguments),
    /// Give Codex the MCP servers of other programs, and Ostler's own tools
    Migrate(migrate::MigrateArguments),
    /// The settings: show, check, path
    Config(config::ConfigArguments),
    /// Look whether this machine is fit to run Codex, and say what to do if not
    Doctor(doctor::DoctorArguments),
    /// Offer Codex to other programs: an MCP server on stdin and stdout
    Mcp(mcp::McpArguments),
    /// Offer the agent's own tools to Codex: an MCP server on stdin and stdout
    ToolsMcp(tools_mcp::ToolsMcpArguments),
    /// Be the daemon, here in the foreground (for a service manager, or to watch it)
    Serve(serve::ServeArguments),
    /// The daemon in the background: start, stop, status, restart
    Daemon(daemon::DaemonArguments),
    /// Let the user's service manager (systemd) run the daemon
    Service(service::ServiceArguments),
    /// The keepers: small processes that each own one codex app-server
    Keeper(keeper::KeeperArguments),
    /// Run a command of the host agent inside its walls
    #[command(hide = true)]
    SandboxExec(sandbox_exec::SandboxExecArguments),
    /// Play a recorded conversation again and show its messages
    Replay(replay::ReplayArguments),
    /// Print the completions of a shell
    Completions(completions::CompletionsArguments),
    /// Print or write the manual pages
    Man(man::ManArguments),
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
