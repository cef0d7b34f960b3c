//! What may be answered to an ask, and for how long it holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ask::{Ask, AskKind, Permissions};
use crate::form::FormValue;
use crate::id::QuestionId;

/// The answer to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Decision {
    /// Allowed, this once.
    Once,
    /// Allowed, and not asked again in this session.
    Session,
    /// Allowed, and remembered beyond the session in the way named.
    Always(Remember),
    /// Not allowed; the turn goes on and the model is told.
    Deny,
    /// Not allowed, and the turn ends; an MCP server's question is only dropped and the turn goes on.
    Cancel,
    /// The sandbox is widened by this much, which may be less than was asked.
    Grant { permissions: Permissions, holds: GrantHolds },
    /// Answers to the questions of a user-input ask.
    Answers(BTreeMap<QuestionId, Vec<String>>),
    /// A form filled in.
    Form(BTreeMap<String, FormValue>),
    /// What our tool returned.
    ToolResult { succeeded: bool, outputs: Vec<ToolOutput> },
}

/// What is remembered beyond the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remember {
    /// Commands that begin with these words, for the whole Codex home.
    CommandPrefix(Vec<String>),
    /// Connections to this host, allowed or refused.
    Host { host: String, allowed: bool },
    /// Calls of this MCP tool.
    Tool,
}

/// How long a widened sandbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantHolds {
    Turn,
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolOutput {
    Text(String),
    ImageUrl(String),
}

impl Decision {
    /// The order in which choices are put to a person, from the least to the most that is remembered, refusals last.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Once => 0,
            Self::Session => 1,
            Self::Always(_) => 2,
            Self::Grant { .. } | Self::Answers(_) | Self::Form(_) | Self::ToolResult { .. } => 3,
            Self::Deny => 4,
            Self::Cancel => 5,
        }
    }
}

impl Ask {
    /// Whether this decision may be given to this ask: a plain one must be offered, one with data must fit the kind.
    pub fn takes(&self, decision: &Decision) -> bool {
        match (decision, &self.kind) {
            (Decision::Grant { permissions, .. }, AskKind::Permissions(ask)) => {
                permissions.is_within(&ask.wanted)
            }
            (Decision::Answers(_), AskKind::UserInput(_))
            | (Decision::Form(_), AskKind::Elicitation(_))
            | (Decision::ToolResult { .. }, AskKind::ToolCall(_)) => true,
            _ => self.offers.contains(decision),
        }
    }
}

impl Permissions {
    /// Whether nothing here goes beyond `wanted`. A person may grant less than was asked, never more.
    pub fn is_within(&self, wanted: &Self) -> bool {
        (self.network != Some(true) || wanted.network == Some(true))
            && self.read.iter().all(|path| wanted.read.contains(path))
            && self.write.iter().all(|path| wanted.write.contains(path))
            && self.rules.iter().all(|rule| wanted.rules.contains(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, GrantHolds, Remember};
    use crate::ask::{Ask, AskKind, CommandAsk, Permissions, PermissionsAsk};

    fn ask(kind: AskKind, offers: Vec<Decision>) -> Ask {
        Ask { thread: None, turn: None, item: None, reason: None, kind, offers }
    }

    #[test]
    fn only_offered_decisions_are_taken() {
        let remembered = Decision::Always(Remember::CommandPrefix(vec!["mkdir".into()]));
        let command = ask(
            AskKind::Command(CommandAsk::default()),
            vec![Decision::Once, remembered.clone(), Decision::Deny],
        );
        let other = Decision::Always(Remember::CommandPrefix(vec!["rm".into()]));

        let taken = [Decision::Once, remembered, other, Decision::Session, Decision::Deny]
            .map(|decision| command.takes(&decision));

        assert_eq!(taken, [true, true, false, false, true]);
    }

    #[test]
    fn a_grant_never_exceeds_what_was_asked() {
        let wanted = Permissions { write: vec!["/a".into(), "/b".into()], ..Default::default() };
        let permissions =
            ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted }), vec![Decision::Deny]);
        let grant = |permissions| Decision::Grant { permissions, holds: GrantHolds::Turn };

        let less = grant(Permissions { write: vec!["/a".into()], ..Default::default() });
        let more = grant(Permissions { write: vec!["/".into()], ..Default::default() });
        let network = grant(Permissions { network: Some(true), ..Default::default() });

        assert_eq!(
            [less, more, network].map(|decision| permissions.takes(&decision)),
            [true, false, false]
        );
    }
}
