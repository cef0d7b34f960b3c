//! Threads: what they are opened with, and the handle by which one is used.
//!
//! Start reading at [`Thread`]; [`settings`] is what a thread is opened with, [`open`] is how, [`ThreadUpdate`] is what it
//! tells. What makes it work is the [`driver`](crate::driver).

pub mod failure;
mod handle;
mod handlers;
mod input;
pub mod item;
pub mod open;
mod recalled;
pub mod settings;
mod update;
mod wire_line;

pub use handle::{SendTicket, Thread};
pub use handlers::{Decided, Decider, ThreadHandlers, ToolHandler, ToolReply};
pub use input::{InputError, TurnContent, TurnInput};
pub use ostler_model::thread::{InputState, RecalledPast, RecalledTurn};
pub use recalled::{Recalled, RecalledAgent, RecalledInput};
pub use update::{Agent, Notice, ThreadUpdate, ThreadUpdates, Told, TurnOutcome};
pub use wire_line::WireLine;
