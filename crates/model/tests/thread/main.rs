//! The machine of a thread: each of its rules by itself, and all of them together under random interleavings.

mod interleavings;
mod simulation;
