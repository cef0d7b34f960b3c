//! What happens, as it happens, to whoever looks.
//!
//! A viewer is first told how things stand, then what is written, then what comes. What is the same for all viewers is read and
//! written out once, by a relay, and handed to each: [`relay`] for one task, [`board`] for all of them. The logs of all tasks, which few
//! want, each reads for itself ([`log`]). Whoever is too slow for
//! that falls back to how things stand; nothing piles up for it.

mod board;
mod frame;
mod growth;
mod log;
mod relay;
mod shelf;
mod task;
mod viewers;

pub(crate) use board::Board;
pub(crate) use frame::{Frame, Manner, answer};
pub(crate) use log::all_logs;
pub(crate) use relay::Relays;
pub(crate) use task::{GoesOn, Told, Wanted};
pub use viewers::Viewer;
pub(crate) use viewers::Viewers;
