//! The fake model: a server on loopback that plays a script, on the Responses API or on Chat Completions.
//!
//! Real `codex app-server` runs against it, so the demo and the tests need neither an account nor a network.
//! It knows these APIs and what Codex sends to it; it must never know tasks, the store, or Codex's
//! app-server protocol, and it never listens anywhere but on 127.0.0.1.
//!
//! Start reading at [`Script`], then `conversation.rs` (which answer plays), `events.rs` (what an answer
//! looks like on the wire), `player.rs` (when it is sent and where it breaks), and last `server.rs`.
//! The script format for people is in `SCRIPT.md` beside this crate's manifest.

mod script;

mod fault;

mod incoming;

mod conversation;

mod sse;

mod events;

mod chat;

mod flood;

mod player;

mod refusal;

mod records;

mod socket;

mod door;

mod playing;

mod server;

mod codex_config;

pub use codex_config::ProviderLimits;
pub use conversation::Played;
pub use door::DoorError;
pub use fault::{Cut, Fault, FirstFrame, Malformed};
pub use records::{Outcome, RequestRecord, WaitError};
pub use script::{
    Answer, Call, Conversation, KeepAlive, Pace, Payload, Phase, Plays, Script, ScriptError, Usage,
};
pub use server::{ScriptedModel, StartError};
