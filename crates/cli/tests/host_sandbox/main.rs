//! What the walls around the host agent's commands hold, tried with real commands below the real `ostler sandbox-exec`: by
//! Landlock, and by the bubblewrap that Codex brings along.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod ends;
mod output;
mod place;
mod walls;
