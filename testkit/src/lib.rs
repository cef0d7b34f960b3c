//! Fixtures.
pub mod reader;
