//! Secrets that are known by how they look, wherever they stand in a text.

use std::ops::Range;

use ostler_model::token::{SHORTEST_TOKEN_BYTES, begins_like, looks_random, may_begin};

use super::names::{Secrecy, secrecy_of};
use crate::keeper::environment::looks_secret;

/// How much of a text is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Whole,
    /// More may follow: a word at the end that starts like a token counts as one.
    Piece,
}

/// How much may be taken for a secret that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Whatever stands in a secret's place: for a log that nobody reads as prose.
    Loose,
    /// A secret's place is not enough, the value must look like one: `authorization: see page 3` is prose.
    Strict,
    /// Single words only: what a person decides on must not be hidden by what stands around it.
    Words,
}

/// What was found in a text that may go on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// In order and without overlap.
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) end: Option<OpenEnd>,
}

/// The end of a text that more could change the reading of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenEnd {
    /// Where the reading is to be taken up again.
    pub(crate) from: usize,
    /// From here on it may be a secret.
    pub(crate) hold: Option<usize>,
}

/// What stands behind `Bearer` or a variable's name is known by its place, so that less is enough.
const SHORTEST_PLACED_BYTES: usize = 4;

/// A title of a private key is shorter.
const LONGEST_TITLE_BYTES: usize = 80;

const KEY_BEGINS: &str = "-----BEGIN";

/// A token of a Telegram bot has 35.
const SHORTEST_BOT_TOKEN_BYTES: usize = 30;

/// Headers of HTTP whose values are secrets.
const HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-auth-token",
    "private-token",
    "cookie",
    "set-cookie",
];

/// Hosts, and how the paths of their web hooks begin.
const WEBHOOKS: [(&str, &str); 4] = [
    ("hooks.slack.com", "/services/"),
    ("discord.com", "/api/webhooks/"),
    ("discordapp.com", "/api/webhooks/"),
    ("api.telegram.org", "/bot"),
];

/// Where the secrets are, in order and without overlap.
pub(crate) fn secrets_in(text: &str, reading: Reading) -> Vec<Range<usize>> {
    look(text, reading, Care::Loose).spans
}

/// Where the secrets are, and what of the end more text could change.
pub(crate) fn look(text: &str, reading: Reading, care: Care) -> Found {
    let bytes = text.as_bytes();
    let mut reader = Reader { text, reading, care, found: Found::default(), at: 0 };
    while let Some(&byte) = bytes.get(reader.at) {
        let at = reader.at;
        reader.at = if is_word(byte) {
            let end = run(bytes, at, is_word);
            reader.word(at..end).max(end)
        } else if byte == 0x1b {
            // A colour ends in a letter that would hide the start of the word behind it.
            match bytes.get(at + 1) {
                Some(b'[') => {
                    let end = run(bytes, at + 2, |byte| !byte.is_ascii_alphabetic()) + 1;
                    reader.open_if(end > bytes.len(), None);
                    end
                }
                Some(_) => at + 1,
                None => {
                    reader.open_if(true, None);
                    at + 1
                }
            }
        } else if byte == b':' && care != Care::Words {
            let rest = bytes.get(at..).unwrap_or_default();
            match rest.starts_with(b"://") {
                true => reader.password_in_address(at + 3).max(at + 3),
                false => {
                    reader.open_if(b"://".starts_with(rest), None);
                    at + 1
                }
            }
        } else if matches!(byte, b'"' | b'\'') && care != Care::Words {
            reader.named_value(at, byte).max(at + 1)
        } else {
            at + 1
        };
    }
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    reading: Reading,
    care: Care,
    found: Found,
    /// Where the token that is looked at begins.
    at: usize,
}

