//! The machine that is looked at.

use std::ffi::OsString;
use std::path::PathBuf;

use ostler_codex::binary::Environment;
use ostler_codex::keeper::redact;

use super::check::{Check, Fix, Report};
use super::config::OwnConfig;
use crate::failure::Failure;
use crate::places::{self, Places};

/// The machine, as far as it is known without looking.
#[derive(Clone)]
pub(super) struct Patient {
    pub(super) places: Places,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) environment: Environment,
    pub(super) home: Option<PathBuf>,
    /// What `CODEX_HOME` says, made absolute because Codex runs in another folder than we do; or else what our config says.
    pub(super) named_codex_home: Option<PathBuf>,
    /// Which of the two.
    pub(super) home_named_by: &'static str,
}

impl Patient {
    pub(super) fn find() -> Result<Self, Failure> {
        let variables = places::environment();
        let environment = Environment::new(variables.clone());
        let folder = |name: &str| {
            let value = environment.get(name).filter(|value| !value.is_empty());
            value.and_then(|value| std::path::absolute(value).ok())
        };
        Ok(Self {
            places: Places::find()?,
            home: folder("HOME"),
            named_codex_home: folder("CODEX_HOME"),
            home_named_by: "CODEX_HOME",
            environment,
            variables,
        })
    }

    /// The same as our config file wants it.
    pub(super) fn settled(&self, own: &OwnConfig) -> Self {
        let mut patient = self.clone();
        if let (None, Some(Ok(reading))) = (&self.named_codex_home, &own.reading) {
            patient.named_codex_home = reading.config.codex.home.clone();
            patient.home_named_by = "codex.home in our config file";
        }
        patient
    }

    pub(super) fn codex_home(&self) -> Option<PathBuf> {
        let default = || self.home.as_ref().map(|home| home.join(".codex"));
        self.named_codex_home.clone().or_else(default)
    }

    /// Codex's words may quote a config file: no secret of the environment or of a known form leaves this door.
    pub(super) fn shown(&self, text: &str) -> String {
        let text = redact(text, &self.variables);
        let home = self.home.as_ref().map(|home| format!("{}/", home.display()));
        match home.filter(|home| home != "//") {
            Some(home) => text.replace(home.as_str(), "~/"),
            None => text,
        }
    }

    pub(super) fn report(&self, checks: Vec<Check>, fixes: Vec<Fix>) -> Report {
        let checks = checks.into_iter().map(|check| check.with_words(|text| self.shown(text)));
        let fixes = fixes.into_iter().map(|fix| fix.with_words(|text| self.shown(text)));
        Report::new(checks.collect(), fixes.collect())
    }
}
