//! `[tasks]`: what holds for a task that says nothing else.

use std::time::Duration;

use crate::section::section;
use crate::value::words::words;
use crate::value::{DAY, minutes};

words! {
    /// What commands may do without asking.
    Sandbox {
        /// Read anything, write nothing.
        ReadOnly = "read-only",
        /// Write in the working folder.
        WorkspaceWrite = "workspace-write",
        refused "danger-full-access": "it is never the default: set allow_danger_full_access = true here and name it when you start the task",
    }
}

words! {
    /// When Codex asks.
    Approval {
        /// Before every command that is not known to be harmless.
        Untrusted = "untrusted",
        /// When a command needs more than the sandbox gives.
        OnRequest = "on-request",
        refused "never": "it is never the default: set allow_approval_never = true here and name it when you start the task",
    }
}

words! {
    /// What becomes of a task whose app-server died while a turn ran.
    OnCrash {
        /// The thread is resumed and Codex is told to go on.
        Continue = "continue",
        /// A person is asked first.
        Ask = "ask",
        /// The task fails.
        Fail = "fail",
    }
}

words! {
    /// What becomes of an ask that no rule and no approver decides.
    Unattended {
        /// It waits for a person.
        Wait = "wait",
        /// It is declined at once, visibly.
        Decline = "decline",
    }
}

words! {
    /// What is done when nothing comes for a long time although Codex answers.
    OnStall {
        /// The task's log says so, and the turn goes on.
        Warn = "warn",
        /// The turn is interrupted.
        Interrupt = "interrupt",
        /// The turn is interrupted and the task fails.
        Fail = "fail",
    }
}

section! {
    /// What holds for a task that says nothing else when it is started, and what no task may have.
    Tasks = "tasks", _at;

    /// What commands may do without asking: read anything, or also write in the working folder.
    sandbox: Sandbox = Sandbox::ReadOnly;
    /// When Codex asks: before every command that is not known to be harmless, or when a command needs more than the
    /// sandbox gives.
    approval: Approval = Approval::OnRequest;
    /// Whether commands in the sandbox may use the network.
    network: bool = false;
    /// The model. Without it Codex's own choice holds.
    model: Option<String> = None;
    /// How hard the model thinks, in the words of the model: `"low"`, `"medium"`, `"high"`, … Without it Codex's own choice
    /// holds.
    effort: Option<String> = None;
    /// What happens when Codex dies while a turn runs. `"continue"` resumes the thread and lets Codex go on from what is in
    /// it; the prompt is not sent again, and sandbox and approvals are as before, so nothing that needed a yes runs
    /// without one. That is the default because a task in the background should outlive a crash. `"ask"` waits for a
    /// person first: right where a command that ran half may do harm if it is tried again. `"fail"` ends the task.
    on_crash: OnCrash = OnCrash::Continue;
    /// After so many crashes in a row without a completed turn, a task fails whatever `on_crash` says: what kills Codex
    /// three times kills it a fourth time.
    crash_limit: u32 = 3, 1..=100;
    /// What happens to an ask that no rule and no approver decides: it waits for a person, or it is declined at once.
    unattended: Unattended = Unattended::Wait;
    /// An ask that waits longer than this is reported once more, as overdue. It stays open.
    escalate_after: Option<Duration> = Some(minutes(30)), 1..=30 * DAY;
    /// How long a turn may take, not counting the time it waits for a person; then it is interrupted. The default is no
    /// limit: Ostler ends no turn that you did not ask it to end.
    turn_timeout: Option<Duration> = None, 1..=30 * DAY;
    /// What happens when nothing comes from a turn for as long as `silence` says although Codex answers: it is reported, or
    /// the turn is interrupted, or the task fails.
    on_stall: OnStall = OnStall::Warn;
    /// How long nothing may come from a turn before it is looked at. Long reasoning of today's models is silent for about a
    /// minute.
    silence: Duration = minutes(2), 1..=DAY;
    /// How long a task waits for a model that cannot be reached or whose server fails, after Codex's own retries. It tries
    /// again with growing pauses of up to five minutes, and goes on where it stopped. Then it fails; `"off"` waits for
    /// as long as it takes. A turn that had done something when it was cut off follows `on_crash`.
    outage_patience: Option<Duration> = Some(Duration::from_secs(DAY)), 1..=30 * DAY;
    /// The tokens a task may use. At the edge it pauses and asks.
    budget_tokens: Option<u64> = None, 1..=1_000_000_000_000;
    /// The time a task may work, not counting the time it waits. At the edge it pauses and asks.
    budget_time: Option<Duration> = None, 1..=365 * DAY;
    /// The turns a task may take. At the edge it pauses and asks.
    budget_turns: Option<u32> = None, 1..=1_000_000;
    /// Whether each task gets an app-server of its own instead of a place in a shared one.
    isolate: bool = false;
    /// Whether each task works in a git worktree of its own, see `[worktree]`.
    worktree: bool = false;
    /// Whether a task may be started with the sandbox `danger-full-access`, that is, with none at all.
    allow_danger_full_access: bool = false;
    /// Whether a task may be started with the approval `never`: Codex then asks nobody.
    allow_approval_never: bool = false;
    /// Keys of Codex's configuration that a task may be started with (`ostler start -c KEY=VALUE`) although Codex then starts
    /// programs or sends what it knows elsewhere, outside of the sandbox, or runs a server's tools unasked: `"mcp_servers.NAME"`,
    /// `"model_providers.NAME"`, `"notify"`, `"hooks"` and their like, each with all keys below it. A token without `decide` and an
    /// MCP client need it also for every other key that is not known to leave a task's rights as they are. None may be by default.
    /// What stands in Codex's own file, and the servers that `ostler migrate` keeps, need no leave.
    allow_config: Vec<String> = vec![];
}
