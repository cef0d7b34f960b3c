//! What every store must do, whatever database is behind it. `World` opens the one under test; all else is the same for each.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod asks;
mod audit;
mod layouts;
mod log;
mod notifications;
mod random;
mod rest;
mod samples;
mod sweep;
mod tasks;
mod turns;
mod world;
mod writing;
