//! A part of a file, for players and for downloads that go on where they broke off (RFC 9110 §14).
//!
//! One range of bytes is given. Whoever asks for several, or for something that is no range, gets the whole file, as the RFC
//! allows; so does whoever names a state of the file (`If-Range`), for files here have no name for their states.

use std::ops::Range;

use axum::http::{HeaderMap, header};

/// What is wanted of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Whole,
    Part(Range<u64>),
    /// It begins behind the end of the file.
    Nothing,
}

impl Wanted {
    pub(super) fn of(headers: &HeaderMap, length: u64) -> Self {
        let mut ranges = headers.get_all(header::RANGE).iter();
        let only = ranges.next().filter(|_| ranges.next().is_none());
        match only.and_then(|value| value.to_str().ok()) {
            Some(text) if !headers.contains_key(header::IF_RANGE) => Self::read(text, length),
            _ => Self::Whole,
        }
    }

    fn read(text: &str, length: u64) -> Self {
        let Some((unit, range)) = text.split_once('=') else { return Self::Whole };
        let Some((first, last)) = range.trim().split_once('-') else { return Self::Whole };
        if !unit.eq_ignore_ascii_case("bytes") {
            return Self::Whole;
        }
        let range = match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
            (Some(first), None) if last.is_empty() => first..length,
            // The last so many bytes.
            (None, Some(last)) if first.is_empty() => length.saturating_sub(last)..length,
            _ => return Self::Whole,
        };
        if range.is_empty() { Self::Nothing } else { Self::Part(range) }
    }
}

/// Digits alone; `parse` would take a sign.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More than fits is behind the end of any file.
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn one_range_is_given_and_all_else_is_the_whole() {
        let part = |range: Range<u64>| Wanted::Part(range);
        for (text, wanted) in [
            ("bytes=0-0", part(0..1)),
            ("bytes=2-4", part(2..5)),
            ("Bytes=2-", part(2..10)),
            ("bytes=2-99", part(2..10)),
            ("bytes=2-99999999999999999999999", part(2..10)),
            ("bytes=-3", part(7..10)),
            ("bytes=-99", part(0..10)),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=4-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
        ] {
            assert_eq!(Wanted::read(text, 10), wanted, "{text}");
        }
        assert_eq!(Wanted::read("bytes=0-", 0), Wanted::Nothing);
    }

    #[test]
    fn two_headers_or_a_state_of_the_file_are_the_whole() {
        let mut headers = HeaderMap::new();
        assert_eq!(Wanted::of(&headers, 10), Wanted::Whole);
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-2"));
        assert_eq!(Wanted::of(&headers, 10), Wanted::Part(1..3));
        let mut with_state = headers.clone();
        with_state.insert(header::IF_RANGE, HeaderValue::from_static("\"x\""));
        assert_eq!(Wanted::of(&with_state, 10), Wanted::Whole);
        headers.append(header::RANGE, HeaderValue::from_static("bytes=1-2"));
        assert_eq!(Wanted::of(&headers, 10), Wanted::Whole);
    }
}
