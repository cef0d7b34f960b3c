//! Does this Codex still speak the protocol we rely on?
//!
//! [`reliance`] lists, as data, every field we send or read. [`check::check`] holds that list against the schema a
//! Codex binary writes of itself ([`generate::generate`]), and names each difference that would hurt us. Codex ignores
//! fields it does not know and we survive fields we do not know, so without this check a change would go unseen.

pub mod bundle;
pub mod check;
pub mod drift;
pub mod generate;
mod node;
pub mod reliance;

pub use bundle::{Bundle, BundleError};
pub use check::check;
pub use drift::{Change, Drift};
pub use generate::{GenerateError, generate};
