//! Rules that decide asks without a person.
//!
//! A rule says what it is about ([`Matcher`]), where it holds ([`Scope`]), and until when. Whether an ask is what the rule
//! is about has three answers, see `fit`: it is, it is not, or it cannot be told for sure. What allows needs the first;
//! what refuses takes the third as well, and wins. So doubt never lets anything run.
//!
//! Start reading at [`Rule`], then [`RuleSet::decide`], then [`Rule::from_always`] for where rules come from.

mod always;
mod describe;
mod fit;
mod folder;
mod host;
mod matcher;
mod rule;
mod rule_set;
mod words;

pub use always::{Terms, WhyNot};
pub use folder::Folder;
pub use host::HostPattern;
pub use matcher::Matcher;
pub use rule::{Effect, Rule, Scope};
pub use rule_set::{Context, NoRule, RuleSet, Verdict};
pub use words::Words;

/// A rule cannot be like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a rule for commands needs at least the name of a program")]
    NoProgram,
    #[error("{0:?} is no absolute path without `..`; give the whole path of the folder")]
    Folder(String),
    #[error(
        "{0:?} is no host; give a name such as example.com, or *.example.com for those below it"
    )]
    Host(String),
}
