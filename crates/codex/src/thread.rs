//! Threads: what they are opened with, and opening them.

pub mod failure;
pub mod open;
pub mod settings;
