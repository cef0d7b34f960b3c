//! The daemon: its life, who may call it, and its service manager. Real processes, real Codex where a keeper is needed.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod callers;
mod life;
mod lost_database;
mod places;
mod service;
mod serving;
mod skew;
mod street;
#[path = "../keeper/world.rs"]
#[expect(dead_code, unused_imports, reason = "the keepers' tests use the rest of it")]
mod world;
