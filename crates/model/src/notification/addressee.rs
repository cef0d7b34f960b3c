//! To whom it is told.

use super::occasion::Kind;

/// The target that is always there: it is recorded, and shown to whoever looks.
pub const LOCAL: &str = "local";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressee {
    To(String),
    /// The task names a target that is not there.
    Unknown(String),
    /// The task names none.
    Nobody,
}

/// Whom a task tells this. `kinds_of` says what a target wants to hear, or that there is no such target; an empty list means
/// everything. A target that does not want this kind is not written to at all.
pub fn addressees(
    named: &[String],
    kind: Kind,
    kinds_of: impl Fn(&str) -> Option<Vec<Kind>>,
) -> Vec<Addressee> {
    if named.is_empty() {
        return vec![Addressee::Nobody];
    }
    let mut found: Vec<Addressee> = Vec::new();
    for name in named {
        let addressee = match kinds_of(name) {
            None => Addressee::Unknown(name.clone()),
            Some(kinds) if kinds.is_empty() || kinds.contains(&kind) => Addressee::To(name.clone()),
            Some(_) => continue,
        };
        if !found.contains(&addressee) {
            found.push(addressee);
        }
    }
    found
}

/// Whether a target is an address that the task brought, and no name of the configuration.
pub fn is_address(target: &str) -> bool {
    target.starts_with("https://") || target.starts_with("http://")
}
