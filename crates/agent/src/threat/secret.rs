//! What secrets look like.

use ostler_model::token::{begins_like, looks_random};

/// Names whose value is a secret.
const NAMES: [&str; 7] =
    ["password", "passwd", "api_key", "apikey", "secret_key", "access_token", "client_secret"];
/// The shortest value that is taken for a real one. `password: changeme` is none.
const SHORTEST: usize = 12;

pub(super) fn find(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let ends = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}<>".contains(letter);
    for word in text.split(ends) {
        // After `KEY=`, and inside an address with `:` and `@`.
        for part in word.split(['=', ':', '@', '/']) {
            if let Some(kind) = begins_like(part)
                && part.strip_prefix(kind.begins).is_some_and(is_random)
            {
                return Some(kind.what);
            }
        }
    }
    text.lines().find_map(|line| named(&line.to_lowercase()))
}

fn is_random(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    looks_random(text) && text.chars().all(fits)
}

/// `password = …` with a value of letters and digits.
fn named(line: &str) -> Option<&'static str> {
    for name in NAMES {
        let Some((_, rest)) = line.split_once(name) else { continue };
        let rest = rest.trim_start_matches(['"', '\'', ' ']);
        let Some(value) = rest.strip_prefix(['=', ':']) else { continue };
        let value = value.trim_start_matches(['"', '\'', ' ']);
        let value = value.split([' ', '"', '\'']).next().unwrap_or_default();
        let mixed = value.contains(|letter: char| letter.is_ascii_digit())
            && value.contains(|letter: char| letter.is_ascii_alphabetic());
        let is_place = value.starts_with(['$', '/', '~', '<', '{']);
        if value.chars().count() >= SHORTEST && mixed && !is_place {
            return Some("a password or key with its value");
        }
    }
    None
}
