//! The keeper on real Codex: what may die, and what then.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what is wrong by failing"
)]

mod canaries;
mod deaths;
mod drains;
mod failures;
mod groups;
mod life;
mod managers;
mod namespaces;
mod world;
