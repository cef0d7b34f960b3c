//! What a program said last, made fit to be shown: no colours, no secrets.

use std::ffi::OsString;

use ostler_model::token::{SHORTEST_TOKEN_BYTES, begins_like, looks_random};

use super::environment::looks_secret;

/// A shorter value is more likely an ordinary word than a secret, and replacing it would garble the text.
pub(crate) const SHORTEST_SECRET_BYTES: usize = 8;

/// Replaces what is secret: the values of secret variables, and words that look like a known token.
pub fn redact(text: &str, environment: &[(OsString, OsString)]) -> String {
    let mut text = without_escapes(text);
    for (name, value) in environment {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && value.len() >= SHORTEST_SECRET_BYTES
            && looks_secret(name)
        {
            text = text.replace(value, &format!("[{name}]"));
        }
    }
    let lines: Vec<String> = text.lines().map(redact_line).collect();
    lines.join("\n")
}

fn redact_line(line: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let mut redacted = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word_end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let is_token = word.len() >= SHORTEST_TOKEN_BYTES
            && begins_like(word).is_some_and(|kind| !kind.is_common || looks_random(word));
        redacted.push_str(if is_token { "[secret]" } else { word });
        let gap_end = after.find(is_part).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_end);
        redacted.push_str(gap);
        rest = next;
    }
    redacted
}

/// Terminal escapes of the form `ESC [ … letter` and other control characters go.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                while characters.next().is_some_and(|next| !next.is_ascii_alphabetic()) {}
            }
        } else if !character.is_control() || character == '\n' || character == '\t' {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_colours_go_and_the_rest_stays() {
        let environment = [
            ("OPENAI_API_KEY".into(), "a-plain-looking-value".into()),
            ("HOME".into(), "/home/somebody".into()),
            ("PIN_TOKEN".into(), "1234".into()),
        ];
        let said = "\u{1b}[31mERROR\u{1b}[0m key=a-plain-looking-value in /home/somebody 1234\n\
                    Bearer sk-abcdefghijklmnop, sk-short; eyJhbGciOiJIUzI1NiJ9.e30.abc\r\n";
        assert_eq!(
            redact(said, &environment),
            "ERROR key=[OPENAI_API_KEY] in /home/somebody 1234\n\
             Bearer [secret], sk-short; [secret]"
        );
    }
}
