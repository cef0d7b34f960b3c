//! What Codex's own automatic reviewer made of something that Codex would else have asked a person.

use serde::{Deserialize, Serialize};

use crate::id::ItemId;

/// One review; told when it begins and when it is over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoReview {
    pub id: String,
    /// The step that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    pub verdict: AutoVerdict,
    /// What was looked at, in one line.
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Codex's word: `low`, `medium`, `high`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
}

/// Codex's words for how a review stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum AutoVerdict {
    #[default]
    InProgress,
    Approved,
    Denied,
    TimedOut,
    Aborted,
    Other(String),
}

impl AutoVerdict {
    pub fn name(&self) -> &str {
        match self {
            Self::InProgress => "in_progress",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::TimedOut => "timed_out",
            Self::Aborted => "aborted",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for AutoVerdict {
    fn from(word: String) -> Self {
        let known = [Self::InProgress, Self::Approved, Self::Denied, Self::TimedOut, Self::Aborted];
        known.into_iter().find(|verdict| verdict.name() == word).unwrap_or(Self::Other(word))
    }
}

impl From<AutoVerdict> for String {
    fn from(verdict: AutoVerdict) -> Self {
        verdict.name().to_owned()
    }
}

impl AutoReview {
    /// In one line, for people.
    pub fn describe(&self) -> String {
        let verdict = match &self.verdict {
            AutoVerdict::InProgress => "reviews",
            AutoVerdict::Approved => "approved",
            AutoVerdict::Denied => "denied",
            AutoVerdict::TimedOut => "came to no decision in time on",
            AutoVerdict::Aborted => "broke off the review of",
            AutoVerdict::Other(word) => word,
        };
        let risk = self.risk.as_ref().map(|risk| format!(" (risk {risk})")).unwrap_or_default();
        let why = self.rationale.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("Codex's automatic reviewer {verdict} {}{risk}{why}", self.action)
    }
}

#[cfg(test)]
mod tests {
    use super::{AutoReview, AutoVerdict};

    #[test]
    fn each_verdict_keeps_its_word() {
        for word in ["in_progress", "approved", "denied", "timed_out", "aborted", "odd"] {
            assert_eq!(String::from(AutoVerdict::from(word.to_owned())), word);
        }
    }

    #[test]
    fn a_denial_says_what_and_why() {
        let review = AutoReview {
            id: "r".to_owned(),
            verdict: AutoVerdict::Denied,
            action: "`rm -rf /`".to_owned(),
            rationale: Some("it removes everything".to_owned()),
            risk: Some("high".to_owned()),
            ..AutoReview::default()
        };
        assert_eq!(
            review.describe(),
            "Codex's automatic reviewer denied `rm -rf /` (risk high): it removes everything"
        );
    }
}
