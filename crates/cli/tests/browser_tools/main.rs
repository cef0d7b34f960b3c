//! The agent's browser on real Chromium, below the real `ostler sandbox-exec`, on pages served on loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod acting;
mod ends;
mod guarded;
mod inn;
mod looking;
