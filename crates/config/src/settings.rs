//! The sections of the file: what can be set, with its default and the words that document it.
//!
//! A comment on a field is what `docs/configuration.md` says about the key.

mod agent;
mod approver;
mod browser;
mod codex;
mod daemon;
mod environment;
mod limits;
mod mcp;
mod media;
mod migrate;
pub(crate) mod notify;
mod policy;
pub(crate) mod provider;
mod server;
mod store;
mod tasks;
mod web;
mod worktree;

pub use agent::{Agent, CodexCompaction, CodexTools, MemoryNotifications, Runtime};
pub use approver::{Approver, AskKind};
pub use browser::Browser;
pub use codex::Codex;
pub use daemon::Daemon;
pub use environment::Environment;
pub use limits::Limits;
pub use mcp::Mcp;
pub use media::{Images, Speech, SpeechFormat, Vision};
pub use migrate::Migrate;
pub use notify::{Notify, NotifyKind, Via};
pub use policy::{Host, PolicyRule, Scope, Tool, Verdict};
pub use provider::{Provider, Wire};
pub use server::Server;
pub use store::{Retention, Store};
pub use tasks::{Approval, OnCrash, OnStall, Sandbox, Tasks, Unattended};
pub use web::{Search, Web};
pub use worktree::Worktree;
