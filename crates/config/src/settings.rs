//! The sections of the file: what can be set, with its default and the words that document it.
//!
//! A comment on a field is what `docs/configuration.md` says about the key.

mod approver;
mod codex;
mod daemon;
mod environment;
mod limits;
mod policy;
mod store;
mod tasks;
mod worktree;

pub use approver::{Approver, AskKind};
pub use codex::Codex;
pub use daemon::Daemon;
pub use environment::Environment;
pub use limits::Limits;
pub use policy::{PolicyRule, Scope, Tool, Verdict};
pub use store::{Retention, Store};
pub use tasks::{Approval, OnCrash, OnStall, Sandbox, Tasks, Unattended};
pub use worktree::Worktree;