impl Reader<'_> {
    /// Notes that the token reaches the end of the text, and from where on it may be a secret.
    fn open_if(&mut self, reaches_end: bool, hold: Option<usize>) {
        if !reaches_end {
            return;
        }
        let from = self.at;
        let end = self.found.end.get_or_insert(OpenEnd { from, hold: None });
        end.hold = end.hold.into_iter().chain(hold).min();
    }

    /// Whether a value that stands in a secret's place is one.
    fn is_secret(&self, value: &str, is_open: bool) -> bool {
        match self.care {
            Care::Loose => {
                let is_plain_word = value.bytes().all(|byte| byte.is_ascii_lowercase());
                value.len() >= SHORTEST_PLACED_BYTES && !is_plain_word
                    || is_open && !value.is_empty()
            }
            // The last word of it is the secret: `Basic Zm9v`.
            Care::Strict | Care::Words => {
                let word = value.rsplit(' ').next().unwrap_or_default();
                looks_random(word) && !word.starts_with(['$', '<', '{', '/'])
            }
        }
    }

    /// Notes what is secret from this word on and says how far it has looked.
    fn word(&mut self, word: Range<usize>) -> usize {
        let Range { start, end } = word;
        let it = self.text.get(start..end).unwrap_or_default();
        let reaches_end = end == self.text.len();
        let is_open = self.reading == Reading::Piece && reaches_end;
        if let Some(kind) = begins_like(it) {
            let is_enough = match (self.care, kind.is_common) {
                (Care::Loose, false) => it.len() >= SHORTEST_TOKEN_BYTES || is_open,
                _ => looks_random(it),
            };
            self.open_if(reaches_end, Some(start));
            if is_enough {
                self.found.spans.push(start..end);
                return end;
            }
        }
        if it.starts_with(KEY_BEGINS) && self.care != Care::Words {
            return self.private_key(start, end);
        }
        if reaches_end {
            let may_begin = may_begin(it) || KEY_BEGINS.starts_with(it);
            self.open_if(true, may_begin.then_some(start));
        }
        if self.care == Care::Words {
            return end;
        }
        self.placed(it, start, end)
    }

    /// What stands behind a word that announces a secret.
    fn placed(&mut self, it: &str, start: usize, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let length = bytes.len();
        let behind = bytes.get(end..).unwrap_or_default();
        match bytes.get(end) {
            Some(b'/') if WEBHOOKS.iter().any(|(host, _)| *host == it) => self.webhook(it, end),
            // A Telegram bot: its number, and its token.
            Some(b':')
                if (8..=10).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit()) =>
            {
                let value_end = run(bytes, end + 1, is_word);
                if value_end - end <= SHORTEST_BOT_TOKEN_BYTES && value_end < length {
                    return end;
                }
                self.value(end + 1..value_end, value_end == length).unwrap_or(end)
            }
            // `?access_token=…` in an address.
            Some(b'=')
                if start > 0
                    && matches!(bytes.get(start - 1), Some(b'?' | b'&'))
                    && secrecy_of(it) != Secrecy::Open =>
            {
                let value_end = run(bytes, end + 1, |byte| {
                    !byte.is_ascii_whitespace() && !b"\"';&#<>".contains(&byte)
                });
                self.value(end + 1..value_end, value_end == length).unwrap_or(end)
            }
            // `curl -u name:password`
            Some(b' ') if it == "-u" || it == "--user" => {
                let value_end = run(bytes, end + 1, |byte| {
                    !byte.is_ascii_whitespace() && !b"\"'".contains(&byte)
                });
                let login = bytes.get(end + 1..value_end).unwrap_or_default();
                let Some(colon) = memchr::memchr(b':', login) else { return end };
                self.value(end + 2 + colon..value_end, value_end == length).unwrap_or(end)
            }
            // `password: …` in YAML, `token = "…"` in TOML
            Some(b':' | b' ')
                if (behind.starts_with(b": ") || behind.starts_with(b" = "))
                    && !HEADERS.iter().any(|name| it.eq_ignore_ascii_case(name))
                    && !it.eq_ignore_ascii_case("bearer")
                    && secrecy_of(it) != Secrecy::Open =>
            {
                let value = run(bytes, end + 1, |byte| b" =\"'".contains(&byte));
                let value_end = run(bytes, value, |byte| is_word(byte) || b"+/=~".contains(&byte));
                // What goes on with `(` or `<` is a program's text.
                let is_whole = bytes
                    .get(value_end)
                    .is_none_or(|byte| byte.is_ascii_whitespace() || b"\"',;}".contains(byte));
                let text = self.text.get(value..value_end).unwrap_or_default();
                let has_both = text.bytes().any(|byte| byte.is_ascii_digit())
                    && text.bytes().any(|byte| byte.is_ascii_alphabetic());
                if !is_whole || !has_both {
                    self.open_if(value_end == length, None);
                    return end;
                }
                self.value(value..value_end, value_end == length).unwrap_or(end)
            }
            Some(b' ') if it.eq_ignore_ascii_case("bearer") => {
                let value = run(bytes, end, |byte| byte == b' ');
                let value_end = run(bytes, value, |byte| is_word(byte) || b"~+/=".contains(&byte));
                self.value(value..value_end, value_end == length).unwrap_or(end)
            }
            Some(b':') if HEADERS.iter().any(|name| it.eq_ignore_ascii_case(name)) => {
                let value = run(bytes, end + 1, |byte| byte == b' ');
                let value_end = run(bytes, value, |byte| !b"\r\n\"'".contains(&byte));
                if self.care == Care::Loose && value_end > value {
                    self.open_if(value_end == length, Some(value));
                    self.found.spans.push(value..value_end);
                    return value_end;
                }
                // Of several cookies each may be the secret.
                let text = self.text.get(value..value_end).unwrap_or_default();
                let parts = text.split([' ', ';', '=']);
                if parts.into_iter().any(|part| self.is_secret(part, false)) {
                    self.open_if(value_end == length, Some(value));
                    self.found.spans.push(value..value_end);
                    return value_end;
                }
                self.value(value..value_end, value_end == length).unwrap_or(end)
            }
            Some(b'=') if is_secret_setting(it) => {
                let value = run(bytes, end + 1, |byte| b"\"'".contains(&byte));
                let value_end = run(bytes, value, |byte| {
                    !byte.is_ascii_whitespace() && !b"\"';&".contains(&byte)
                });
                // `$NAME` is a place, not the secret itself.
                if bytes.get(value) == Some(&b'$') {
                    self.open_if(value_end == length, None);
                    return end;
                }
                let is_open = self.reading == Reading::Piece && value_end == length;
                if self.care == Care::Loose
                    && (value_end - value >= SHORTEST_PLACED_BYTES || is_open && value_end > value)
                {
                    self.open_if(value_end == length, Some(value));
                    self.found.spans.push(value..value_end);
                    return value_end;
                }
                self.value(value..value_end, value_end == length).unwrap_or(end)
            }
            _ => end,
        }
    }

    /// Whoever has the address of a web hook may send there.
    fn webhook(&mut self, host: &str, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let length = bytes.len();
        let path_end =
            run(bytes, end, |byte| !byte.is_ascii_whitespace() && !b"\"'<>?#".contains(&byte));
        let path = self.text.get(end..path_end).unwrap_or_default();
        let begins = WEBHOOKS.iter().find(|(known, _)| *known == host).map_or("", |it| it.1);
        if !path.starts_with(begins) {
            self.open_if(path_end == length, None);
            return end;
        }
        let value = end + begins.len();
        self.open_if(path_end == length, (path_end > value).then_some(value));
        if path_end > value {
            self.found.spans.push(value..path_end);
        }
        path_end
    }

    /// Notes a value that stands in a secret's place; says where it ends if it is one.
    fn value(&mut self, value: Range<usize>, reaches_end: bool) -> Option<usize> {
        let text = self.text.get(value.clone()).unwrap_or_default();
        let is_open = self.reading == Reading::Piece && reaches_end;
        self.open_if(reaches_end, (!text.is_empty()).then_some(value.start));
        self.is_secret(text, is_open).then(|| {
            let end = value.end;
            self.found.spans.push(value);
            end
        })
    }

    /// A block of a private key, to its end or to the end of what is there.
    fn private_key(&mut self, start: usize, end: usize) -> usize {
        let length = self.text.len();
        let after = self.text.get(end..).unwrap_or_default();
        let title = after.split("-----").next().unwrap_or_default();
        if title.len() == after.len() && title.len() < LONGEST_TITLE_BYTES && !title.contains('\n')
        {
            self.open_if(true, Some(start));
        }
        if !title.contains("PRIVATE KEY") || title.contains('\n') {
            return end;
        }
        let close = after.find("-----END").and_then(|at| {
            let behind = end + at + "-----END".len();
            let rest = self.text.get(behind..).unwrap_or_default();
            rest.find("-----").map(|at| behind + at + "-----".len())
        });
        self.open_if(close.is_none(), Some(start));
        let close = close.unwrap_or(length);
        self.found.spans.push(start..close);
        close
    }

    /// `https://name:password@host`.
    fn password_in_address(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let end =
            run(bytes, start, |byte| !byte.is_ascii_whitespace() && !b"/?#\"'<>".contains(&byte));
        let authority = bytes.get(start..end).unwrap_or_default();
        let colon = memchr::memchr(b':', authority);
        self.open_if(end == bytes.len(), colon.map(|colon| start + colon + 1));
        let Some(login_end) = memchr::memrchr(b'@', authority) else { return start };
        match colon {
            Some(colon) if colon + 1 < login_end => {
                self.found.spans.push(start + colon + 1..start + login_end);
                end
            }
            _ => start,
        }
    }

    /// `"apiKey": "…"` or `'apiKey': '…'` inside a text, be it quoted once more: a file that a command printed, the arguments of a call.
    fn named_value(&mut self, quote: usize, mark: u8) -> usize {
        let bytes = self.text.as_bytes();
        let length = bytes.len();
        let name_end = run(bytes, quote + 1, is_word);
        let name = self.text.get(quote + 1..name_end).unwrap_or_default();
        let skip = |at: usize, skipped: &[u8]| run(bytes, at, |byte| skipped.contains(&byte));
        let closed = skip(name_end, b"\\");
        self.open_if(closed >= length, None);
        if name.is_empty() || bytes.get(closed) != Some(&mark) {
            return quote + 1;
        }
        let colon = skip(closed + 1, b" \t\r\n");
        self.open_if(colon >= length, None);
        if bytes.get(colon) != Some(&b':') || secrecy_of(name) == Secrecy::Open {
            return quote + 1;
        }
        let opening = skip(colon + 1, b" \t\r\n");
        let opened = skip(opening, b"\\");
        self.open_if(opened >= length, None);
        if bytes.get(opened) != Some(&mark) {
            return colon;
        }
        let slashes = opened - opening;
        let value = opened + 1;
        let mut end = value;
        let is_closed = loop {
            end = run(bytes, end, |byte| byte != mark);
            let behind = bytes.get(value..end).unwrap_or_default();
            let before = behind.iter().rev().take_while(|byte| **byte == b'\\').count();
            // One more backslash than the opening quote has: a quote that is part of the value.
            if end >= length || before <= slashes {
                let is_closed = end < length;
                end -= if is_closed { before } else { 0 };
                break is_closed;
            }
            end += 1;
        };
        self.open_if(!is_closed, (end > value).then_some(value));
        let text = self.text.get(value..end).unwrap_or_default();
        if end > value && (self.care == Care::Loose || self.is_secret(text, false)) {
            self.found.spans.push(value..end);
        } else if self.care != Care::Loose {
            // What is no secret by its place may be one by its look.
            return colon;
        }
        end.max(colon)
    }
}

