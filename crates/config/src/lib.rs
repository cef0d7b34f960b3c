//! Settings: our `config.toml`. Text in, text out.
//!
//! This room opens no file and reads no environment; whoever calls it brings the text and puts the new text back.
//! It knows nothing of what the settings are used for.
//!
//! Start reading at [`parse`]; [`edit`] changes a file without disturbing what a person wrote around it.

pub mod edit;
mod read;
mod setting;
mod settings;

pub use read::{ConfigError, Reading, parse};
pub use setting::{OverrideError, parse_override};
pub use settings::{CodexSettings, Config};
