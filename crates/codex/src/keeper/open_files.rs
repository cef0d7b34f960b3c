//! How many files a process may have open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sets the limit of this process, and with it of all that it starts; gives what it is now.
///
/// Only the soft limit is moved: a command that needs more than Codex may still raise its own.
pub(super) fn limit(wanted: u64) -> io::Result<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let given = maximum.map_or(wanted, |most| wanted.min(most));
    setrlimit(Resource::Nofile, Rlimit { current: Some(given), maximum })?;
    Ok(given)
}
