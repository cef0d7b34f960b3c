//! Secrets that are known by how they look, wherever they stand in a text.

use std::ops::Range;

use super::keys::{Secrecy, secrecy_of};
use crate::keeper::environment::looks_secret;
use crate::keeper::redact::TOKEN_STARTS;

/// How much of a text is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Whole,
    /// More may follow: a word at the end that starts like a token counts as one.
    Piece,
}

/// No service has shorter tokens; many ordinary words are shorter.
const SHORTEST_TOKEN_BYTES: usize = 16;
/// What stands behind `Bearer` or a variable's name is known by its place, so that less is enough.
const SHORTEST_PLACED_BYTES: usize = 4;

/// Where the secrets are, in order and without overlap.
pub(crate) fn secrets_in(text: &str, reading: Reading) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = if is_word(byte) {
            let end = run(bytes, at, is_word);
            look_at_word(text, at..end, reading, &mut found).max(end)
        } else if byte == 0x1b && bytes.get(at + 1) == Some(&b'[') {
            // A colour ends in a letter that would hide the start of the word behind it.
            run(bytes, at + 2, |byte| !byte.is_ascii_alphabetic()) + 1
        } else if byte == b':' && text.get(at..at + 3) == Some("://") {
            password_in_address(bytes, at + 3, &mut found).max(at + 3)
        } else if byte == b'"' {
            named_value(text, at, &mut found).max(at + 1)
        } else {
            at + 1
        };
        at = next;
    }
    found
}

/// Notes what is secret from this word on and says how far it has looked.
fn look_at_word(
    text: &str,
    word: Range<usize>,
    reading: Reading,
    found: &mut Vec<Range<usize>>,
) -> usize {
    let bytes = text.as_bytes();
    let Range { start, end } = word;
    let it = text.get(start..end).unwrap_or_default();
    let is_open = reading == Reading::Piece && end == bytes.len();
    if (it.len() >= SHORTEST_TOKEN_BYTES || is_open)
        && TOKEN_STARTS.iter().any(|token| it.starts_with(token))
    {
        found.push(start..end);
        return end;
    }
    if it.starts_with("-----BEGIN") {
        return private_key(text, start, end, found);
    }
    match bytes.get(end) {
        Some(b' ') if it.eq_ignore_ascii_case("bearer") => {
            let value = run(bytes, end, |byte| byte == b' ');
            let value_end = run(bytes, value, |byte| is_word(byte) || b"~+/=".contains(&byte));
            let is_plain_word =
                bytes.get(value..value_end).is_some_and(|it| it.iter().all(u8::is_ascii_lowercase));
            let is_open = reading == Reading::Piece && value_end == bytes.len();
            if value_end - value >= SHORTEST_PLACED_BYTES && !is_plain_word
                || is_open && value_end > value
            {
                found.push(value..value_end);
                return value_end;
            }
            end
        }
        Some(b':') if it.eq_ignore_ascii_case("authorization") => {
            let value = run(bytes, end + 1, |byte| byte == b' ');
            let value_end = run(bytes, value, |byte| !b"\r\n\"'".contains(&byte));
            if value_end > value {
                found.push(value..value_end);
            }
            value_end
        }
        Some(b'=') if is_secret_setting(it) => {
            let value = run(bytes, end + 1, |byte| b"\"'".contains(&byte));
            let value_end =
                run(bytes, value, |byte| !byte.is_ascii_whitespace() && !b"\"';&".contains(&byte));
            // `$NAME` is a place, not the secret itself.
            let is_open = reading == Reading::Piece && value_end == bytes.len();
            let is_long = value_end - value >= SHORTEST_PLACED_BYTES || is_open;
            if is_long && value_end > value && bytes.get(value) != Some(&b'$') {
                found.push(value..value_end);
                return value_end;
            }
            end
        }
        _ => end,
    }
}

/// `OPENAI_API_KEY=…` and `--token=…`, but no assignment in a program's text.
fn is_secret_setting(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(flag) => secrecy_of(flag) != Secrecy::Open,
        None => !word.bytes().any(|byte| byte.is_ascii_lowercase()) && looks_secret(word),
    }
}

/// A block of a private key, to its end or to the end of what is there.
fn private_key(text: &str, start: usize, end: usize, found: &mut Vec<Range<usize>>) -> usize {
    let after = text.get(end..).unwrap_or_default();
    let title = after.split("-----").next().unwrap_or_default();
    if !title.contains("PRIVATE KEY") || title.contains('\n') {
        return end;
    }
    let close = after.find("-----END").map(|at| {
        let behind = end + at + "-----END".len();
        let rest = text.get(behind..).unwrap_or_default();
        rest.find("-----").map_or(text.len(), |at| behind + at + "-----".len())
    });
    let close = close.unwrap_or(text.len());
    found.push(start..close);
    close
}

