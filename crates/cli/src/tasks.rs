//! What all commands for tasks share: the way to the daemon, words, tables, what a task came to.
//!
//! Start reading at [`Desk`]; `log` turns a task's events into what `ostler run` shows, `ending` into an exit code.

mod desk;
pub(crate) mod ending;
pub(crate) mod log;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod words;

pub(crate) use desk::{Desk, fresh_key, id, query};
