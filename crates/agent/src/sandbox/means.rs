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
    /// Looks. `bwrap` is where that program is, if it is anywhere: it can hold what Landlock alone cannot.
    pub fn find(bwrap: Option<PathBuf>) -> Result<Self, Unavailable> {
        match (bwrap, landlock()) {
            (Some(program), _) if super::bubblewrap::works(&program) => {
                Ok(Self::Bubblewrap(program))
            }
            (_, Ok(())) => Ok(Self::Landlock),
            (Some(_), Err(error)) => Err(Unavailable(format!(
                "no Landlock: {error}; bubblewrap is here and does not work"
            ))),
            (None, Err(error)) => Err(Unavailable(format!("no Landlock: {error}"))),
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
