//! Values that are registered as secrets.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memchr::memmem::Finder;

use super::Filter;
use super::learn::Watched;
use crate::keeper::redact::SHORTEST_SECRET_BYTES;

/// Shorter values occur in ordinary text all the time; to replace them would garble every message.
pub(crate) const SHORTEST_KNOWN_BYTES: usize = 4;

/// Shorter values may be ordinary words, so that a file is not one with a login because it has them.
const SHORTEST_TELLING_BYTES: usize = 16;

/// Registered values. A clone is the same registry; a value counts from the next text on.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Registry>);

#[derive(Default)]
struct Registry {
    values: RwLock<Vec<Finder<'static>>>,
    /// Registries whose values count here, too.
    included: RwLock<Vec<Secrets>>,
    pub(super) watched: Mutex<Watched>,
}

impl Secrets {
    /// Registers a value. False if it is too short to be told from ordinary text.
    pub fn add(&self, value: &str) -> bool {
        if value.len() < SHORTEST_KNOWN_BYTES {
            return false;
        }
        let mut values = self.0.values.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms(value) {
            if !values.iter().any(|known| known.needle() == form.as_bytes()) {
                values.push(Finder::new(form.as_bytes()).into_owned());
            }
        }
        true
    }

    /// Lets the values of another registry count here from now on.
    pub(crate) fn include(&self, other: &Self) {
        let mut included = self.0.included.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Self| Arc::ptr_eq(&known.0, &other.0);
        if !Arc::ptr_eq(&self.0, &other.0) && !included.iter().any(is_known) {
            included.push(other.clone());
        }
    }

    pub(super) fn watched(&self) -> &Mutex<Watched> {
        &self.0.watched
    }

    /// Notes where registered values stand in the text.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        self.find_in(text, found);
        // A program that marks what it has found puts a colour into the middle of a value.
        if let Some(plain) = Plain::of(text) {
            let mut hidden = Vec::new();
            self.find_in(&plain.text, &mut hidden);
            found.extend(hidden.into_iter().map(|range| plain.place_of(range)));
        }
    }

    fn find_in(&self, text: &str, found: &mut Vec<Range<usize>>) {
        self.each(&mut |secret| {
            let length = secret.needle().len();
            if length > text.len() {
                return;
            }
            for at in secret.find_iter(text.as_bytes()) {
                let range = at..at + length;
                // A short one could be a part of any longer word.
                if length >= SHORTEST_SECRET_BYTES || stands_alone(text, &range) {
                    found.push(range);
                }
            }
        });
    }

    /// The text without registered values and without what looks like a secret.
    pub fn hidden_in(&self, mut text: String) -> String {
        Filter::new(self.clone()).text(&mut text);
        text
    }

    /// Whether a registered value that is too long to be an ordinary word stands in these bytes. A short one says nothing of what it is in:
    /// the password of a test may be the name of its database.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let mut is_in = false;
        self.each(&mut |secret| {
            let is_long = secret.needle().len() >= SHORTEST_TELLING_BYTES;
            is_in = is_in || is_long && secret.find(bytes).is_some();
        });
        is_in
    }

    /// How long the longest registered value is.
    pub fn longest(&self) -> usize {
        let mut longest = 0;
        self.each(&mut |secret| longest = longest.max(secret.needle().len()));
        longest
    }

    /// Where the text's end, of at least this many bytes, may be the beginning of a registered value.
    pub(crate) fn begun_at_end(&self, text: &str, least: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut begun: Option<usize> = None;
        self.each(&mut |secret| {
            let needle = secret.needle();
            let Some(first) = needle.first() else { return };
            let longest = (needle.len() - 1).min(bytes.len());
            let from = bytes.len() - longest;
            let tail = bytes.get(from..).unwrap_or_default();
            let mut starts = memchr::memchr_iter(*first, tail).map(|at| from + at);
            let start = starts.find(|at| {
                let end = bytes.get(*at..).unwrap_or_default();
                end.len() >= least && needle.starts_with(end)
            });
            if let Some(start) = start.filter(|start| text.is_char_boundary(*start)) {
                begun = Some(begun.map_or(start, |before| before.min(start)));
            }
        });
        begun
    }

    fn each(&self, look: &mut dyn FnMut(&Finder<'static>)) {
        self.0.values.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(&mut *look);
        for other in self.0.included.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let values = other.0.values.read().unwrap_or_else(PoisonError::into_inner);
            values.iter().for_each(&mut *look);
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}

/// Whether what stands here is no part of a longer word.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// A value as it is, and as it stands in JSON (once and twice), in a program's text, in a command line and in an address.
fn forms(value: &str) -> Vec<String> {
    let json = in_json(value);
    let twice = in_json(&json);
    let ascii: String = json.chars().map(escaped_to_ascii).collect();
    let slashes = value.replace('\\', r"\\");
    let shell = value.replace('\'', r"'\''");
    let address: String = value.bytes().map(escaped_in_address).collect();
    vec![value.to_owned(), in_json(&ascii), ascii, twice, json, slashes, shell, address]
}

/// What stands between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn escaped_to_ascii(character: char) -> String {
    if character.is_ascii() {
        return character.to_string();
    }
    let mut units = [0; 2];
    character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn escaped_in_address(byte: u8) -> String {
    match byte {
        byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    }
}

/// A text without the escapes that set colours, and where each of its bytes stood.
struct Plain {
    text: String,
    places: Vec<usize>,
}

impl Plain {
    /// None if there are no escapes.
    fn of(text: &str) -> Option<Self> {
        memchr::memchr(0x1b, text.as_bytes())?;
        let mut plain = Self { text: String::new(), places: Vec::new() };
        let mut characters = text.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if character != '\u{1b}' {
                plain.text.push(character);
                plain.places.extend(at..at + character.len_utf8());
            } else if characters.next_if(|(_, next)| *next == '[').is_some() {
                while characters.next().is_some_and(|(_, next)| !('@'..='~').contains(&next)) {}
            }
        }
        Some(plain)
    }

    fn place_of(&self, range: Range<usize>) -> Range<usize> {
        let at = |index: usize| self.places.get(index).copied().unwrap_or_default();
        at(range.start)..at(range.end.saturating_sub(1)) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn a_value_is_found_however_it_is_written() {
        let secrets = Secrets::default();
        let value = "pa\"ss\\wo rd/with<q>'Zx91é";
        assert!(secrets.add(value));
        let json = serde_json::json!({ "said": [value] }).to_string();
        let twice = serde_json::json!({ "arguments": json }).to_string();
        let written = [
            format!("it is {value}."),
            json,
            twice,
            r#"["pa\"ss\\wo rd/with<q>'Zx91\u00e9"]"#.to_owned(),
            r#"x='pa"ss\wo rd/with<q>'\''Zx91é'"#.to_owned(),
            r#"'pa"ss\\wo rd/with<q>'Zx91é'"#.to_owned(),
            "?q=pa%22ss%5Cwo%20rd%2Fwith%3Cq%3E%27Zx91%C3%A9&".to_owned(),
            "pa\"s\u{1b}[01;31m\u{1b}[Ks\\wo\u{1b}[m rd/with<q>'Zx91é".to_owned(),
        ];
        for text in written {
            let hidden = secrets.hidden_in(text.clone());
            assert!(hidden.contains("redacted") && !hidden.contains("Zx91"), "{text}\n{hidden}");
        }
    }
}
