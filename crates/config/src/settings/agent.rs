//! `[agent]`: the host agent that `ostler chat` talks with.

use std::path::PathBuf;

use super::tasks::{Approval, Sandbox};
use crate::section::section;
use crate::value::Invocation;
use crate::value::words::words;

words! {
    /// Who runs a turn.
    Runtime {
        /// The agent's own loop on the API of a model.
        Auto = "auto",
        /// A Codex thread.
        CodexAppServer = "codex_app_server",
    }
}

words! {
    /// What a person is told about what a review has learned.
    MemoryNotifications {
        /// Nothing.
        Off = "off",
        /// One line.
        On = "on",
        /// Each thing that was written.
        Verbose = "verbose",
    }
}

words! {
    /// Who shortens a conversation that gets too long on Codex.
    CodexCompaction {
        /// Codex itself.
        Native = "native",
        /// Codex, when the agent's own threshold is reached.
        Host = "host",
        /// Nobody.
        Off = "off",
    }
}

words! {
    /// How Codex gets the agent's own tools.
    CodexTools {
        /// By the MCP server that `ostler migrate` registers.
        Mcp = "mcp",
        /// Over Codex's own connection, run by the chat itself.
        Dynamic = "dynamic",
        /// Not at all.
        None = "none",
    }
}

section! {
    /// The host agent that `ostler chat` talks with. `ostler runtime` writes `runtime` for you.
    Agent = "agent", _at;

    /// Who runs a turn: the agent's own loop on the API of a model, or a Codex thread.
    runtime: Runtime = Runtime::Auto;
    /// Whose models the agent's own loop asks: `"openai"`, `"codex"` (OpenAI's models by Codex's own login), or one of your
    /// `[providers.NAME]`. Codex runs turns only with the first two.
    provider: String = "openai".to_owned();
    /// The model. Codex has its own choice without one; the agent's own loop needs it here or as `ostler chat --model`.
    model: Option<String> = None;
    /// How hard the model thinks, in the words of the model: `"low"`, `"medium"`, `"high"`, … Without it the model's own
    /// choice holds.
    effort: Option<String> = None;
    /// A file with who the agent is and how it speaks, in place of what is built in.
    identity: Option<PathBuf> = None;
    /// The tokens that the model can have before it at once, for the agent's own loop; Codex tells its own.
    context_window: u64 = 272_000, 4_096..=100_000_000;
    /// The calls of the model that one turn may take.
    iterations: u32 = 90, 1..=10_000;
    /// After so many of your messages a review asks what is worth remembering; 0 means never.
    memory_nudge_interval: u32 = 10, 0..=10_000;
    /// After so many calls of tools, over all turns since the last time, a review asks whether there is a skill in them; 0 means
    /// never.
    skill_nudge_interval: u32 = 10, 0..=10_000;
    /// Whether reviews run at all. They run in the background, with memory and skills as their only tools.
    review: bool = true;
    /// The model that reviews ask, of the same provider. Without it they ask the conversation's own; where that is Codex's
    /// choice, there are none.
    review_model: Option<String> = None;
    /// What you are told about what a review has written.
    memory_notifications: MemoryNotifications = MemoryNotifications::On;
    /// Whether you are asked before something is remembered. Where nobody can be asked, in a review and on Codex by the MCP
    /// server, nothing is remembered then.
    memory_approval: bool = false;
    /// Whether what the model says while it works is shown, beside its answer.
    show_commentary: bool = true;
    /// How full the context may get, in percent, before older messages are made into a summary.
    compression_threshold: u32 = 75, 10..=95;
    /// When Codex does that with a conversation of its own: when it thinks so itself, also when the threshold above is
    /// reached, or only when you want it.
    codex_compaction: CodexCompaction = CodexCompaction::Native;
    /// How a conversation on Codex gets the agent's own tools: by the MCP server that `ostler migrate` registers, over Codex's
    /// own connection from the chat itself, or not at all. A conversation that Codex knows keeps what it began with.
    codex_tools: CodexTools = CodexTools::Mcp;
    /// What the agent's commands may do without asking, on its own loop and on Codex: read anything, or also write in the working folder.
    sandbox: Sandbox = Sandbox::WorkspaceWrite;
    /// When the agent asks, on its own loop and on Codex: before every command that is not known to be harmless, or when a
    /// command needs more than the sandbox gives.
    approval: Approval = Approval::OnRequest;
    /// Whether the agent's own commands may use the network without asking.
    network: bool = false;
    /// Folders that the agent's own commands may write in besides the working folder.
    writable_roots: Vec<PathBuf> = Vec::new();
    /// A program that is given each good turn as JSON on stdin, for a memory of your own. It is never waited for.
    memory_sync: Option<Invocation> = None;
}
