//! The audit log: who was refused what, who decided what, and who got a key.

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, Remember};
use crate::id::{AskId, TaskId};
use crate::task::{AskRecord, DecidedBy};

/// Characters of each text of an entry: enough for a command line, too little to fill a disk with.
const TEXT_CHARACTERS: usize = 300;

/// One entry. Entries are added and in time removed; none changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub kind: AuditKind,
    /// Unix milliseconds.
    pub at: i64,
    /// A person, a token, a rule, a program, or `nobody`.
    pub who: String,
    /// The surface, process or address that it came from.
    pub place: String,
    /// What was decided, or what was tried.
    pub what: String,
    /// Why it was refused, or the reason that was given with a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
    /// The token, login or account that it is counted for; empty where nobody is known, and for what is no refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// So many more of this kind came than are written down; this entry stands for all of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: u64,
}

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// An ask was decided, by whomever.
    Decision,
    TokenMade,
    /// A token or a login was removed.
    KeyRemoved,
    LoggedIn,
    /// An agent or an MCP program tried to decide an ask.
    SelfApproval,
    /// An agent tried what only people may do.
    AgentRefused,
    /// A token or login tried what it is not good for.
    ScopeRefused,
    /// A token, login or code that does not count.
    KeyRefused,
    /// So many of them from one address that it has to wait.
    Guessing,
    /// A request for another name than ours.
    HostRefused,
    /// A request from a page that is not ours.
    OriginRefused,
    /// A page changed something without the word of our own page.
    CsrfRefused,
    /// A process of another user.
    StrangerRefused,
    /// A request that two readers could read differently.
    Malformed,
}

impl AuditKind {
    pub const ALL: [Self; 14] = [
        Self::Decision,
        Self::TokenMade,
        Self::KeyRemoved,
        Self::LoggedIn,
        Self::SelfApproval,
        Self::AgentRefused,
        Self::ScopeRefused,
        Self::KeyRefused,
        Self::Guessing,
        Self::HostRefused,
        Self::OriginRefused,
        Self::CsrfRefused,
        Self::StrangerRefused,
        Self::Malformed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::TokenMade => "token_made",
            Self::KeyRemoved => "key_removed",
            Self::LoggedIn => "logged_in",
            Self::SelfApproval => "self_approval",
            Self::AgentRefused => "agent_refused",
            Self::ScopeRefused => "scope_refused",
            Self::KeyRefused => "key_refused",
            Self::Guessing => "guessing",
            Self::HostRefused => "host_refused",
            Self::OriginRefused => "origin_refused",
            Self::CsrfRefused => "csrf_refused",
            Self::StrangerRefused => "stranger_refused",
            Self::Malformed => "malformed",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether somebody was refused. The others were let do what they did.
    pub fn is_refusal(self) -> bool {
        !matches!(self, Self::Decision | Self::TokenMade | Self::KeyRemoved | Self::LoggedIn)
    }

    /// Entries of this kind that are kept. Refusals are made by whoever attacks, who must push out neither decisions nor refusals of
    /// other kinds.
    pub fn most_kept(self) -> u64 {
        match self {
            Self::Decision => 100_000,
            _ => 10_000,
        }
    }
}

impl AuditEntry {
    pub fn new(kind: AuditKind, at: i64, who: &str, place: &str, what: &str) -> Self {
        Self {
            kind,
            at,
            who: cut(who),
            place: cut(place),
            what: cut(what),
            why: None,
            task: None,
            ask: None,
            origin: String::new(),
            suppressed: 0,
        }
    }

    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        self.why = Some(cut(why));
        self
    }

    #[must_use]
    pub fn from_origin(mut self, origin: &str) -> Self {
        self.origin = cut(origin);
        self
    }

    #[must_use]
    pub fn about(mut self, ask: &AskRecord) -> Self {
        self.task = Some(ask.task.clone());
        self.ask = Some(ask.id.clone());
        self
    }

    /// The decision of an ask. Answers are not repeated here: some are secret.
    pub fn of_decision(ask: &AskRecord) -> Option<Self> {
        let decided = ask.decision.as_ref()?;
        let (who, place) = match &decided.by {
            DecidedBy::Person { name, surface } => (name.clone(), surface.clone()),
            DecidedBy::Rule { rule } => (format!("rule {rule}"), "policy".to_owned()),
            DecidedBy::Approver { program } => (program.clone(), "approver".to_owned()),
            DecidedBy::Nobody => ("nobody".to_owned(), "policy".to_owned()),
            DecidedBy::Earlier { ask } => (format!("the decision of {ask}"), "policy".to_owned()),
        };
        let what = format!("{}: {}", word(&decided.decision), ask.content.kind.summary());
        let entry = Self::new(AuditKind::Decision, decided.at, &who, &place, &what).about(ask);
        Some(match &decided.reason {
            Some(reason) => entry.because(reason),
            None => entry,
        })
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Once => "once",
        Decision::Session => "session",
        Decision::Always(Remember::Host { allowed: false, .. }) => "never",
        Decision::Always(_) => "always",
        Decision::Deny => "deny",
        Decision::Cancel => "cancel",
        Decision::Grant { .. } => "grant",
        Decision::Answers(_) | Decision::Form(_) => "answer",
        Decision::ToolResult { .. } => "result",
    }
}

/// Tokens that somebody has put where they do not belong are not written down.
fn cut(text: &str) -> String {
    let hidden: Vec<String> = text
        .split_inclusive(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .map(|word| match word.split_once("ostler_") {
            Some((before, secret)) if secret.len() >= 16 => format!("{before}ostler_(hidden)"),
            _ => word.to_owned(),
        })
        .collect();
    let text = hidden.concat();
    match text.char_indices().nth(TEXT_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kind_and_are_what_is_stored() {
        for kind in AuditKind::ALL {
            assert_eq!(AuditKind::from_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn texts_are_short_and_have_no_token_in_them() {
        let token = format!("ostler_{}", "0123456789abcdef".repeat(4));
        let path = format!("DELETE /v1/tokens/{token}?a={token}");
        let entry = AuditEntry::new(AuditKind::AgentRefused, 1, "ada", "socket", &path);
        assert!(!entry.what.contains("0123456789abcdef"), "{}", entry.what);
        assert!(entry.what.starts_with("DELETE /v1/tokens/ostler_(hidden)"), "{}", entry.what);
        let long = AuditEntry::new(AuditKind::HostRefused, 1, &"é".repeat(5000), "", "");
        assert_eq!(long.who.chars().count(), TEXT_CHARACTERS + 1);
    }
}
