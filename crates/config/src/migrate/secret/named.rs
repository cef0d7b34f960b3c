//! What the name of a value says about it.

/// Words in names that stand for a secret.
const SECRET_WORDS: [&str; 26] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "apikey",
    "key",
    "keys",
    "credential",
    "credentials",
    "creds",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "jwt",
    "pat",
    "dsn",
    "signature",
    "sig",
    "webhook",
];

/// A name that ends so says where something is, how much or of which kind.
const HARMLESS_ENDS: [&str; 16] = [
    "file", "path", "dir", "folder", "url", "uri", "host", "type", "mode", "method", "name", "id",
    "limit", "timeout", "count", "enabled",
];

/// An address of these is a secret itself: whoever has it may use it.
const SECRET_ADDRESSES: [&str; 9] = [
    "webhook",
    "webhooks",
    "hook",
    "secret",
    "password",
    "credential",
    "credentials",
    "dsn",
    "signed",
];

/// A name that ends so is a secret whatever stands there, a number or a path as well.
const PASSWORDS: [&str; 9] =
    ["password", "passwd", "passphrase", "passcode", "pass", "pwd", "pin", "secret", "token"];

/// Whether something of this name is usually one.
pub(in crate::migrate) fn names_secret(name: &str) -> bool {
    let words = words(name);
    let is_one_of = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let last = words.last().map_or("", String::as_str);
    if ["url", "uri"].contains(&last) {
        return is_one_of(&SECRET_ADDRESSES);
    }
    !HARMLESS_ENDS.contains(&last)
        && !is_one_of(&["max", "min", "num"])
        && words.iter().any(|word| is_secret_word(word))
}

/// Whether something of this name is one even if it looks like something else.
pub(in crate::migrate) fn names_password(name: &str) -> bool {
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    PASSWORDS.contains(&last) || last.ends_with("token") || last.ends_with("password")
}

/// Whether a variable of this name holds a folder or a file.
pub(super) fn names_folder(name: &str) -> bool {
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    ["home", "root", "dir", "folder", "path", "prefix", "pwd", "cwd"].contains(&last)
}

fn is_secret_word(word: &str) -> bool {
    SECRET_WORDS.contains(&word) || word.ends_with("token") || word.ends_with("password")
}

/// The words of a name, at marks and where capitals begin.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last_is_lower = false;
    for sign in name.chars() {
        if !sign.is_ascii_alphanumeric() {
            words.push(String::new());
        } else {
            if sign.is_ascii_uppercase() && last_is_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(sign.to_ascii_lowercase());
            }
        }
        last_is_lower = sign.is_ascii_lowercase() || sign.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
