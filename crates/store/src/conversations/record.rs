//! What is kept. Times are Unix milliseconds and come from the caller; bodies are JSON text that only the caller reads.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    /// A UUID of version 7. At most 64 letters, digits and dashes.
    pub id: String,
    pub title: String,
    pub cwd: String,
    pub at: i64,
    /// Settings, binding, counters.
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: String,
    pub title: String,
    pub cwd: String,
    pub created_at: i64,
    pub updated_at: i64,
    /// Counts the changes of title and body, from 1.
    pub version: u64,
    /// How many there are, which is also the number of the last.
    pub messages: u64,
    /// How many there were, which is also the number of the last.
    pub turns: u64,
    pub body: String,
}

/// A change of a conversation. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The version that was read. If it is not the newest, nothing is changed.
    pub version: u64,
    pub title: Option<String>,
    pub body: Option<String>,
    pub at: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewMessage {
    /// Names the message in its conversation for good: with the same key, a second append is the first one.
    pub key: String,
    /// One word.
    pub role: String,
    /// What it says, to be found by. Empty for what nobody looks for.
    pub text: String,
    pub body: String,
    pub at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// From 1, without gaps.
    pub number: u64,
    /// 0 if it belongs to no turn.
    pub turn: u64,
    pub key: String,
    pub role: String,
    pub at: i64,
    pub body: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTurn {
    pub runtime: String,
    pub at: i64,
    pub body: String,
}

/// A turn that has begun, now or when the same messages came before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegun {
    pub turn: u64,
    /// Of the messages it began with.
    pub numbers: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub conversation: String,
    /// From 1.
    pub number: u64,
    pub runtime: String,
    pub state: TurnState,
    pub began_at: i64,
    pub ended_at: Option<i64>,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    Running,
    Ended,
}

/// The end of a turn: all of it is written, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnEnding {
    pub turn: u64,
    pub at: i64,
    /// Of the turn.
    pub body: String,
    /// The last ones. Those that are there already stay as they are.
    pub messages: Vec<NewMessage>,
    /// Of the conversation.
    pub change: Change,
}

/// What came of the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub numbers: Vec<u64>,
    /// Of the conversation, from now on.
    pub version: u64,
}

impl TurnState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
        }
    }

    /// The database has only these two.
    pub(super) fn of(name: &str) -> Self {
        if name == "running" { Self::Running } else { Self::Ended }
    }
}
