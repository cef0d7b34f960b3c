//! Settings: our `config.toml`, and other tools' settings into Codex's. Text in, text out.
//!
//! This room opens no file and reads no environment; whoever calls it brings the text and what surrounds it, and puts the
//! new text back. It knows nothing of what the settings are used for.
//!
//! Start reading at [`parse`], which gives a [`Config`] in which every setting has a value, or all that is wrong with the
//! file. The sections are in `settings`, each key with its default and its documentation in one place; [`guide`] is all of
//! that as data. [`edit`] changes a file without disturbing what a person wrote around it. [`migrate`] brings the MCP
//! servers of other programs into Codex's configuration.

mod checks;
mod config;
pub mod edit;
mod faults;
pub mod migrate;
mod nearest;
mod origin;
mod overrides;
mod problem;
mod read;
mod section;
pub mod settings;
mod shown;
mod source;
mod surroundings;
mod value;

pub use config::{Config, SectionGuide, guide};
pub use faults::toml_faults;
pub use nearest::nearest;
pub use origin::Origin;
pub use overrides::{OverrideError, parse_override};
pub use problem::Problem;
pub use read::{Reading, parse};
pub use section::Key;
pub use shown::Setting;
pub use surroundings::Surroundings;
pub use value::{
    Address, BranchPrefix, EnvironmentName, Headers, Invocation, LogFilter, Size, VariableName,
};
