//! The fake model.
