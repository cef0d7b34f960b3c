//! Hosts that a rule is about.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::RuleError;
use super::fit::Fit;

/// One host, or all those below a domain: `*.example.com` is `a.example.com` and `a.b.example.com`, not `example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(String);

impl HostPattern {
    pub(super) fn fit(&self, host: &str) -> Fit {
        let Some(host) = canonical(host) else {
            // Nobody knows what a resolver makes of it.
            return Fit::Unclear;
        };
        Fit::when(match self.0.strip_prefix('*') {
            // The dot before the domain is part of this, and a host does not begin with one.
            Some(domain) => host.ends_with(domain),
            None => host == self.0,
        })
    }
}

/// Names do not tell capitals from small letters, and may end with the dot of the root.
fn canonical(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "-_:[]".contains(letter);
    let is_host = host.split('.').all(|label| !label.is_empty() && label.chars().all(is_usual));
    is_host.then(|| host.to_ascii_lowercase())
}

impl TryFrom<String> for HostPattern {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        let canonical = match text.strip_prefix("*.") {
            // All hosts of a top-level domain, or of the beginning of an address, are no rule that anybody means.
            Some(domain) => canonical(domain)
                .filter(|domain| {
                    domain.contains('.') && domain.ends_with(|it: char| it.is_alphabetic())
                })
                .map(|domain| format!("*.{domain}")),
            None => canonical(&text),
        };
        canonical.map(Self).ok_or(RuleError::Host(text))
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
