//! Two config files: ours, and Codex's as Codex itself reads it.

use std::path::{Path, PathBuf};

use ostler_codex::config_layers::Layer;
use ostler_codex::protocol::notification::views::ConfigWarning;
use ostler_config::{Config, Reading, Surroundings, parse};

use super::check::{Check, Name};
use crate::settings::{describe, read};

/// Our own file.
pub(super) struct OwnConfig {
    pub(super) place: PathBuf,
    /// `None`: there is no file, which means the defaults.
    pub(super) reading: Option<Result<Reading, String>>,
    defaults: Option<Reading>,
}

/// Codex's file, as seen through an app-server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodexConfig {
    /// What came of `config/read`.
    pub(super) read: Result<Vec<Layer>, String>,
    pub(super) warnings: Vec<ConfigWarning>,
}

impl CodexConfig {
    /// The same with all that Codex said in other words.
    pub(super) fn with_words(self, other: impl Fn(&str) -> String) -> Self {
        let warnings = self.warnings.into_iter().map(|warning| ConfigWarning {
            summary: other(&warning.summary),
            details: warning.details.as_deref().map(&other),
            ..warning
        });
        Self { read: self.read.map_err(|words| other(&words)), warnings: warnings.collect() }
    }
}

impl OwnConfig {
    pub(super) fn gather(place: PathBuf, surroundings: &Surroundings) -> Self {
        let reading = match read(&place) {
            Ok(Some(text)) => {
                let reading = parse(&text, surroundings);
                Some(reading.map_err(|problems| describe(&place, &problems)))
            }
            Ok(None) => None,
            Err(error) => Some(Err(format!("{}: {error}", place.display()))),
        };
        let defaults = parse("", surroundings).ok();
        Self { place, reading, defaults }
    }

    /// What holds: the file's settings, or the defaults where there is none that can be used.
    pub(super) fn config(&self) -> Option<&Config> {
        let file = self.reading.as_ref().and_then(|reading| reading.as_ref().ok());
        file.or(self.defaults.as_ref()).map(|reading| &reading.config)
    }
}

pub(super) fn judge_own(config: &OwnConfig) -> Check {
    let place = config.place.display();
    match &config.reading {
        None => Check::ok(Name::Config, format!("{place} is not there, so the defaults hold")),
        Some(Ok(_)) => Check::ok(Name::Config, place.to_string()),
        // Other commands refuse to work with it; a doctor looks at the rest all the same.
        Some(Err(why)) => Check::problem(Name::Config, why)
            .advise("correct the file; until then the checks here use the defaults"),
    }
}

/// Codex starts with a broken file as if it were empty, and then refuses every thread; what it warns of at the start
/// names the line, what `config/read` answers often does not.
pub(super) fn judge_codex(config: &CodexConfig, home: Option<&Path>, faults: &[String]) -> Check {
    judge_words(config, home).with_details(faults.to_vec())
}

fn judge_words(config: &CodexConfig, home: Option<&Path>) -> Check {
    let place = home.map_or_else(
        || "config.toml".to_owned(),
        |home| home.join("config.toml").display().to_string(),
    );
    let invalid = config.warnings.iter().find(|warning| is_invalid(warning));
    if let Some(warning) = invalid {
        let reason = warning.details.as_deref().unwrap_or(&warning.summary);
        return invalid_file(&place, reason);
    }
    if let Err(error) = &config.read {
        return invalid_file(&place, error);
    }
    let others: Vec<String> = config
        .warnings
        .iter()
        .filter(|warning| !is_about_sandbox(warning))
        .map(|warning| match &warning.details {
            Some(details) => format!("{} {details}", warning.summary),
            None => warning.summary.clone(),
        })
        .collect();
    if others.is_empty() {
        return Check::ok(Name::CodexConfig, "Codex reads its configuration without complaint");
    }
    Check::warning(Name::CodexConfig, others.join("; ")).advise(format!("look at {place}"))
}

