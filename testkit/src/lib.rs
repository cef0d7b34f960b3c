//! Fixtures for the tests: real Codex binaries, throw-away worlds around them, and what must hold for the reader.
//!
//! This room is for tests alone; nothing that ships may depend on it.

mod codex;
mod cut;
mod driven;
mod mcp;
pub mod reader;
mod recalled;
mod receiver;
mod script;
mod stage;
mod terminal;
mod workshop;

pub use codex::{NEWEST, OLDEST, VERSIONS, codex_binary, codex_cache};
pub use cut::CutConnector;
pub use driven::{Driven, DrivenThread};
pub use mcp::tiny_mcp_server;
pub use ostler_codex::bare_client::{Client, Question};
pub use recalled::recalled;
pub use receiver::{Does, Received, Receiver};
pub use script::write_script;
pub use stage::{KeptCodex, Stage};
pub use terminal::Terminal;
pub use workshop::Workshop;
