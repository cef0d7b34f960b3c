//! The environment as data: what children are given, and where executables are looked up.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::keeper::environment::{EnvironmentRule, codex_environment};
use crate::keeper::{KeeperId, MARK};

/// The variables that `npm` and `codex` are started with. Only the door that reads the real one makes this.
#[derive(Clone, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    #[must_use]
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect() }
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// The first executable file of this name on `PATH`. Relative entries are skipped: what runs must not depend on
    /// the folder somebody happens to stand in.
    #[must_use]
    pub fn find_executable(&self, name: &str) -> Option<PathBuf> {
        env::split_paths(self.get("PATH")?)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|candidate| is_executable_file(candidate))
    }

    /// What a Codex that is only asked something may see: the same as below a keeper, but without a keeper's mark.
    #[must_use]
    pub fn for_codex(&self, codex_home: Option<PathBuf>) -> Vec<(OsString, OsString)> {
        let rule = EnvironmentRule { codex_home, ..EnvironmentRule::default() };
        let Some(nobody) = KeeperId::parse("00000000") else {
            return Vec::new();
        };
        let mut built = codex_environment(&self.variables, &rule, &nobody).variables;
        built.retain(|(name, _)| name != MARK);
        built
    }

    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

/// The values may be secrets, so only the names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

pub(crate) fn is_executable_file(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_executable_in_an_absolute_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, real) = (folder.path().join("plain"), folder.path().join("real"));
        for (place, mode) in [(&plain, 0o644), (&real, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("codex"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(place.join("codex"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = env::join_paths([Path::new("."), Path::new("relative"), &plain, &real]).unwrap();
        let environment = Environment::default().with("PATH", path);
        assert_eq!(environment.find_executable("codex"), Some(real.join("codex")));
        assert_eq!(environment.find_executable("npm"), None);
        assert_eq!(Environment::default().find_executable("codex"), None);
    }

    #[test]
    fn codex_sees_what_it_sees_below_a_keeper_without_the_mark() {
        let environment = Environment::default()
            .with("PATH", "/bin")
            .with("GH_TOKEN", "ghp_x")
            .with(MARK, "0123abcd")
            .with("CODEX_HOME", "/old");
        let expected = [("PATH", "/bin"), ("CODEX_HOME", "/new"), ("RUST_LOG", "warn")];
        let expected = expected.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        assert_eq!(environment.for_codex(Some("/new".into())), expected);
    }

    #[test]
    fn values_stay_out_of_debug_output() {
        let environment = Environment::default().with("OPENAI_API_KEY", "sk-secret");
        assert_eq!(format!("{environment:?}"), r#"{"OPENAI_API_KEY"}"#);
    }
}
