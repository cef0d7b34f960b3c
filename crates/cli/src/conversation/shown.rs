//! Everything of a conversation that can be shown. Its JSON form is part of our interface and is documented in
//! `docs/run.md`: fields are added, never renamed.

use ostler_model::usage::Usage;
use serde::Serialize;

/// One thing to show, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Line {
    /// Set if a sub-agent says or does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentShown>,
    #[serde(flatten)]
    pub(crate) shown: Shown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AgentShown {
    pub(crate) thread: String,
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Shown {
    /// Something we did ourselves.
    Step {
        text: String,
    },
    Prompt {
        text: String,
    },
    /// A prompt that another client of the thread gave, such as Codex's own interface.
    PromptElsewhere {
        text: String,
    },
    /// The thread is open.
    Thread(ThreadShown),
    TurnBegan {
        turn: String,
    },
    /// Codex has the prompt.
    Taken {
        turn: String,
    },
    /// A piece of the model's thinking, as it comes.
    Thinking {
        item: String,
        delta: String,
    },
    ThinkingDone {
        item: String,
        text: String,
    },
    /// A piece of Codex's text, as it comes.
    Text {
        item: String,
        delta: String,
    },
    /// The whole text, which counts; the pieces may have been cut, or may have been of an answer that broke off.
    TextDone {
        item: String,
        text: String,
        /// Whether it is the answer, or talk on the way.
        phase: String,
        how: String,
    },
    Command {
        item: String,
        command: String,
        cwd: Option<String>,
    },
    /// A piece of a command's output, as it comes.
    Output {
        item: String,
        delta: String,
    },
    CommandDone {
        item: String,
        command: String,
        status: String,
        exit_code: Option<i64>,
        duration_ms: Option<u64>,
        output: String,
    },
    FileChange {
        item: String,
        status: String,
        files: Vec<FileShown>,
    },
    /// A call of a tool outside Codex.
    Tool {
        item: String,
        tool: String,
        arguments: Option<String>,
    },
    ToolDone {
        item: String,
        tool: String,
        arguments: Option<String>,
        status: String,
        duration_ms: Option<u64>,
        result: Option<String>,
        error: Option<String>,
    },
    /// A sub-agent was started, addressed or ended.
    SubAgent {
        item: String,
        action: String,
        prompt: Option<String>,
        threads: Vec<String>,
        status: String,
    },
    /// Any other step, in words.
    Doing {
        item: String,
        kind: String,
        text: String,
    },
    Plan {
        explanation: Option<String>,
        steps: Vec<StepShown>,
        percent: Option<u8>,
    },
    /// The whole change of the turn so far, as a unified diff.
    Diff {
        diff: String,
    },
    Ask(Box<AskShown>),
    Answer {
        id: String,
        decision: String,
        by: String,
    },
    /// The ask needs no answer any more, or could not be answered.
    AskClosed {
        id: String,
        text: String,
    },
    /// What the turn has used so far.
    Usage {
        #[serde(flatten)]
        usage: Usage,
    },
    /// An attempt failed and Codex repeats it.
    Retrying {
        class: String,
        message: String,
        attempt: u32,
        for_ms: u64,
    },
    /// Nothing has come for a while; this is what was found when looking.
    Stalled {
        quiet_ms: u64,
        found: String,
    },
    Warning {
        text: String,
    },
    TurnDone(Box<TurnShown>),
    /// The last line.
    Result(Box<ResultShown>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ThreadShown {
    pub(crate) thread: String,
    pub(crate) codex: String,
    pub(crate) keeper: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) cwd: String,
    pub(crate) sandbox: String,
    pub(crate) approval: String,
    /// A turn of it runs already.
    pub(crate) joined: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileShown {
    pub(crate) path: String,
    pub(crate) change: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) moved_to: Option<String>,
    pub(crate) diff: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StepShown {
    pub(crate) text: String,
    pub(crate) status: String,
}

/// A question with everything that must be seen to answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct AskShown {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) command: Option<String>,
    pub(crate) files: Vec<FileShown>,
    pub(crate) cwd: Option<String>,
    pub(crate) reason: Option<String>,
    /// More to know.
    pub(crate) details: Vec<DetailShown>,
    pub(crate) choices: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DetailShown {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What the turn came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TurnShown {
    pub(crate) turn: String,
    /// `completed`, `interrupted` or `failed`.
    pub(crate) status: String,
    pub(crate) interrupted_by: Option<String>,
    pub(crate) error: Option<ErrorShown>,
    pub(crate) usage: Usage,
    pub(crate) retries: u32,
    pub(crate) compacted: bool,
    pub(crate) elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorShown {
    pub(crate) class: String,
    pub(crate) message: String,
    pub(crate) details: Option<String>,
    pub(crate) http_status: Option<u16>,
    /// Unix seconds, for a limit that says so.
    pub(crate) resets_at: Option<i64>,
    pub(crate) advice: String,
    /// The last lines of Codex's stderr, redacted.
    pub(crate) evidence: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ResultShown {
    pub(crate) ok: bool,
    pub(crate) exit: u8,
    /// `completed`, `interrupted`, `failed`, `refused` (the prompt never became a turn) or `detached`.
    pub(crate) status: String,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// Only if it still runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keeper: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorShown>,
    /// Asks that were declined because there was nobody to ask.
    pub(crate) declined: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
}

impl DetailShown {
    pub(crate) fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), text: text.into() }
    }
}

impl From<Shown> for Line {
    fn from(shown: Shown) -> Self {
        Self { agent: None, shown }
    }
}