/// `https://name:password@host`.
fn password_in_address(bytes: &[u8], start: usize, found: &mut Vec<Range<usize>>) -> usize {
    let end = run(bytes, start, |byte| !byte.is_ascii_whitespace() && !b"/?#\"'<>".contains(&byte));
    let authority = bytes.get(start..end).unwrap_or_default();
    let Some(login_end) = memchr::memrchr(b'@', authority) else { return start };
    let login = authority.get(..login_end).unwrap_or_default();
    match memchr::memchr(b':', login) {
        Some(colon) if colon + 1 < login_end => {
            found.push(start + colon + 1..start + login_end);
            end
        }
        _ => start,
    }
}

/// `"apiKey": "…"` inside a text, be it quoted once more: a file that a command printed, the arguments of a call.
fn named_value(text: &str, quote: usize, found: &mut Vec<Range<usize>>) -> usize {
    let bytes = text.as_bytes();
    let name_end = run(bytes, quote + 1, is_word);
    let name = text.get(quote + 1..name_end).unwrap_or_default();
    let skip = |at: usize, skipped: &[u8]| run(bytes, at, |byte| skipped.contains(&byte));
    let closed = skip(name_end, b"\\");
    if name.is_empty() || bytes.get(closed) != Some(&b'"') {
        return quote + 1;
    }
    let colon = skip(closed + 1, b" \t\r\n");
    if bytes.get(colon) != Some(&b':') || secrecy_of(name) == Secrecy::Open {
        return quote + 1;
    }
    let opening = skip(colon + 1, b" \t\r\n");
    let opened = skip(opening, b"\\");
    if bytes.get(opened) != Some(&b'"') {
        return colon;
    }
    let slashes = opened - opening;
    let value = opened + 1;
    let mut end = value;
    loop {
        end = run(bytes, end, |byte| byte != b'"');
        let behind = bytes.get(value..end).unwrap_or_default();
        let before = behind.iter().rev().take_while(|byte| **byte == b'\\').count();
        // One more backslash than the opening quote has: a quote that is part of the value.
        if end >= bytes.len() || before <= slashes {
            end -= if end < bytes.len() { before } else { 0 };
            break;
        }
        end += 1;
    }
    if end > value {
        found.push(value..end);
    }
    end.max(colon)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// The end of the run of such bytes that starts here.
fn run(bytes: &[u8], start: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter().position(|byte| !is_part(*byte)).map_or(bytes.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, reading: Reading) -> String {
        let mut marked = String::new();
        let mut last = 0;
        for span in secrets_in(text, reading) {
            marked += &text[last..span.start];
            marked += "‹›";
            last = span.end;
        }
        marked + &text[last..]
    }

    #[test]
    fn known_shapes_are_found_and_nothing_else() {
        let pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----";
        let table = [
            ("key sk-abcdefghijklmnop, sk-short", "key ‹›, sk-short"),
            ("\u{1b}[31mghp_0123456789abcdef\u{1b}[0m", "\u{1b}[31m‹›\u{1b}[0m"),
            ("task-0123456789abcdef", "task-0123456789abcdef"),
            ("(eyJhbGciOiJIUzI1NiJ9.e30.abc)", "(‹›)"),
            ("AKIAIOSFODNN7EXAMPLE", "‹›"),
            ("Bearer a1b2c3d4 bearer bonds", "Bearer ‹› bearer bonds"),
            ("authorization: Basic Zm9v\nnext", "authorization: ‹›\nnext"),
            ("curl -H 'Authorization: x y' u", "curl -H 'Authorization: ‹›' u"),
            (
                "export OPENAI_API_KEY='plain' PATH=/usr/bin",
                "export OPENAI_API_KEY='‹›' PATH=/usr/bin",
            ),
            (
                "API_KEY=$OTHER_KEY token=f(x) --token=abcd",
                "API_KEY=$OTHER_KEY token=f(x) --token=‹›",
            ),
            ("git@host: https://me:word@host/x?y=z", "git@host: https://me:‹›@host/x?y=z"),
            ("https://host:443/a@b", "https://host:443/a@b"),
            (r#"5" {"apiKey" : "a\"b", "x": "y"}"#, r#"5" {"apiKey" : "‹›", "x": "y"}"#),
            (r#"{\"api_key\":\"ab\",\"x\":1}"#, r#"{\"api_key\":\"‹›\",\"x\":1}"#),
            (r#"{"password": "cut of"#, r#"{"password": "‹›"#),
            ("-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc"),
            ("", ""),
            ("ünïcødé \"", "ünïcødé \""),
        ];
        for (text, expected) in table {
            assert_eq!(marked(text, Reading::Whole), expected);
        }
        assert_eq!(marked(&format!("a {pem} b"), Reading::Whole), "a ‹› b");
        assert_eq!(marked(pem.split("-----END").next().unwrap(), Reading::Whole), "‹›");
    }

    #[test]
    fn a_piece_that_may_go_on_is_judged_by_its_start() {
        let table = [("see sk-a", "see ‹›"), ("Bearer x", "Bearer ‹›"), ("sk-a and", "sk-a and")];
        for (text, expected) in table {
            assert_eq!(marked(text, Reading::Piece), expected);
        }
    }
}
