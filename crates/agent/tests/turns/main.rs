//! Turns of the agent, with a model and a daemon that do what the test wants. What real ones do is tested in `tests/chat`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod after;
mod codex;
mod cuts;
mod meanwhile;
mod own;
mod world;
