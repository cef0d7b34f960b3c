//! What this machine can build walls of.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError,
};

/// The first Landlock that holds a file's content: before it, `truncate` empties what may not be written (Linux 6.2).
pub(super) const NEEDED: ABI = ABI::V3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    Landlock,
    /// The program `bwrap`, and Landlock inside of it where the kernel has it.
    Bubblewrap(PathBuf),
}

/// Nothing here can confine a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "commands cannot be confined on this machine ({0}): use Linux 6.2 or later with Landlock, or install bubblewrap (`bwrap`)"
)]
pub struct Unavailable(pub String);

impl Means {
    /// Looks. `bwraps` are the places where that program is, the best first: it can hold what Landlock alone cannot.
    pub fn find(bwraps: impl IntoIterator<Item = PathBuf>) -> Result<Self, Unavailable> {
        let mut is_here = false;
        for program in bwraps {
            if super::bubblewrap::works(&program) {
                return Ok(Self::Bubblewrap(program));
            }
            is_here = true;
        }
        match landlock() {
            Ok(()) => Ok(Self::Landlock),
            Err(error) if is_here => Err(Unavailable(format!(
                "no Landlock: {error}; bubblewrap is here and does not work"
            ))),
            Err(error) => Err(Unavailable(format!("no Landlock: {error}"))),
        }
    }
}

/// Whether this kernel has a Landlock that is new enough.
pub(super) fn landlock() -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?;
    ruleset.create().map(drop)
}
