//! Texts, each in its own form: a path, a version, a point in time, a name.

use std::net::SocketAddr;
use std::path::PathBuf;

use jiff::Timestamp;
use semver::Version;
use toml::de::DeValue;

use super::{Node, Place, Value};
use crate::surroundings::NotAPlace;

/// A text as it stands in TOML.
pub(crate) fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

impl Value for String {
    fn form() -> String {
        "a text".to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        match found.get_ref() {
            DeValue::String(text) if text.trim().is_empty() => {
                place.advise(found, "is empty", "leave it out, or write something");
                None
            }
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => {
                place.mismatch(found);
                None
            }
        }
    }

    fn written(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl Value for PathBuf {
    fn form() -> String {
        "an absolute path, or one that starts with ~/".to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let DeValue::String(text) = found.get_ref() else {
            place.mismatch(found);
            return None;
        };
        match place.surroundings.expand(text) {
            Ok(path) => Some(path),
            Err(NotAPlace::Relative) => {
                place.mismatch(found);
                None
            }
            Err(NotAPlace::NoHome) => {
                place.advise(found, "has a ~, but HOME is not set", "write an absolute path");
                None
            }
        }
    }

    fn written(&self) -> Option<String> {
        self.to_str().map(quoted)
    }
}

impl Value for Version {
    fn form() -> String {
        r#"a version such as "0.130.0""#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        read_text::<Self>(found, place, |text| Version::parse(text).ok())
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Value for SocketAddr {
    fn form() -> String {
        r#"an address and a port such as "127.0.0.1:8137""#.to_owned()
    }

    /// A name could mean another machine tomorrow, so it is a number.
    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        read_text::<Self>(found, place, |text| text.parse().ok())
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Value for Timestamp {
    fn form() -> String {
        "a time with its zone such as 2030-01-31T18:00:00Z".to_owned()
    }

    /// TOML's own form of a time, without quotes. A time without a zone would be another moment on another machine.
    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::Datetime(time) => time.to_string().parse().ok(),
            _ => None,
        };
        if read.is_none() {
            place.mismatch(found);
        }
        read
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}

macro_rules! text_form {
    ($(#[doc = $about:literal])+ $name:ident, $form:literal, $check:ident) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

        }

        impl Value for $name {
            fn form() -> String {
                $form.to_owned()
            }

            fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
                read_text::<Self>(found, place, |text| {
                    $check(text).then(|| Self(text.to_owned()))
                })
            }

            fn written(&self) -> Option<String> {
                Some(quoted(&self.0))
            }
        }
    };
}

text_form! {
    /// What is logged: a level, or levels by part of the program, separated by commas.
    LogFilter, r#"a level such as "info", or levels by part such as "warn,ostler_codex=debug""#, is_log_filter
}

text_form! {
    /// The start of the names of branches.
    BranchPrefix, r#"the start of a branch name such as "ostler/""#, is_branch_prefix
}

text_form! {
    /// The name of a variable of the environment, in which `*` and `%` stand for others.
    VariableName, r#"the name of a variable such as "MY_PROVIDER_KEY""#, is_variable_name
}

text_form! {
    /// Where an API begins.
    Address, r#"an address such as "https://api.example.org/v1""#, is_address
}

text_form! {
    /// The name of exactly one variable of the environment.
    EnvironmentName, r#"the name of a variable such as "MY_PROVIDER_KEY""#, is_environment_name
}

impl Address {
    pub(crate) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl EnvironmentName {
    pub(crate) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl LogFilter {
    /// From the environment, where the reader of the log settles what is taken.
    pub(crate) fn trusted(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl BranchPrefix {
    pub(crate) fn usual() -> Self {
        Self("ostler/".to_owned())
    }
}

fn read_text<T: Value>(
    found: &Node<'_>,
    place: &mut Place<'_>,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let read = match found.get_ref() {
        DeValue::String(text) => read(text),
        _ => None,
    };
    if read.is_none() {
        place.mismatch(found);
    }
    read
}

fn is_log_filter(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let is_part = |name: &str| {
        let mut characters = name.chars();
        characters.all(|character| character.is_ascii_alphanumeric() || "_:-".contains(character))
            && !name.is_empty()
    };
    text.split(',').all(|directive| match directive.split_once('=') {
        Some((part, level)) => is_part(part) && LEVELS.contains(&level),
        None => LEVELS.contains(&directive),
    })
}

/// What git refuses in the name of a branch, as `git check-ref-format` tells it.
fn is_branch_prefix(text: &str) -> bool {
    let refused = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
    let parts_are_fine =
        text.split('/').all(|part| !part.starts_with('.') && !part.ends_with(".lock"));
    !text.starts_with(['-', '/'])
        && !text.contains("..")
        && !text.contains("//")
        && !text.contains("@{")
        && !text.contains(refused)
        && parts_are_fine
}

/// Our own variables never reach Codex, whatever is written: see docs/environment.md.
fn is_variable_name(text: &str) -> bool {
    let is_taken =
        |character: char| !character.is_control() && !character.is_whitespace() && character != '=';
    !text.is_empty()
        && text.chars().all(is_taken)
        && !text.to_ascii_uppercase().starts_with("OSTLER_")
}

/// A name or a number of a host behind the scheme; no login, because it would be a secret in the file.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty()
            && !host.contains('@')
            && !text.contains(|character: char| {
                character.is_control() || character.is_whitespace() || "?#".contains(character)
            })
    })
}

fn is_environment_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_text_are_told_apart() {
        assert!(
            ["info", "off", "warn,ostler_codex=debug", "a::b=trace"]
                .iter()
                .all(|t| is_log_filter(t))
        );
        assert!(
            !["", "loud", "a=loud", "=info", "info,", "a b=info"].iter().any(|t| is_log_filter(t))
        );
        assert!(["", "ostler/", "me-", "a/b/"].iter().all(|text| is_branch_prefix(text)));
        let wrong = ["-a", "/a", "a b", "a..", "a//b", "a~", ".a", "a/.b", "a@{", "x.lock/"];
        assert_eq!(wrong.map(is_branch_prefix), [false; 10]);
        assert!(["KEY", "AWS_*", "my.key"].iter().all(|text| is_variable_name(text)));
        assert!(
            !["", "A=B", "A B", "OSTLER_TOKEN", "ostler_x"].iter().any(|t| is_variable_name(t))
        );
    }

    #[test]
    fn addresses_and_variables_are_told_from_keys() {
        let fine = ["https://api.example.org/v1", "http://127.0.0.1:11434/v1", "http://[::1]:80"];
        assert_eq!(fine.map(is_address), [true; 3]);
        let wrong = [
            "",
            "api.example.org",
            "https://",
            "https://me:pw@host/",
            "ftp://a",
            "https://a b",
            "https://a?k=1",
        ];
        assert_eq!(wrong.map(is_address), [false; 7]);
        assert_eq!(["OPENAI_API_KEY", "_x1"].map(is_environment_name), [true; 2]);
        assert_eq!(["", "1A", "sk-proj-1", "A B", "A=B"].map(is_environment_name), [false; 5]);
    }

    #[test]
    fn quotes_are_those_of_toml() {
        assert_eq!(quoted("a"), "\"a\"");
        for text in ["say \"hi\"", "a\\b", "new\nline", "\u{1b}[2J", ""] {
            let table: toml::Table = toml::from_str(&format!("a = {}", quoted(text))).unwrap();
            assert_eq!(table.get("a").and_then(toml::Value::as_str), Some(text));
        }
    }
}
