//! Fixtures for the tests: real Codex binaries, fetched once and shared by every test process.
//!
//! This room is for tests alone; nothing that ships may depend on it.

mod codex;
pub mod reader;

pub use codex::{OLDEST, VERSIONS, codex_binary};
