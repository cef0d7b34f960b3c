//! What is true.
