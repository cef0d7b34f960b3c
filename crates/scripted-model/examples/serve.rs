//! Plays a script to a Codex of your own choosing, until it is ended:
//!
//! ```sh
//! cargo run -p ostler-scripted-model --example serve -- script.toml /some/codex-home
//! CODEX_HOME=/some/codex-home ostler run "…"
//! ```
//!
//! Writes the `config.toml` of that home, and refuses to replace one that is there and is not its own.
#![expect(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use ostler_scripted_model::{ProviderLimits, Script, ScriptedModel};

const MARK: &str = "# Written by the scripted model.\n";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(script), Some(home)) = (arguments.next(), arguments.next()) else {
        return Err("give a script and a folder for CODEX_HOME".into());
    };
    let model = ScriptedModel::start(Script::parse(&fs::read_to_string(script)?)?)?;
    fs::create_dir_all(&home)?;
    let config = home.join("config.toml");
    if fs::read_to_string(&config).is_ok_and(|text| !text.starts_with(MARK)) {
        return Err(format!("{} is not ours; choose another folder", config.display()).into());
    }
    let limits = ProviderLimits {
        request_max_retries: 1,
        stream_max_retries: 1,
        ..ProviderLimits::default()
    };
    fs::write(&config, format!("{MARK}{}", model.codex_config(&limits)))?;
    println!("{} serves; CODEX_HOME={}", model.base_url(), home.display());
    std::future::pending().await
}
