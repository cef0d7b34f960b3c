//! Where registered values come from: the login in a Codex home, and the variables that an app-server was given.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Secrets;
use super::names::{Secrecy, secrecy_of};
use crate::keeper::environment::{Given, looks_secret};
use crate::keeper::redact::SHORTEST_SECRET_BYTES;

/// Codex's file of a login below its home.
const LOGIN: &str = "auth.json";

/// A login has some KiB.
const MOST_BYTES: u64 = 1024 * 1024;

/// A look costs one call of the system. Text that grows asks for one at every piece.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Files with secrets that may change.
#[derive(Debug, Default)]
pub(super) struct Watched {
    files: Vec<(PathBuf, Option<Stamp>)>,
    looked: Option<Instant>,
}

/// By which a file that was written anew is known: inode, size, and time in seconds and nanoseconds.
type Stamp = (u64, u64, i64, i64);

impl Secrets {
    /// Registers the secret variables of this environment, and the login in the Codex home that it names.
    pub fn learn_environment(&self, variables: &[(OsString, OsString)]) {
        for (name, value) in variables {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
                && looks_secret(name)
                && let Some(secret) = secret_part(value)
            {
                self.add(secret);
            }
        }
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, value)| name == wanted && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let home = variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")));
        if let Some(home) = home {
            self.watch_login(&home);
        }
    }

    /// Registers all that is given, and what counts in its place.
    pub(crate) fn learn_given(&self, given: &Given, variables: &[(OsString, OsString)]) {
        let set = variables.iter().filter(|(name, _)| given.has(name));
        let set = set.filter_map(|(_, value)| value.to_str());
        given.iter().map(|(_, value)| value).chain(set).for_each(|value| self.add_given(value));
    }

    /// The parts of a value are said alone, too: the token without its scheme, one line of a key, the password of an address.
    fn add_given(&self, value: &str) {
        self.add(value);
        let scheme = value.split_once(' ').map(|(_, rest)| rest.trim());
        let lines = value.lines().map(str::trim).filter(|line| *line != value);
        let parts = lines.chain(scheme).chain(secret_part(value));
        for part in parts.filter(|part| part.len() >= SHORTEST_SECRET_BYTES) {
            self.add(part);
        }
    }

    /// Registers what this process was started with, where the system tells; of `secret`, whatever the names say.
    pub(crate) fn learn_process(&self, pid: i32, secret: &[String]) {
        let Ok(bytes) = fs::read(format!("/proc/{pid}/environ")) else { return };
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
            let at = memchr::memchr(b'=', pair)?;
            let (name, value) = (pair.get(..at)?, pair.get(at + 1..)?);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        });
        let pairs = pairs.collect::<Vec<_>>();
        let values =
            pairs.iter().filter(|(name, _)| secret.iter().any(|known| name == known.as_str()));
        values.filter_map(|(_, value)| value.to_str()).for_each(|value| self.add_given(value));
        self.learn_environment(&pairs);
    }

    /// Registers the tokens and keys of the login in a Codex home, now and whenever it changes.
    pub fn watch_login(&self, home: &Path) {
        let file = home.join(LOGIN);
        let mut watched = self.watched().lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.files.iter().any(|(known, _)| *known == file) {
            watched.files.push((file, None));
            watched.looked = None;
        }
        drop(watched);
        self.look_again(true);
    }

    /// Reads files again that have changed. Codex writes a new login when it has refreshed its tokens.
    pub fn look_again(&self, at_once: bool) {
        let mut watched = self.watched().lock().unwrap_or_else(PoisonError::into_inner);
        if watched.files.is_empty()
            || !at_once && watched.looked.is_some_and(|looked| looked.elapsed() < BETWEEN_LOOKS)
        {
            return;
        }
        watched.looked = Some(Instant::now());
        for (path, seen) in &mut watched.files {
            let Ok(metadata) = fs::metadata(&*path) else { continue };
            let stamp = (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec());
            if *seen == Some(stamp) || metadata.size() > MOST_BYTES {
                continue;
            }
            let Ok(login) = fs::read(&*path) else { continue };
            // One that is being written is read at the next look.
            if let Ok(login) = serde_json::from_slice::<Value>(&login) {
                self.add_named(&login, false);
                *seen = Some(stamp);
            }
        }
    }

    /// Every text that stands right under a secret name.
    fn add_named(&self, value: &Value, is_secret: bool) {
        match value {
            Value::String(text) if is_secret && text.len() >= SHORTEST_SECRET_BYTES => {
                self.add(text);
            }
            Value::Array(values) => values.iter().for_each(|it| self.add_named(it, is_secret)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.add_named(value, secrecy_of(name) != Secrecy::Open);
                }
            }
            _ => {}
        }
    }
}

