//! What every store must do, whatever database is behind it. `World` opens the one under test; all else is the same for each.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;
mod tasks;
mod world;
