//! Secrets that Codex gets beside what its starter has.

use std::ffi::{OsStr, OsString};
use std::fmt;

use super::pattern::matches;
use super::table::{self, Verdict};

/// Variables that change what a program does, whatever their value is meant for.
const CHANGES_PROGRAMS: [&str; 8] =
    ["LD_*", "DYLD_*", "GIT_*", "NODE_OPTIONS", "PYTHON*", "BASH_ENV", "ENV", "RUST_LOG"];

/// Names and values of variables, for MCP servers that are told to take them from Codex's environment. Codex gets them
/// whatever the table says of their names; what its starter has set under such a name wins.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Given(Vec<(String, String)>);

impl Given {
    /// Without those that [`may_be_given`] says no to, or whose value no variable can hold.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let usable = |(name, value): &(String, String)| {
            may_be_given(name) && !value.is_empty() && !value.contains('\0')
        };
        let mut variables: Vec<_> = variables.into_iter().filter(usable).collect();
        variables.sort();
        variables.dedup_by(|one, other| one.0 == other.0);
        Self(variables)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// For a Codex that no keeper starts. What is set wins.
    pub fn add_to(&self, variables: &mut Vec<(OsString, OsString)>) {
        for (name, value) in self.iter() {
            variables.retain(|(known, set)| known != name || !set.is_empty());
            if !variables.iter().any(|(known, _)| known == name) {
                variables.push((name.into(), value.into()));
            }
        }
    }

    pub(crate) fn has(&self, name: &OsStr) -> bool {
        self.names().any(|known| name == known)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Names only.
impl fmt::Debug for Given {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

/// Whether a secret of a server may be given under this name. What Codex itself would act on, such as `OPENAI_API_KEY` or
/// a proxy, may not: it is meant for the server alone.
pub fn may_be_given(name: &str) -> bool {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    let is_free =
        table::first_match(name.as_bytes()).is_none_or(|row| row.verdict == Verdict::Strip);
    let changes = CHANGES_PROGRAMS.iter().any(|it| matches(it.as_bytes(), name.as_bytes()));
    is_name && is_free && !changes
}
