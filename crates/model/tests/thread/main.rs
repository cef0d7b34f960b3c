//! The machine of a thread: each of its rules by itself, and all of them together under random interleavings.

mod asks;
mod connection;
mod inputs;
mod interleavings;
mod interrupts;
mod items;
mod liveness;
mod recall;
mod rig;
mod simulation;
mod turns;
