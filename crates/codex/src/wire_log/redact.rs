//! Takes secrets out of a message before it is written. What is not secret stays byte for byte.
//!
//! A secret is known by the name it stands under, by how it looks, or because the caller has
//! named it. The message keeps its shape: a string stays a string, a number a number, and no member is left out.

mod streams;

use std::borrow::Cow;
use std::ops::Range;

use streams::Streams;

use crate::secrets::names::Names;
pub(crate) use crate::secrets::names::Secrecy;
use crate::secrets::shapes::{Reading, secrets_in};
use crate::secrets::{REDACTED, SHORTEST_KNOWN_BYTES, Secrets, hide, merged};

/// One conversation's redaction: it remembers what came in pieces.
pub(crate) struct Redactor {
    known: Secrets,
    streams: Streams,
    names: Names,
}

/// Which part of a message is what, as far as redaction must know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// How secret the `result` of this message is.
    pub(crate) result: Secrecy,
    /// Names the text that the message's `delta` continues.
    pub(crate) stream: Option<&'a str>,
}

/// A replacement of a part of the message.
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Redactor {
    pub(crate) fn new(known: Secrets) -> Self {
        Self { known, streams: Streams::default(), names: Names::default() }
    }

    /// Redacts one JSON text. Borrowed, and the same bytes, when there was nothing to hide.
    pub(crate) fn json<'a>(&mut self, text: &'a str, context: Context<'_>) -> Cow<'a, str> {
        apply(text, self.edits(text, context))
    }

    /// Redacts text that is no JSON. It may be the beginning of some.
    pub(crate) fn text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let plain = Context { result: Secrecy::Open, stream: None };
        let by_name = match text.trim_start().starts_with(['{', '[']) {
            true => apply(text, self.edits(text, plain)),
            false => Cow::Borrowed(text),
        };
        let spans = self.spans(&by_name, Reading::Whole);
        match hide(&by_name, &spans) {
            Some(hidden) => Cow::Owned(hidden),
            None => by_name,
        }
    }

    /// One walk over the tokens. It asks for no more order than it needs, so that broken JSON is redacted as well.
    fn edits(&mut self, text: &str, context: Context<'_>) -> Vec<Edit> {
        let bytes = text.as_bytes();
        let mut edits = Vec::new();
        // How secret what stands in each open object or list is, and what the last name said of its value.
        let mut open = vec![Secrecy::Open];
        let mut named: Option<Secrecy> = None;
        let mut is_delta = false;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let around = open.last().copied().unwrap_or(Secrecy::Open);
            match byte {
                b'"' => {
                    let end = string_end(bytes, at);
                    let after = skip_space(bytes, end);
                    if bytes.get(after) == Some(&b':') {
                        let name = unescape(inner(text, at, end));
                        let own = self.names.secrecy_of(&name);
                        let of_result = open.len() == 2 && name == "result";
                        let own = if of_result { own.max(context.result) } else { own };
                        named = Some(around.max(own));
                        is_delta = open.len() == 3 && name == "delta";
                        edits.extend(self.string(text, at..end, None));
                        at = after + 1;
                        continue;
                    }
                    let secrecy = named.take().unwrap_or(around);
                    if secrecy == Secrecy::Open {
                        let stream = context.stream.filter(|_| is_delta);
                        edits.extend(self.string(text, at..end, stream));
                    } else if !inner(text, at, end).is_empty() {
                        edits.push(Edit { range: at..end, text: format!("\"{REDACTED}\"") });
                    }
                    at = end;
                }
                b'{' | b'[' => {
                    open.push(named.take().unwrap_or(around));
                    at += 1;
                }
                b'}' | b']' => {
                    if open.len() > 1 {
                        open.pop();
                    }
                    named = None;
                    at += 1;
                }
                b',' => {
                    named = None;
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let end = number_end(bytes, at);
                    if named.take().unwrap_or(around) == Secrecy::StringsAndNumbers {
                        edits.push(Edit { range: at..end, text: "0".to_owned() });
                    }
                    at = end;
                }
                _ => at += 1,
            }
        }
        edits
    }

    /// One string that stands under no secret name.
    fn string(&mut self, text: &str, range: Range<usize>, stream: Option<&str>) -> Option<Edit> {
        let said = unescape(inner(text, range.start, range.end));
        let hidden = match stream {
            Some(stream) => self.piece(&said, stream),
            None => hide(&said, &self.spans(&said, Reading::Whole)),
        }?;
        // A string is always JSON; without it the whole text would have to go.
        let text = serde_json::to_string(&hidden).unwrap_or_else(|_| format!("\"{REDACTED}\""));
        Some(Edit { range, text })
    }

    /// One piece of a text that goes on.
    fn piece(&mut self, piece: &str, stream: &str) -> Option<String> {
        let tail = self.streams.tail(stream);
        let before = tail.len();
        let said = format!("{tail}{piece}");
        let mut spans = self.spans(&said, Reading::Piece);
        let mut open_from =
            spans.last().filter(|span| span.end == said.len()).map(|span| span.start);
        if let Some(begun) = self.known.begun_at_end(&said, SHORTEST_KNOWN_BYTES) {
            spans.push(begun..said.len());
            open_from = Some(open_from.map_or(begun, |from| from.min(begun)));
        }
        self.streams.went_on(stream, &said, open_from);
        let here: Vec<Range<usize>> = merged(spans)
            .into_iter()
            .filter(|span| span.end > before)
            .map(|span| span.start.saturating_sub(before)..span.end - before)
            .collect();
        hide(piece, &here)
    }

    fn spans(&self, text: &str, reading: Reading) -> Vec<Range<usize>> {
        let mut spans = secrets_in(text, reading);
        self.known.find(text, &mut spans);
        merged(spans)
    }
}

