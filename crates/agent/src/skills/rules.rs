//! Who may change which skill. Each rule is one value with its check and its sentence, so what a prompt says and what the code
//! does cannot differ.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Maker, Source};

/// On whose behalf a tool works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In a conversation, where the user sees what is done.
    Foreground,
    /// The review after a turn, which nobody watches.
    Review,
}

/// What an agent wants to do with a skill that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// A file that is there gets another text, or goes.
    ChangeFile,
    /// A file that is not there yet.
    AddFile,
    Delete,
}

/// What is known about a skill when somebody wants to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub source: Source,
    pub created_by: Maker,
    pub is_pinned: bool,
    /// The file in question was shown in this session and is still as it was shown. For a new file and for a whole skill that
    /// is its `SKILL.md`.
    pub was_viewed: bool,
    pub deed: Deed,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("skill {skill:?} cannot be changed so: {rule}")]
pub struct Refusal {
    pub skill: String,
    pub rule: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    OnlyOwn,
    PinnedStays,
    PinnedUntouched,
    OnlyMadeByAgents,
    OnlyViewed,
}

/// The rules of each, in the order in which they are checked.
fn rules(origin: Origin) -> &'static [Rule] {
    match origin {
        Origin::Foreground => &[Rule::OnlyOwn, Rule::PinnedStays],
        Origin::Review => {
            &[Rule::OnlyOwn, Rule::PinnedUntouched, Rule::OnlyMadeByAgents, Rule::OnlyViewed]
        }
    }
}

/// Whether a skill may be changed so; the first rule that forbids it otherwise.
pub fn may_change(origin: Origin, skill: &str, facts: &Facts) -> Result<(), Refusal> {
    match rules(origin).iter().find(|rule| !rule.allows(facts)) {
        None => Ok(()),
        Some(rule) => Err(Refusal { skill: skill.to_owned(), rule: rule.sentence() }),
    }
}

/// The same for a prompt.
pub fn sentence(origin: Origin) -> String {
    let sentences: Vec<String> =
        rules(origin).iter().map(|rule| format!("{}.", capitalized(rule.sentence()))).collect();
    sentences.join(" ")
}

impl Rule {
    fn allows(self, facts: &Facts) -> bool {
        match self {
            Self::OnlyOwn => facts.source == Source::Own,
            Self::PinnedStays => !facts.is_pinned || facts.deed != Deed::Delete,
            Self::PinnedUntouched => !facts.is_pinned,
            Self::OnlyMadeByAgents => facts.created_by == Maker::Agent,
            Self::OnlyViewed => facts.was_viewed,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::OnlyOwn => {
                "bundled and external skills are not changed; create a skill of another name that builds on them"
            }
            Self::PinnedStays => {
                "a pinned skill may be edited but not deleted; the user can unpin it"
            }
            Self::PinnedUntouched => "pinned skills are not changed in a review",
            Self::OnlyMadeByAgents => {
                "a review changes only skills that agents created, never those of people"
            }
            Self::OnlyViewed => {
                "a review changes a file only after it was viewed with skill_view in the same review, and adds files or deletes \
                 a skill only after its SKILL.md was viewed"
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What was shown in a session, and what it said.
#[derive(Debug, Default)]
pub struct Viewed {
    files: Mutex<HashMap<(String, String), Vec<u8>>>,
}

impl Viewed {
    /// It was shown, or written by the same session.
    pub(super) fn note(&self, skill: &str, path: &str, bytes: &[u8]) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert((skill.to_owned(), path.to_owned()), bytes.to_owned());
    }

    pub(super) fn is_as_shown(&self, skill: &str, path: &str, bytes: &[u8]) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(&(skill.to_owned(), path.to_owned())).is_some_and(|shown| shown == bytes)
    }
}
