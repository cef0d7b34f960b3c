//! The machine of a task: each of its rules by itself, and all of them together in random histories.
#![expect(clippy::panic, reason = "a test fails by panicking")]

mod budgets;
mod crashes;
mod goals;
mod histories;
mod inputs;
mod interrupts;
mod limits;
mod loading;
mod missing;
mod rig;
mod waits;
mod world;
