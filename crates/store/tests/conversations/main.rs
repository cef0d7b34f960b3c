//! What the conversations must do, whatever database is behind them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod faults;
mod holding;
mod layouts;
mod messages;
mod notes;
mod removing;
mod searching;
mod turns;
mod world;
