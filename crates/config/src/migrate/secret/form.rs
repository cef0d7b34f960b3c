//! What a value looks like.

use super::{HOLE, Shapes, is_path, is_plain, names_secret};

/// Shorter than this, random letters cannot be told from words.
const RANDOM_LENGTH: usize = 24;

/// The parts of an address are words or keys, and no names with dates and versions.
const PART_LENGTH: usize = 16;

/// With slashes in it, it takes more of them: a key of 240 bits in base64.
const BASE64_LENGTH: usize = 40;

/// What stands behind the name of a webhook's service is its key; shorter than this it is a word of the address.
const HOOK_LENGTH: usize = 8;

/// What may stand before credentials in a header.
pub(super) const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];

/// Whether a value is one by how it looks.
pub(in crate::migrate) fn looks_secret(value: &str, shapes: Shapes<'_>) -> bool {
    value.contains("-----BEGIN ")
        || has_password(value)
        || has_credentials(value)
        || is_random(value)
        || shapes(value)
        || has_random_part(value, shapes)
        || names_hook(value)
}

/// `scheme://user:password@host`, `https://token@host`, and a password among the parameters.
fn has_password(value: &str) -> bool {
    let mut addresses = value.split("://");
    let mut before = addresses.next().unwrap_or_default();
    for rest in addresses {
        let is_web = ["http", "https"].iter().any(|scheme| {
            before.len() >= scheme.len() && before.to_ascii_lowercase().ends_with(scheme)
        });
        if shows_who(rest, is_web) {
            return true;
        }
        before = rest;
    }
    value.contains("://")
        && value.split(['?', '&', '#']).skip(1).filter_map(|pair| pair.split_once('=')).any(
            |(name, value)| {
                let value = value.split_whitespace().next().unwrap_or_default();
                value.contains(|sign| sign != HOLE)
                    && !is_plain(value)
                    && (names_secret(name) || is_random(value))
            },
        )
}

/// Whether what follows `://` begins with a password or a token. On the web a name alone is one, but the one that everybody has
/// with Git.
fn shows_who(rest: &str, is_web: bool) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let says = |text: &str| text.contains(|sign| sign != HOLE);
    match authority.rsplit_once('@') {
        Some((user, _)) => match user.split_once(':') {
            Some((_, password)) => says(password),
            None => is_web && says(user) && user != "git",
        },
        // A password with a slash that nobody has escaped: what follows the colon is no port.
        None => authority.split_once(':').is_some_and(|(_, port)| {
            let is_port =
                !port.is_empty() && port.chars().all(|sign| sign == HOLE || sign.is_ascii_digit());
            !is_port && !authority.starts_with('[') && rest.contains('@')
        }),
    }
}

/// `Bearer …` and the like anywhere in it, `--token …` on a line, and pairs such as `Password=…;` or `"apiKey": "…"`.
fn has_credentials(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_scheme = |word: &str| {
        let is_mark = |sign: char| !sign.is_ascii_alphanumeric();
        let word = word.trim_matches(is_mark).rsplit(is_mark).next().unwrap_or_default();
        ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
    };
    let is_flag = |word: &str| word.starts_with('-') && !word.contains('=') && names_secret(word);
    let is_shown = words.windows(2).any(|pair| {
        let [before, word] = pair else { return false };
        let bare = word.trim_matches(|sign: char| !sign.is_ascii_alphanumeric());
        is_scheme(before) && word.len() >= 4
            || is_flag(before)
                && !bare.is_empty()
                && !is_plain(bare)
                && !word.starts_with('-')
                && !is_path(word)
    });
    let is_pair = |piece: &str| {
        piece.split_once(['=', ':']).is_some_and(|(name, value)| {
            let value = value.trim_matches(|sign: char| !sign.is_ascii_alphanumeric());
            !value.is_empty() && !is_plain(value) && !name.contains('/') && names_secret(name)
        })
    };
    is_shown
        || without_gaps(value).split([';', '&', ',', '\n', ' ', '{', '}', '[', ']']).any(is_pair)
}

/// The text without what people put around `:` and `=` for the eye.
fn without_gaps(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut gap = false;
    for sign in value.chars() {
        if sign == ' ' || sign == '\t' {
            gap = true;
            continue;
        }
        if gap && !":=".contains(sign) && !text.ends_with([':', '=']) {
            text.push(' ');
        }
        gap = false;
        text.push(sign);
    }
    text
}

/// A key as a word of a text, or as a part of an address. In a path there may be digests and the like.
fn has_random_part(value: &str, shapes: Shapes<'_>) -> bool {
    let is_gap = |sign: char| sign.is_whitespace() || "\"',;".contains(sign);
    value.split(is_gap).filter(|word| !word.is_empty()).any(|word| {
        let is_address = word.contains("://") || word.contains(HOLE) && !is_path(word);
        let is_commit = |part: &str| {
            let is_hex = part.chars().all(|sign| sign.is_ascii_hexdigit());
            word.starts_with("git+") && part.len() == 40 && is_hex
        };
        let is_mark = |sign: char| sign == HOLE || "/?&=@:#".contains(sign);
        let is_key = |part: &str| {
            is_mixed(part, PART_LENGTH) && !is_commit(part) || !part.is_empty() && shapes(part)
        };
        is_random(word) || is_address && word.split(is_mark).any(is_key)
    })
}

/// An address that a service gives somebody to tell it things, and which whoever has it may use: `https://hooks.…/…`, `…/webhooks/…`.
fn names_hook(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let address = rest.split([' ', '"', '\'']).next().unwrap_or_default();
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let is_hook =
            |word: &str| ["hook", "hooks", "webhook", "webhooks", "webhookb2"].contains(&word);
        let parts: Vec<&str> = path.split(['/', '?']).collect();
        let behind = match host.split('.').any(is_hook) {
            true => Some(0),
            false => parts.iter().position(|part| is_hook(part)).map(|at| at + 1),
        };
        let key = |part: &&str| part.len() >= HOOK_LENGTH && !is_hook(part) && *part != "services";
        behind.is_some_and(|from| parts.iter().skip(from).any(key))
    })
}

pub(super) fn is_random(value: &str) -> bool {
    is_mixed(value, RANDOM_LENGTH)
}

/// Long, of letters and digits mixed, and without the repetitions that words have.
fn is_mixed(value: &str, least: usize) -> bool {
    let is_key_sign = |sign: char| sign.is_ascii_alphanumeric() || "_-+=.".contains(sign);
    // Base64 has slashes, and so have names of repositories and images, which are shorter or have a dot.
    let is_base64 = value.len() >= BASE64_LENGTH && !value.contains('.') && !is_path(value);
    let is_known = |sign: char| is_key_sign(sign) || (is_base64 && sign == '/');
    if value.len() < least || !value.chars().all(is_known) {
        return false;
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    // In names with a date or a version, digits and letters are kept apart.
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| match pair {
            [one, other] => {
                one.is_ascii_alphanumeric()
                    && other.is_ascii_alphanumeric()
                    && one.is_ascii_digit() != other.is_ascii_digit()
            }
            _ => false,
        })
        .count();
    digits >= 3 && letters >= 6 && changes >= 5
}
