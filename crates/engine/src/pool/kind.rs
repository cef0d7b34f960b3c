//! What two tasks must have in common to share an app-server.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ostler_codex::keeper::environment::{EnvironmentRule, Given, codex_environment};
use ostler_codex::keeper::{KeeperId, MARK};
use ostler_codex::login::Login;
use ostler_codex::protocol::CodexVersion;
use ostler_model::TaskId;
use sha2::{Digest, Sha256};

/// The first word of what our keepers are for; the digest of their kind follows.
const PURPOSE: &str = "tasks";

/// Before the digest of the login that the app-server was started with.
const LOGIN: &str = "login";

/// Before the only task that a keeper is for.
const ONLY_FOR: &str = "for";

/// How the daemon was started, and nothing that Codex works with: a daemon that was started anew elsewhere goes on with the
/// app-servers of the last one.
const OF_THE_SHELL: [&str; 6] = ["_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(super) codex: PathBuf,
    pub(crate) version: CodexVersion,
    /// As it was given; without it Codex's own rule holds.
    pub(super) given_home: Option<PathBuf>,
    /// The same home always has the same name here.
    pub(crate) home: PathBuf,
    /// As it is on disk; an app-server keeps the one that it has read.
    pub(crate) login: Login,
    /// Secrets for MCP servers.
    pub(super) given: Given,
    /// Of all this, and of what Codex sees of the environment.
    pub(super) digest: String,
}

impl Kind {
    pub(super) fn new(
        codex: PathBuf,
        version: CodexVersion,
        given_home: Option<PathBuf>,
        environment: &[(OsString, OsString)],
        keep: &[String],
        given: Given,
    ) -> Self {
        let home = canonical(&named_home(given_home.as_deref(), environment));
        let rule = EnvironmentRule {
            keep: keep.to_vec(),
            given: given.clone(),
            ..EnvironmentRule::default()
        };
        let mut seen = match KeeperId::parse("00000000") {
            Some(nobody) => codex_environment(environment, &rule, &nobody).variables,
            None => Vec::new(),
        };
        seen.retain(|(name, _)| {
            name != MARK && name != "CODEX_HOME" && !OF_THE_SHELL.iter().any(|shell| name == shell)
        });
        seen.sort();
        let mut hash = Sha256::new();
        let mut add = |part: &OsStr| {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_encoded_bytes());
        };
        add(OsStr::new(&version.to_string()));
        add(home.as_os_str());
        let login = Login::read(&home);
        add(OsStr::new(&login.identity));
        for (name, value) in &seen {
            add(name);
            add(value);
        }
        let digest = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { codex, version, given_home, home, login, given, digest }
    }
}

/// What a keeper says that it is for, so that the next daemon knows its own again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Purpose {
    pub(super) digest: String,
    /// That of the app-server, which keeps the one that it has read; unknown if an older Ostler started it.
    pub(super) login: Option<String>,
    pub(super) isolated_for: Option<TaskId>,
}

impl Purpose {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (first, digest) = (words.next()?, words.next()?);
        let mut purpose = Self { digest: digest.to_owned(), login: None, isolated_for: None };
        while let Some(name) = words.next() {
            let value = words.next()?;
            match name {
                LOGIN => purpose.login = Some(value.to_owned()),
                ONLY_FOR => purpose.isolated_for = Some(TaskId::new(value)),
                _ => return None,
            }
        }
        (first == PURPOSE).then_some(purpose)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{PURPOSE} {}", self.digest);
        if let Some(login) = &self.login {
            text += &format!(" {LOGIN} {login}");
        }
        if let Some(task) = &self.isolated_for {
            text += &format!(" {ONLY_FOR} {task}");
        }
        text
    }
}

/// The home by Codex's own rule.
pub(super) fn named_home(given: Option<&Path>, environment: &[(OsString, OsString)]) -> PathBuf {
    let variable = |wanted: &str| {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
    };
    let given = given.map(Path::to_owned).or_else(|| variable("CODEX_HOME"));
    given.unwrap_or_else(|| variable("HOME").unwrap_or_default().join(".codex"))
}

/// One name for one folder, however many links lead to it. A folder that is not there yet has the name it was given.
pub(super) fn canonical(home: &Path) -> PathBuf {
    home.canonicalize().unwrap_or_else(|_| home.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(home: Option<&Path>, environment: &[(&str, &str)], keep: &[&str]) -> Kind {
        let environment: Vec<(OsString, OsString)> =
            environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        let version = CodexVersion::parse("0.166.0").unwrap();
        let (home, given) = (home.map(Path::to_owned), Given::default());
        Kind::new("/codex".into(), version, home, &environment, &keep, given)
    }

    #[test]
    fn a_home_is_the_same_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("home/.codex");
        std::fs::create_dir_all(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let user = folder.path().join("home");
        let user = [("HOME", user.to_str().unwrap())];

        let named = kind(Some(&real), &user, &[]);
        let linked = kind(Some(&link), &user, &[]);
        let by_default = kind(None, &user, &[]);
        let by_variable = kind(None, &[user[0], ("CODEX_HOME", link.to_str().unwrap())], &[]);

        let all = [&named, &linked, &by_default, &by_variable];
        assert_eq!(all.map(|kind| &kind.home), [&real.canonicalize().unwrap(); 4]);
        assert_eq!(all.map(|kind| &kind.digest), [&named.digest; 4]);
    }

    #[test]
    fn what_codex_sees_makes_a_difference_and_nothing_else_does() {
        let base = kind(None, &[("HOME", "/h"), ("PATH", "/bin")], &[]);
        let order = kind(None, &[("PATH", "/bin"), ("HOME", "/h"), ("SHLVL", "3")], &[]);
        let unseen = kind(None, &[("HOME", "/h"), ("PATH", "/bin"), ("GH_TOKEN", "x")], &[]);
        let seen =
            kind(None, &[("HOME", "/h"), ("PATH", "/bin"), ("GH_TOKEN", "x")], &["GH_TOKEN"]);
        let path = kind(None, &[("HOME", "/h"), ("PATH", "/usr/bin")], &[]);

        assert_eq!([&order.digest, &unseen.digest], [&base.digest; 2]);
        assert_ne!(seen.digest, base.digest);
        assert_ne!(path.digest, base.digest);
    }

    #[test]
    fn a_keeper_s_purpose_is_read_back() {
        let digest = "0123456789abcdef".to_owned();
        let shared = Purpose { digest, login: None, isolated_for: None };
        let only = Purpose { isolated_for: Some(TaskId::new("a1b2")), ..shared.clone() };
        let logged_in = Purpose { login: Some("c3d4".to_owned()), ..shared.clone() };
        let both = Purpose { login: logged_in.login.clone(), ..only.clone() };
        for purpose in [shared, only, logged_in, both] {
            assert_eq!(Purpose::parse(&purpose.text()), Some(purpose));
        }
        for other in ["run", "tasks", "tasks d by a", "tasks d for a b", "tasks d login", "tasksd"]
        {
            assert_eq!(Purpose::parse(other), None, "{other}");
        }
    }
}
