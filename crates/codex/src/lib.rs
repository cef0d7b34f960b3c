//! Who we talk to: `codex app-server`, its wire, the keeper that owns one, and the binaries it comes from.
//!
//! Codex's JSON stops here: nothing above this room may name a field of it. This room knows no SQL, no HTTP API of
//! ours, no terminal, and reads neither the environment nor the home directory; both come in as data.
//!
//! Start reading at [`app_server`] for a connection, at [`peer`] for the conversation below it, at [`keeper`] for the
//! process, at [`protocol`] for Codex's words, at [`projection`] for what a host keeps of a turn, at [`rollout`] for
//! Codex's own record of it.

pub mod account;
pub mod app_server;
pub mod bare_client;
pub mod binary;
pub mod config_layers;
pub mod driver;
pub mod folder_trust;
pub mod keeper;
pub mod login;
pub mod own_server;
pub mod peer;
pub mod projection;
pub mod protocol;
pub mod replay;
pub mod rollout;
pub mod schema;
pub mod secrets;
pub mod start_fault;
pub mod thread;
pub mod transport;
pub mod wire;
pub mod wire_log;
