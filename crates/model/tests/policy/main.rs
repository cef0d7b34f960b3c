//! Rules: what they let through, what they refuse, and above all what they leave to people.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod always;
mod asks_with_more;
mod commands;
mod files;
mod hosts_and_tools;
mod rig;
mod sandboxing;
mod scopes;
mod stored;
