//! Command lines: read as a real shell reads them, or not at all.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cases;
mod shells;
mod suspicion;
