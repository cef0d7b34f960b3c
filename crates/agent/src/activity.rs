//! What a surface is told while a turn runs: the same on both runtimes.

use ostler_model::AskId;
use ostler_model::task::AskRecord;
use ostler_model::usage::Tokens;

/// Told in the order it happens. A surface that shows nothing may drop all of it: what counts is in the outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// A piece of the answer.
    Text(String),
    /// What was shown of the answer is void: the model is asked again and begins anew.
    TextVoid,
    Reasoning(String),
    /// A whole message that is not the answer: what the model says while it works.
    Commentary(String),
    ToolBegan {
        call: String,
        tool: String,
        /// One short line: the command, the path, the query.
        preview: String,
    },
    ToolEnded {
        call: String,
        tool: String,
        elapsed_ms: u64,
        is_error: bool,
        /// The first lines of what it said.
        summary: String,
    },
    /// A person must decide. The surface that owns the turn puts the question.
    Asked(Box<AskRecord>),
    /// Somebody has decided, here or elsewhere, or it was withdrawn.
    AskOver {
        ask: AskId,
        how: String,
    },
    /// What the user said into the turn. It is on disk now: not before is it to be shown as said.
    Steered(String),
    /// Something for the person to know: a retry, a wait, a compression.
    Note(String),
    /// After each call of the model: how full the context is, and what the turn has used.
    Usage {
        turn: Tokens,
        last_call: Tokens,
        context_window: Option<u64>,
    },
}

/// Where activity goes. Must not block: a surface that is slow keeps its own queue.
pub type Hear<'a> = &'a (dyn Fn(Activity) + Send + Sync);
