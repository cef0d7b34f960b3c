//! Codex's words: what `codex app-server` says and takes, as types.
//!
//! What comes in is read through *views*: only the fields we use, each optional, unknown words kept. A view is made
//! from raw JSON text that stays with the caller, because the raw line is what gets logged. A field of a type we do not
//! expect becomes `None` and never costs the rest of its message (see [`lenient`]).
//!
//! What goes out is plain structs, one per method, each a [`request::ClientRequest`]. [`versions`] holds, as one table,
//! which method and field a Codex version takes; [`request::prepare`] applies it.
//!
//! Start reading at [`notification`] for what Codex tells, [`server_request`] for what it asks, [`ask`] for how its
//! questions become ours.

pub mod approval_policy;
pub mod ask;
pub mod config_overrides;
pub mod error;
pub mod form;
pub mod goal;
pub mod item;
pub mod json;
pub mod legacy;
pub(crate) mod lenient;
pub mod limits;
pub mod notification;
pub mod permission;
pub mod reply;
pub mod request;
pub mod server_request;
pub mod settings;
pub mod thread;
pub mod turn;
pub mod user_input;
pub mod versions;
pub mod words;

#[cfg(test)]
mod properties;

pub use item::{Item, ItemBody};
pub use json::Json;
pub use notification::{Notification, parse_notification};
pub use request::{ClientRequest, prepare, read_reply};
pub use server_request::{ServerRequest, parse_server_request};
pub use versions::CodexVersion;