/// The same without a Codex that could be asked.
pub(super) fn judge_alone(faults: &[String]) -> Check {
    let found = "config.toml is no valid TOML";
    Check::problem(Name::CodexConfig, found)
        .with_details(faults.to_vec())
        .advise("correct the file: with it Codex refuses every task")
}

fn invalid_file(place: &str, reason: &str) -> Check {
    let found =
        if reason.contains(place) { reason.to_owned() } else { format!("{place}: {reason}") };
    Check::problem(Name::CodexConfig, found)
        .advise("correct the file: with it Codex starts but refuses every task")
}

/// The words of Codex 0.130 to 0.166; test: `a_broken_codex_config_is_named_with_its_line`.
fn is_invalid(warning: &ConfigWarning) -> bool {
    warning.summary.starts_with("Invalid configuration")
}

/// That Codex found no bubblewrap on PATH says little: its own may work. The sandbox is tried for real instead.
fn is_about_sandbox(warning: &ConfigWarning) -> bool {
    warning.summary.contains("bubblewrap")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(summary: &str, details: Option<&str>) -> ConfigWarning {
        ConfigWarning {
            summary: summary.to_owned(),
            details: details.map(str::to_owned),
            path: None,
        }
    }

    fn codex(read: Result<(), &str>, warnings: &[ConfigWarning]) -> Check {
        let read = read.map(|()| Vec::new()).map_err(str::to_owned);
        let config = CodexConfig { read, warnings: warnings.to_vec() };
        judge_codex(&config, Some(Path::new("/h")), &[])
    }

    #[test]
    fn codex_s_own_words_decide_about_its_file() {
        let advice = "correct the file: with it Codex starts but refuses every task";
        let problem = |found: &str| Check::problem(Name::CodexConfig, found).advise(advice);
        let fine = Check::ok(Name::CodexConfig, "Codex reads its configuration without complaint");
        let invalid = "Invalid configuration; using defaults.";
        let bubblewrap = warning("Codex could not find bubblewrap on PATH.", None);

        assert_eq!(codex(Ok(()), &[]), fine);
        assert_eq!(codex(Ok(()), std::slice::from_ref(&bubblewrap)), fine);
        assert_eq!(
            codex(
                Err("invalid type"),
                &[bubblewrap, warning(invalid, Some("/h/config.toml:2:6: unclosed table"))]
            ),
            problem("/h/config.toml:2:6: unclosed table")
        );
        assert_eq!(
            codex(Ok(()), &[warning(invalid, Some("Model provider `nope` not found"))]),
            problem("/h/config.toml: Model provider `nope` not found")
        );
        assert_eq!(codex(Err("no layers"), &[]), problem("/h/config.toml: no layers"));
        assert_eq!(
            codex(Ok(()), &[warning("Codex is ignoring 1 setting.\n  `foo` is ignored.", None)]),
            Check::warning(Name::CodexConfig, "Codex is ignoring 1 setting.\n  `foo` is ignored.")
                .advise("look at /h/config.toml")
        );
    }

    #[test]
    fn our_own_file_is_judged_by_our_own_reader() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("config.toml");
        let judged = || {
            let mut check = judge_own(&OwnConfig::gather(place.clone(), &Surroundings::usual()));
            check.found = check.found.replace(&place.display().to_string(), "FILE");
            (check.state, check.found)
        };
        use super::super::check::State;
        let expect = |state, found: &str| (state, found.to_owned());

        assert_eq!(judged(), expect(State::Ok, "FILE is not there, so the defaults hold"));
        for (text, expected) in [
            ("[codex]\n", expect(State::Ok, "FILE")),
            (
                "\n[codex]\nversion = 3\n",
                expect(
                    State::Problem,
                    "FILE: line 3: codex.version must be a version such as \"0.130.0\", not the number 3",
                ),
            ),
            (
                "[codex]\nverison = \"\"\n[task]\n",
                expect(
                    State::Problem,
                    "FILE has 2 problems:\n  line 2: codex.verison is unknown; did you mean version?\n  \
                     line 3: task is unknown; did you mean [tasks]?",
                ),
            ),
        ] {
            std::fs::write(&place, text).unwrap();
            assert_eq!(judged(), expected);
        }
    }
}