/// What of a variable's value is secret: of an address only its password, of a path nothing.
fn secret_part(value: &str) -> Option<&str> {
    let secret = match value.split_once("://") {
        Some((_, rest)) => {
            let authority = rest.split(['/', '?', '#']).next()?;
            authority.rsplit_once('@')?.0.split_once(':')?.1
        }
        None if value.starts_with('/') => return None,
        None => value,
    };
    (secret.len() >= SHORTEST_SECRET_BYTES).then_some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(secrets: &Secrets, text: &str) -> bool {
        let mut found = Vec::new();
        secrets.find(text, &mut found);
        !found.is_empty()
    }

    #[test]
    fn what_is_given_is_registered_whatever_it_is_called_and_in_its_parts() {
        let given = [
            ("STABLE", "plain.canary"),
            ("HEADER", "Token scheme.canary"),
            ("KEY", "first.canary\nsecond.canary"),
            ("BARN", "postgres://me:address.canary@db/x"),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::default();
        let set = [("STABLE".into(), "set.canary".into()), ("EDITOR".into(), "an-editor".into())];
        secrets.learn_given(&Given::new(given), &set);
        let table = [
            ("plain.canary", true),
            ("set.canary", true),
            ("scheme.canary", true),
            ("second.canary", true),
            ("address.canary", true),
            ("an-editor", false),
            ("Token", false),
        ];
        assert_eq!(table.map(|(text, _)| (text, is_known(&secrets, text))), table);
    }

    #[test]
    fn a_login_and_secret_variables_are_registered_and_a_new_login_as_well() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(LOGIN);
        let login = r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":
            {"id_token":"id.canary.1","access_token":"access.canary","refresh_token":"refresh.canary",
             "account_id":"0a1b2c3d-account"},"last_refresh":"2026-11-18T00:00:00Z"}"#;
        fs::write(&file, login).unwrap();
        let secrets = Secrets::default();
        let variables = [
            ("CODEX_HOME", home.path().to_str().unwrap()),
            ("OPENAI_API_KEY", "plain words here"),
            ("HTTPS_PROXY", "http://me:longpassword@proxy:3128/x"),
            ("SSH_ASKPASS", "/usr/bin/askpass"),
            ("EDITOR", "ordinary-editor"),
        ];
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        secrets.learn_environment(&variables);
        let table = [
            ("id.canary.1", true),
            ("xaccess.canaryx", true),
            ("refresh.canary", true),
            ("plain words here", true),
            ("longpassword", true),
            ("0a1b2c3d-account", false),
            ("chatgpt", false),
            ("2026-11-18T00:00:00Z", false),
            ("http://me:", false),
            ("/usr/bin/askpass", false),
            ("ordinary-editor", false),
        ];
        assert_eq!(table.map(|(text, _)| (text, is_known(&secrets, text))), table);

        fs::write(&file, r#"{"tokens":{"access_token":"another.canary"}}"#).unwrap();
        secrets.look_again(true);
        assert!(is_known(&secrets, "another.canary") && is_known(&secrets, "access.canary"));
    }
}
