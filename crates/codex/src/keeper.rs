//! The keeper: our small detached process that owns one `codex app-server`.
//!
//! Codex must survive the death of whoever started it, and no process of its tree may ever be lost. So the starter
//! ([`start`]) lets a short-lived first stage ([`detach`]) put the keeper proper ([`run`]) into a session of its own,
//! with nobody as its parent. The keeper is a subreaper: whatever Codex leaves behind comes home to it and is ended.
//! All that others need to know stands in the keeper's folder, so [`list`] and [`stop`] work without a daemon, and
//! even without the keeper: every process of the tree carries the mark [`MARK`] in its environment.
//!
//! Start reading at [`start`], then [`run`]. [`environment`] says what of the starter's environment Codex may see.

pub mod environment;

mod above;
mod codex_log;
mod detach;
mod error;
mod folder;
mod git_calls;
mod group;
mod list;
mod log;
mod lost;
mod memory;
mod open_files;
mod process;
mod record;
pub(crate) mod redact;
mod run;
mod scope;
mod start;
mod stop;
mod sweep;
mod tree;

pub use above::{Above, above};
pub use detach::detach;
pub use error::KeeperError;
pub use folder::{KeeperFolder, KeeperId, SOCKET_PATH_LIMIT_BYTES};
pub use list::{Condition, Found, find, list};
pub use log::{LogLimit, RotatingLog, open_private, tail};
pub use lost::{Recovered, find_again, has_keeper, recover_lost};
pub use memory::memory_of_codex;
pub use process::{Process, ProcessIdentity};
pub use record::{Ended, Exit, HowEnded, Record, SCHEMA, State};
pub use redact::redact;
pub use run::run;
pub use start::{StartKeeper, last_words, last_words_since, start, words_so_far};
pub use stop::{StopMode, StopReport, stop};
pub use sweep::{REMAINS_FOR, remove, sweep};

/// The variable that names the keeper in the environment of everything below it.
pub const MARK: &str = "OSTLER_KEEPER";
