//! What people are called: by the name of their account, as they know each other.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User};

/// There are two who may call: the daemon's user and root. One that was found is not asked for again, because accounts can
/// be on another machine, and who did something must be called the same for as long as this daemon lives.
static KNOWN: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// The name of the account. It may read files and ask other machines, so it is called off the async threads.
pub(crate) fn name_of(uid: u32) -> Option<String> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known().get(&uid) {
        return Some(name.clone());
    }
    // One without a name is called by its number.
    let name = User::from_uid(Uid::from_raw(uid)).ok().flatten()?.name;
    known().insert(uid, name.clone());
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn root_has_a_name_and_a_number_without_an_account_has_none() {
        assert_eq!(name_of(0).as_deref(), Some("root"));
        assert_eq!(name_of(0).as_deref(), Some("root"));
        assert_eq!(name_of(4_123_456_789), None);
    }
}
