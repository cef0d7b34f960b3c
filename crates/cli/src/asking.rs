//! How a person answers a question: what they are offered, and what their words mean. Pure.

mod approval;
mod form;
mod permissions;
mod questions;

use ostler_model::ask::ElicitationWant;
use ostler_model::{Ask, AskKind, Decision};

use approval::Approval;
use form::Form;
use permissions::Grant;
use questions::Questions;

/// The talk about one question. It may take several lines.
#[derive(Debug)]
pub(crate) enum Dialog {
    Approval(Approval),
    Permissions(Grant),
    Questions(Questions),
    Form(Form),
}

/// What may be chosen besides what the question offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Besides {
    /// Something of the question was cut.
    pub(crate) view: bool,
    /// The person may leave the question open and go.
    pub(crate) later: bool,
}

/// Who remembers what is answered for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Codex, for its whole home.
    Codex,
    /// The daemon, by a rule for the folder.
    Rule,
}

/// What a line meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    /// Nothing yet; the note says why, if there is something to say.
    Again(Option<String>),
    /// Show the whole question.
    View,
    /// Leave it open and go.
    Later,
    Decided {
        decision: Decision,
        reason: Option<String>,
    },
}

impl Dialog {
    /// None for a question that no person answers.
    pub(crate) fn new(ask: &Ask, besides: Besides, memory: Memory) -> Option<Self> {
        Some(match &ask.kind {
            AskKind::Permissions(wanted) => {
                Self::Permissions(Grant::new(wanted.wanted.clone(), besides))
            }
            AskKind::UserInput(input) => Self::Questions(Questions::new(input.questions.clone())),
            AskKind::Elicitation(elicitation) => match &elicitation.want {
                ElicitationWant::Form(fields) => Self::Form(Form::new(fields.clone())),
                _ => Self::Approval(Approval::new(&ask.offers, besides, memory)),
            },
            AskKind::Command(_) | AskKind::FileChange(_) | AskKind::Continue { .. } => {
                Self::Approval(Approval::new(&ask.offers, besides, memory))
            }
            AskKind::ToolCall(_) | AskKind::TokenRefresh { .. } | AskKind::Other { .. } => {
                return None;
            }
        })
    }

    /// What stands before the cursor, each line without the mark of a question.
    pub(crate) fn question(&self) -> Vec<String> {
        match self {
            Self::Approval(approval) => approval.question(),
            Self::Permissions(grant) => grant.question(),
            Self::Questions(questions) => questions.question(),
            Self::Form(form) => form.question(),
        }
    }

    /// Whether the next line must not be seen.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Questions(questions) if questions.is_secret())
    }

    pub(crate) fn read(&mut self, line: &str) -> Reading {
        match self {
            Self::Approval(approval) => approval.read(line),
            Self::Permissions(grant) => grant.read(line),
            Self::Questions(questions) => questions.read(line),
            Self::Form(form) => form.read(line),
        }
    }
}

impl Reading {
    fn decided(decision: Decision) -> Self {
        Self::Decided { decision, reason: None }
    }

    fn again(note: &str) -> Self {
        Self::Again(Some(note.to_owned()))
    }
}

/// Words that mean the same in every dialog in which free text is an answer.
fn slash_word(line: &str) -> Option<Reading> {
    match line.trim().to_lowercase().as_str() {
        "/no" => Some(Reading::decided(Decision::Deny)),
        "/later" => Some(Reading::Later),
        _ => None,
    }
}

/// A key as it is shown.
fn key(key: &str, words: &str) -> String {
    let bold = anstyle::Style::new().bold();
    format!("{bold}[{key}]{bold:#} {words}")
}
