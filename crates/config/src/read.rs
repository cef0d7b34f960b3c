//! From text to settings.

use thiserror::Error;
use toml::Table;

use crate::settings::Config;

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub config: Config,
    /// Keys that mean nothing to us, dotted: most likely misspelt, or for a newer version.
    pub unknown_keys: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct ConfigError {
    pub line: usize,
    pub message: String,
}

/// Reads the file. An unknown key is no error: an older program must be able to read a newer file.
pub fn parse(text: &str) -> Result<Reading, ConfigError> {
    let failed = |error: toml::de::Error| ConfigError {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    };
    let given: Table = toml::from_str(text).map_err(failed)?;
    let config: Config = toml::from_str(text).map_err(failed)?;
    // What was understood is what is written back; so there is no second list of keys that could fall behind.
    let understood = Table::try_from(&config).unwrap_or_default();
    let mut unknown_keys = Vec::new();
    collect_unknown(&given, &understood, "", &mut unknown_keys);
    Ok(Reading { config, unknown_keys })
}

/// The line, counted from 1, that a byte offset lies in.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    1 + before.filter(|byte| *byte == b'\n').count()
}

fn collect_unknown(given: &Table, understood: &Table, prefix: &str, unknown: &mut Vec<String>) {
    for (key, value) in given {
        let name = format!("{prefix}{key}");
        match (value.as_table(), understood.get(key)) {
            (_, None) => unknown.push(name),
            (Some(inner), Some(known)) => {
                if let Some(known) = known.as_table() {
                    collect_unknown(inner, known, &format!("{name}."), unknown);
                }
            }
            (None, Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use semver::Version;

    use super::*;
    use crate::settings::CodexSettings;

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(parse(""), Ok(Reading::default()));
        assert_eq!(parse("[codex]\n"), Ok(Reading::default()));
    }

    #[test]
    fn settings_are_read_and_unknown_keys_are_named() {
        let text = "colour = 1\n[codex]\npath = '~/bin/codex'\nversion = '0.130.0'\nverison = ''\n\
                    [later]\nthing.inner = true\n";
        let config = Config {
            codex: CodexSettings {
                path: Some(PathBuf::from("~/bin/codex")),
                version: Some(Version::new(0, 130, 0)),
            },
        };
        let expanded = config.codex.expanded_path(Some(Path::new("/home/me")));
        assert_eq!(expanded, Some(PathBuf::from("/home/me/bin/codex")));
        let unknown_keys = ["codex.verison", "colour", "later"].map(str::to_owned);
        assert_eq!(parse(text), Ok(Reading { config, unknown_keys: unknown_keys.to_vec() }));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (text, line, message) in [
            ("[codex]\npath = \n", 2, "string values must be quoted, expected literal string"),
            ("\n\n[codex]\nversion = 3\n", 4, "invalid type: integer `3`, expected semver version"),
            (
                "[codex]\nversion = '0.130'\n",
                2,
                "unexpected end of input while parsing minor version number",
            ),
            (
                "[codex]\n\npath = 'bin/codex'\n",
                3,
                "\"bin/codex\" is relative; write an absolute path, or one that starts with ~/",
            ),
        ] {
            let message = message.to_owned();
            assert_eq!(parse(text), Err(ConfigError { line, message }), "{text:?}");
        }
    }
}
