//! A conversation with Codex, in our own words.

pub mod item;
