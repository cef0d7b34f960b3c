//! What a thread tells whoever watches it.

use ostler_model::thread::Update;
use ostler_model::{Ask, Message, ThreadId, TurnResult};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::wire_line::WireLine;
use crate::protocol::limits::RateLimits;

/// One thing that happened on a thread, or on a sub-agent of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadUpdate {
    /// The thread that is watched, also where a sub-agent of it speaks.
    pub thread: ThreadId,
    /// Set if it was a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    pub what: Told,
    /// The ask as Codex put it, where what is told of it hides a secret: to be known again and judged by rules, and never
    /// kept or shown.
    #[serde(skip)]
    pub asked: Option<Box<Ask>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// What Codex said, before what is told because of it. Only if [`WireLines::Told`](crate::driver::WireLines) was
    /// chosen.
    Wire(WireLine),
    Update(Update),
    Notice(Notice),
}

/// A sub-agent: a thread that Codex started by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agent {
    pub thread: ThreadId,
    /// Codex gives sub-agents names.
    pub name: Option<String>,
    /// What it was started as, where Codex says so.
    pub role: Option<String>,
}

/// Things to know that belong to no turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    Warning {
        text: String,
    },
    /// The limits of the account have moved.
    RateLimits {
        used_percent: Option<i64>,
        resets_at: Option<i64>,
    },
    /// An MCP server is ready, or could not be started.
    McpServer {
        name: String,
        state: String,
        error: Option<String>,
    },
    ModelRerouted {
        from: String,
        to: String,
    },
    /// Codex had forgotten the thread, so its work goes on in a new one.
    Renewed {
        thread: ThreadId,
    },
    /// Nobody read the updates for too long, so the rest of them is not told; always the last one. The thread goes on.
    LeftBehind,
    /// Who is logged in has changed.
    Account {
        login: Option<String>,
        plan: Option<String>,
    },
    /// A login has ended.
    Login {
        succeeded: bool,
        error: Option<String>,
    },
    /// What later turns will run with.
    Settings {
        model: Option<String>,
        effort: Option<String>,
    },
    /// Codex has the thread no longer at hand; the next input opens it again.
    Unloaded,
    /// Somebody put the thread away.
    Archived,
    /// Something that we do not use: Codex's name for it, and its JSON text as it came.
    Other {
        name: String,
        json: String,
    },
    /// Something that we cannot read; it was left alone.
    Odd {
        text: String,
    },
}

impl From<&RateLimits> for Notice {
    fn from(limits: &RateLimits) -> Self {
        let window = limits.primary.as_ref();
        Self::RateLimits {
            used_percent: window.and_then(|window| window.used_percent),
            resets_at: window.and_then(|window| window.resets_at),
        }
    }
}

/// What a turn came to, with all its messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnOutcome {
    pub thread: ThreadId,
    pub result: TurnResult,
    pub messages: Vec<Message>,
}

/// The updates of one thread, in order. Dropping it means that nobody wants to know.
#[derive(Debug)]
pub struct ThreadUpdates(mpsc::Receiver<ThreadUpdate>);

impl ThreadUpdates {
    pub(crate) fn new(queue: mpsc::Receiver<ThreadUpdate>) -> Self {
        Self(queue)
    }

    /// The next one; `None` when the thread is no longer driven. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<ThreadUpdate> {
        self.0.recv().await
    }
}