fn apply(text: &str, edits: Vec<Edit>) -> Cow<'_, str> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut changed = String::with_capacity(text.len());
    let mut last = 0;
    for edit in edits {
        changed.push_str(text.get(last..edit.range.start).unwrap_or_default());
        changed.push_str(&edit.text);
        last = edit.range.end;
    }
    changed.push_str(text.get(last..).unwrap_or_default());
    Cow::Owned(changed)
}

/// Behind the closing quote, or the end of a text that has none.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes.get(at + found) == Some(&b'"') {
            return at + found + 1;
        }
        at += found + 2;
    }
    bytes.len()
}

fn inner(text: &str, start: usize, end: usize) -> &str {
    let quoted = text.get(start + 1..end).unwrap_or_default();
    quoted.strip_suffix('"').unwrap_or(quoted)
}

fn skip_space(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter().position(|byte| !b" \t\r\n".contains(byte)).map_or(bytes.len(), |at| start + at)
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    rest.iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |at| start + at)
}

/// What a JSON string says. Half a surrogate pair, which serde refuses, must not hide what stands beside it.
fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else { return Cow::Borrowed(raw) };
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(at) = next {
        text.push_str(rest.get(..at).unwrap_or_default());
        let mut behind = rest.get(at + 1..).unwrap_or_default().chars();
        match behind.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => {
                let (character, after) = code_point(behind.as_str());
                text.push(character);
                behind = after.chars();
            }
            Some(itself) => text.push(itself),
            None => {}
        }
        rest = behind.as_str();
        next = memchr::memchr(b'\\', rest.as_bytes());
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character of `XXXX` or `XXXX\uXXXX`, and what comes behind it.
fn code_point(escape: &str) -> (char, &str) {
    let unit = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let Some(first) = unit(escape) else { return (char::REPLACEMENT_CHARACTER, escape) };
    let after = escape.get(4..).unwrap_or_default();
    let second = after.strip_prefix("\\u").and_then(|rest| Some((unit(rest)?, rest.get(4..)?)));
    let units = [Some(first), second.map(|(unit, _)| unit)].into_iter().flatten();
    match (char::decode_utf16(units).next(), second) {
        (Some(Ok(character)), Some((_, behind))) if character.len_utf16() == 2 => {
            (character, behind)
        }
        (Some(Ok(character)), _) => (character, after),
        _ => (char::REPLACEMENT_CHARACTER, after),
    }
}

#[cfg(test)]
mod tests;
