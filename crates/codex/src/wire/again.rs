//! Lines that differ from the one before in their text alone.
//!
//! Nine of ten lines of a turn are pieces of one text: the same method, the same ids, another `delta`. Once such a line has
//! been read, the next is known by comparing the bytes around its text. This is no guess: what has the same bytes before
//! and after one string, and a whole string in between, is the same JSON but for that string.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memmem;

use super::envelope::{Message, read_message};
use super::oddity::{Oddity, OddityKind};

/// The member that holds the text, and the quote before it. Inside a string its quotes would be escaped.
const TEXT: &[u8] = br#""delta":""#;

/// What a line has around its text.
#[derive(Debug)]
pub(crate) struct Pattern {
    before: Bytes,
    after: Bytes,
}

/// A notification like the one before it, with another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Again {
    /// The whole message as it came.
    pub(crate) line: Bytes,
    /// UTF-8, without JSON's escapes.
    pub(crate) text: Bytes,
}

impl Pattern {
    /// Of a line that was read as a notification. Absent if it has no text, or more than one.
    pub(crate) fn of(line: &Bytes) -> Option<Self> {
        let mut found = memmem::find_iter(line, TEXT);
        let begin = found.next()?.checked_add(TEXT.len())?;
        if found.next().is_some() {
            return None;
        }
        let end = begin.checked_add(end_of_string(line.get(begin..)?)?)?;
        Some(Self { before: line.slice(..begin), after: line.slice(end..) })
    }

    /// Absent if the line differs in more than its text.
    pub(crate) fn again(&self, line: &Bytes) -> Option<Again> {
        let rest = line.strip_prefix(&self.before[..])?.strip_suffix(&self.after[..])?;
        let quoted = line.get(self.before.len() - 1..=self.before.len() + rest.len())?;
        // Takes the whole of it, or nothing: a quote in the middle, or a torn escape, is refused.
        let text: Cow<'_, str> = borrowed(quoted)?;
        let text = match text {
            Cow::Borrowed(text) => line.slice_ref(text.as_bytes()),
            Cow::Owned(text) => Bytes::from(text),
        };
        Some(Again { line: line.clone(), text })
    }
}

impl Again {
    /// The text; it was read as UTF-8 before.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Reads the whole line after all.
    pub(crate) fn read(&self) -> Result<super::Call, Oddity> {
        match read_message(&self.line)? {
            Message::Notification(call) => Ok(call),
            _ => Err(Oddity::of(OddityKind::NotRpc("no notification".to_owned()), &self.line)),
        }
    }
}

fn borrowed(quoted: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_slice::<Text<'_>>(quoted).ok().map(|Text(text)| text)
}

/// Where the string ends whose first quote is behind us.
fn end_of_string(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        match bytes.get(at)? {
            b'"' => return Some(at),
            _ => from = at + 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn line(text: &str) -> Bytes {
        let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "delta": text});
        json!({"method": "item/agentMessage/delta", "params": params}).to_string().into()
    }

    #[test]
    fn the_next_piece_of_a_text_is_known_by_the_bytes_around_it() {
        let pattern = Pattern::of(&line("one")).unwrap();
        let next = line("two");
        assert_eq!(pattern.again(&next), Some(Again { line: next, text: "two".into() }));
    }

    #[test]
    fn what_differs_elsewhere_is_another_line() {
        let pattern = Pattern::of(&line("one")).unwrap();
        let other = |from: &str, to: &str| {
            let text = String::from_utf8(line("two").to_vec()).unwrap();
            assert!(text.contains(from));
            Bytes::from(text.replace(from, to))
        };
        for (from, to) in [
            (r#""itemId":"i""#, r#""itemId":"j""#),
            ("agentMessage", "reasoning"),
            (r#""turnId":"u"}}"#, r#""turnId":"u"},"id":3}"#),
            (r#""two""#, r#""two","delta":"three""#),
            (r#""two""#, "2"),
            (r#""two""#, r#""two\""#),
            (r#""two""#, "\"t\u{1}o\""),
        ] {
            assert_eq!(pattern.again(&other(from, to)), None, "{to}");
        }
    }

    #[test]
    fn a_line_with_two_texts_is_no_pattern() {
        let two = br#"{"method":"m","params":{"x":{"delta":"a"},"delta":"b"}}"#;
        assert!(Pattern::of(&Bytes::from_static(two)).is_none());
        assert!(
            Pattern::of(&Bytes::from_static(br#"{"method":"m","params":{"delta":1}}"#)).is_none()
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let pattern = Pattern::of(&line("one")).unwrap();
        let torn = line("two").to_vec();
        let at = memmem::find(&torn, b"two").unwrap();
        let mut torn = torn;
        torn[at] = 0xff;
        assert_eq!(pattern.again(&Bytes::from(torn)), None);
    }

    proptest! {
        /// Whatever the two texts are: what is taken for the same line is the same line with the second text.
        #[test]
        fn a_text_is_never_read_differently(one in ".*", two in ".*") {
            let pattern = Pattern::of(&line(&one)).unwrap();
            let next = line(&two);
            let again = pattern.again(&next).unwrap();
            prop_assert_eq!(again.text(), two.as_str());
            let read: Value = serde_json::from_slice(&again.read().unwrap().params).unwrap();
            prop_assert_eq!(&read["delta"], &json!(two));
        }

        /// Nor is a line taken that JSON reads differently.
        #[test]
        fn only_what_json_reads_alike_is_taken(one in ".*", noise in "[\"\\\\a{},: ]{0,8}") {
            let pattern = Pattern::of(&line(&one)).unwrap();
            let mut bytes = pattern.before.to_vec();
            bytes.extend_from_slice(noise.as_bytes());
            bytes.extend_from_slice(&pattern.after);
            let bytes = Bytes::from(bytes);
            if let Some(again) = pattern.again(&bytes) {
                let read: Value = serde_json::from_slice(&bytes).unwrap();
                let mut expected: Value = serde_json::from_slice(&line(&one)).unwrap();
                expected["params"]["delta"] = json!(again.text());
                prop_assert_eq!(read, expected);
            }
        }
    }
}
