//! The tools that reach out, against servers on loopback. The browser's are in `crates/cli/tests/browser_tools`, where the supervisor
//! is that stands above it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod extract;
mod media;
mod redirects;
mod search;
mod server;
mod set;
mod table;
