//! What stands in the head of a request, looked at before the HTTP library does.
//!
//! The library is lenient: of a length and chunks it takes the chunks, a bare line feed ends a line for it, and of two headers of a name
//! routes see the first. A proxy in front of us may take the other one, and then two readers see two different requests. So a head that
//! can be read in two ways is refused.

/// Headers of which a request has one or none. Of all others several are one list.
const SINGLE: [&str; 19] = [
    "authorization",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "if-range",
    "last-event-id",
    "mcp-protocol-version",
    "origin",
    "ostler-mcp-client",
    "range",
    "referer",
    "sec-fetch-mode",
    "sec-fetch-site",
    "transfer-encoding",
    "x-ostler-csrf",
];

/// How the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Bytes(u64),
    Chunks,
}

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadFault {
    BareLineFeed,
    Nul,
    LengthAndChunks,
    Length,
    Encoding,
    Twice,
    Folded,
}

impl HeadFault {
    const ALL: [Self; 7] = [
        Self::BareLineFeed,
        Self::Nul,
        Self::LengthAndChunks,
        Self::Length,
        Self::Encoding,
        Self::Twice,
        Self::Folded,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BareLineFeed => "bare-line-feed",
            Self::Nul => "nul",
            Self::LengthAndChunks => "length-and-chunks",
            Self::Length => "length",
            Self::Encoding => "encoding",
            Self::Twice => "twice",
            Self::Folded => "folded",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    pub(crate) fn detail(self) -> &'static str {
        match self {
            Self::BareLineFeed => "a line of the head ends with a line feed alone",
            Self::Nul => "there is a NUL in the head",
            Self::LengthAndChunks => "the head has a Content-Length and a Transfer-Encoding",
            Self::Length => "the Content-Length is no number",
            Self::Encoding => "the Transfer-Encoding is not chunked, or this is HTTP/1.0",
            Self::Twice => "a header that may stand there once stands there twice",
            Self::Folded => "a line of the head begins with a space",
        }
    }
}

/// The length of the body of a head that ends with an empty line, or why it can be read in two ways.
pub(crate) fn check(head: &[u8]) -> Result<Length, HeadFault> {
    if head.contains(&0) {
        return Err(HeadFault::Nul);
    }
    let mut seen = [false; SINGLE.len()];
    let (mut length, mut chunks) = (None, false);
    let mut lines = head.split(|byte| *byte == b'\n');
    let is_http_10 = lines.next().is_some_and(|line| line.trim_ascii_end().ends_with(b"HTTP/1.0"));
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return Err(HeadFault::Folded);
        }
        // Whatever has no colon is refused by the library.
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(colon);
        let name = name.trim_ascii();
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let known = SINGLE.iter().position(|single| name.eq_ignore_ascii_case(single.as_bytes()));
        let Some(known) = known else { continue };
        if let Some(seen) = seen.get_mut(known)
            && std::mem::replace(seen, true)
        {
            return Err(HeadFault::Twice);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(number(value).ok_or(HeadFault::Length)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if is_http_10 || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(HeadFault::Encoding);
            }
            chunks = true;
        }
    }
    match (length, chunks) {
        (Some(_), true) => Err(HeadFault::LengthAndChunks),
        (_, true) => Ok(Length::Chunks),
        (length, false) => Ok(Length::Bytes(length.unwrap_or(0))),
    }
}

/// Digits alone: others take a sign, a list, or a space in between.
fn number(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &str) -> Result<Length, HeadFault> {
        check(format!("POST / HTTP/1.1\r\nhost: x\r\n{lines}\r\n").as_bytes())
    }

    #[test]
    fn what_can_be_read_in_one_way_only_is_taken() {
        assert_eq!(of(""), Ok(Length::Bytes(0)));
        assert_eq!(of("Content-Length:  12 \r\n"), Ok(Length::Bytes(12)));
        assert_eq!(of("transfer-encoding: Chunked\r\n"), Ok(Length::Chunks));
        assert_eq!(of("accept: a\r\naccept: b\r\ncookie: a=b\r\n"), Ok(Length::Bytes(0)));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let cases = [
            ("content-length: 1\r\ntransfer-encoding: chunked\r\n", HeadFault::LengthAndChunks),
            ("transfer-encoding: chunked\r\ncontent-length: 1\r\n", HeadFault::LengthAndChunks),
            ("content-length: 1\r\ncontent-length: 1\r\n", HeadFault::Twice),
            ("content-length: +1\r\n", HeadFault::Length),
            ("content-length: 1, 1\r\n", HeadFault::Length),
            ("content-length: \r\n", HeadFault::Length),
            ("content-length: 99999999999999999999\r\n", HeadFault::Length),
            ("transfer-encoding: gzip, chunked\r\n", HeadFault::Encoding),
            ("transfer-encoding : chunked\r\ncontent-length: 1\r\n", HeadFault::LengthAndChunks),
            ("authorization: Bearer a\r\nAuthorization: Bearer b\r\n", HeadFault::Twice),
            ("Host: y\r\n", HeadFault::Twice),
            ("x: a\r\n b\r\n", HeadFault::Folded),
            ("x: a\0b\r\n", HeadFault::Nul),
        ];
        for (lines, fault) in cases {
            assert_eq!(of(lines), Err(fault), "{lines:?}");
        }
        let old = b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(check(old), Err(HeadFault::Encoding));
    }

    #[test]
    fn names_lead_back_to_their_fault() {
        for fault in HeadFault::ALL {
            assert_eq!(HeadFault::from_name(fault.name()), Some(fault));
        }
    }
}
