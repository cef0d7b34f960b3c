//! Codex's `config.toml`, read by ourselves: Codex stops at the first fault, and does not say where the other one of two is.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_config::toml_faults;

/// Far beyond any file that a person wrote; what is longer is left to Codex.
const MOST_BYTES: u64 = 4 << 20;

/// Everything in it that is no TOML, or is there twice, with its line.
pub(super) fn faults(home: Option<&Path>) -> Vec<String> {
    let Some(file) = home.map(file_in) else { return Vec::new() };
    // A pipe would hold us up; Codex, which has a deadline, says what it is.
    let is_usual = fs::metadata(&file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let Ok(bytes) = (if is_usual { fs::read(&file) } else { return Vec::new() }) else {
        return Vec::new();
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => toml_faults(text).iter().map(ToString::to_string).collect(),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            vec![format!("line {line}: not UTF-8; save the file as UTF-8")]
        }
    }
}

pub(super) fn file_in(home: &Path) -> PathBuf {
    home.join("config.toml")
}