/// `OPENAI_API_KEY=…` and `--token=…`, but no assignment in a program's text.
fn is_secret_setting(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(flag) => secrecy_of(flag) != Secrecy::Open,
        // The last three are npm's.
        None => {
            !word.bytes().any(|byte| byte.is_ascii_lowercase()) && looks_secret(word)
                || ["_authToken", "_auth", "_password"].contains(&word)
        }
    }
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
            ("proxy-authorization: Basic Zm9v", "proxy-authorization: ‹›"),
            ("Cookie: sid=a1b2c3d4; theme=dark\n", "Cookie: ‹›\n"),
            ("https://h/x?access_token=a1b2c3d4&y=z", "https://h/x?access_token=‹›&y=z"),
            ("//registry/:_authToken=a1b2c3d4", "//registry/:_authToken=‹›"),
            ("{'api_key': 'a1b2', 'x': 'y'}", "{'api_key': '‹›', 'x': 'y'}"),
            ("curl -u me:a1b2c3d4 u", "curl -u me:‹› u"),
            ("password: a1b2c3d4\nnext", "password: ‹›\nnext"),
            ("token = \"a1b2c3d4\"", "token = \"‹›\""),
            ("password: String, token: Token::of(1)", "password: String, token: Token::of(1)"),
            (
                "https://hooks.slack.com/services/T0/B0/x1 https://discord.com/api/webhooks/1/x",
                "https://hooks.slack.com/services/‹› https://discord.com/api/webhooks/‹›",
            ),
            (
                "123456789:AAabcdefghijklmnopqrstuvwxyz0123456 at 12345678:30",
                "123456789:‹› at 12345678:30",
            ),
            (
                "dop_v1_0123456789abcdef ostler_0123456789abcdef ostler_engine",
                "‹› ‹› ostler_engine",
            ),
            ("it's a token: yes, it's 'quoted'", "it's a token: yes, it's 'quoted'"),
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
