//! A difference between what we rely on and what a schema says.

use std::fmt;

use super::reliance::Part;

/// One difference that would hurt us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub method: &'static str,
    pub part: Part,
    /// The field below the message: `thread.turns[].status`, with `[]` for elements, `*` for entries and `<word>` for
    /// a tagged kind. Empty if the whole message is meant.
    pub path: String,
    pub change: Change,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The schema has no such method, or no definition of this part of it.
    MethodGone,
    /// We send or read a field that is not there.
    Missing,
    /// The field may hold, or must hold, other JSON than we handle.
    TypeChanged { ours: String, theirs: String },
    /// Codex demands a field that we do not send.
    NowRequired,
    /// We cannot do without the field, and Codex may leave it out.
    NowOptional,
    /// A word that we send or act on is not in the vocabulary any more.
    WordGone { word: &'static str },
}

impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.part, self.method)?;
        if !self.path.is_empty() {
            write!(formatter, ", `{}`", self.path)?;
        }
        write!(formatter, ": {}", self.change)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MethodGone => formatter.write_str("not in the schema"),
            Self::Missing => formatter.write_str("field not in the schema"),
            Self::TypeChanged { ours, theirs } => {
                write!(formatter, "we handle {ours}, the schema says {theirs}")
            }
            Self::NowRequired => formatter.write_str("required, and we do not send it"),
            Self::NowOptional => formatter.write_str("may be left out, and we need it"),
            Self::WordGone { word } => write!(formatter, "\"{word}\" is no longer known"),
        }
    }
}
