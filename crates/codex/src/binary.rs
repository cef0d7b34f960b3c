//! binary
