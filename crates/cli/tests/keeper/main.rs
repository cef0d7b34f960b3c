//! The keeper on real Codex: what may die, and what then.

mod canaries;
mod deaths;
mod failures;
mod groups;
mod life;
mod world;
