//! Who we talk to: `codex app-server`, its wire, the keeper that owns one, and the binaries it comes from.
//!
//! Codex's JSON stops here: nothing above this room may name a field of it. This room knows no SQL, no HTTP API of
//! ours, no terminal, and reads neither the environment nor the home directory; both come in as data.
//!
//! Start reading at [`app_server`] for a connection, at [`peer`] for the conversation below it, at [`keeper`] for the
//! process, at [`protocol`] for Codex's words, at [`projection`] for what a host keeps of a turn, at [`rollout`] for
//! Codex's own record of it.
//!
//! | module | duty |
//! |---|---|
//! | `wire`, `transport` | bytes to frames to messages, over pipes or a unix socket; what cannot be read is an `Oddity` |
//! | `peer`, `app_server` | one JSON-RPC connection with bounded queues; typed calls after the handshake |
//! | `protocol` | Codex's words as types: lenient for what comes in, exact per version for what goes out |
//! | `thread`, `driver` | opening threads and driving them: one loop per connection performs what each state machine wants |
//! | `projection`, `rollout`, `replay` | a turn as chat messages: from the live stream, Codex's own files, or a wire log |
//! | `keeper` | the detached process that owns one app-server |
//! | `binary` | Codex versions: install, find, verify |
//! | `secrets` | what is secret, declared once, and the filter for all that is stored or shown |
//! | `schema` | every field that Ostler relies on, checked against the schema that each Codex writes |
//! | `folder_trust`, `config_layers`, `own_server` | which programs a folder or a configuration would start |
//! | `account`, `login` | who is logged in, limits, models, and whether the login has changed |
//! | `start_fault` | one table: which errors on the way to a running thread pass by themselves |
//! | `wire_log` | an optional record of all messages, without secrets |
//! | `bare_client` | a client that does nothing by itself, for tests of Codex's behavior |

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
