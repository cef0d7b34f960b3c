//! Other programs' MCP servers into Codex's configuration. Text in, text out.
//!
//! Start reading at [`read_source`]: a YAML or JSON file of another program becomes a list of [`Declared`] servers.
//! [`translate`] makes Codex's table of each, and says of every key what became of it. [`write_block`] puts tables into a
//! `config.toml` without touching a byte of what a person wrote, [`take_out`] is its inverse. [`Overlay`] is the same for
//! those who leave that file alone: what is given to Codex with each thread.
//!
//! No secret leaves this module in a table or a note: what looks like one becomes the name of an environment variable. Its value is
//! given apart ([`Translation::secrets`]), for whoever stores it.

mod block;
mod declared;
mod dialects;
mod jsonc;
mod launch;
mod layout;
mod markers;
mod overlay;
mod pieces;
mod profiles;
mod removal;
mod secret;
mod source;
mod standing;
mod translate;

pub use block::{BlockError, Entry, Written, permissions_entry, write_block};
pub use declared::Declared;
pub use overlay::Overlay;
pub use profiles::{BadProfile, check_profile};
pub use removal::{TakenOut, has_block, take_out};
pub use source::{Source, SourceError, read_source};
pub use standing::{Standing, standing};
pub use translate::{InUse, KeyNote, Refusal, SecretValue, Translation, Variable, translate};

/// The name under which our own tools are registered.
pub const OWN_SERVER: &str = "ostler-tools";
