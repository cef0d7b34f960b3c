//! Fixtures for the tests: real Codex binaries, throw-away worlds around them, and what must hold for the reader.
//!
//! This room is for tests alone; nothing that ships may depend on it.

mod client;
mod codex;
mod cut;
mod driven;
mod mcp;
pub mod reader;
mod recalled;
mod stage;
mod terminal;
mod workshop;

pub use client::{Client, Question};
pub use codex::{OLDEST, VERSIONS, codex_binary, codex_cache};
pub use cut::CutConnector;
pub use driven::{Driven, DrivenThread};
pub use mcp::tiny_mcp_server;
pub use recalled::recalled;
pub use stage::{KeptCodex, Stage};
pub use terminal::Terminal;
pub use workshop::Workshop;
