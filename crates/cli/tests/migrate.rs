//! `ostler migrate` on files, with real Codex as the judge of what is written.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "migrate/corpus.rs"]
mod corpus;
#[path = "migrate/faults.rs"]
mod faults;
#[path = "migrate/kills.rs"]
mod kills;
#[path = "migrate/plugins.rs"]
mod plugins;
#[path = "migrate/profiles.rs"]
mod profiles;
#[path = "migrate/told.rs"]
mod told;
#[path = "migrate/world.rs"]
mod world;
