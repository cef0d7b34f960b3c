//! Server-sent events out of bytes that may be cut anywhere and may be broken anywhere.
//!
//! The crate `sse-stream` is not taken for this: at a line that it cannot read it loses the rest of the chunk, it knows no
//! bound, and at the end of a stream it gives out an event that was cut as if it were whole.

/// An image or a whole file in one event stays far below this; anything larger is no answer of a model.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SseEvent {
    Data(String),
    /// Its data is no UTF-8: something is lost, and the reader must know.
    Unreadable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the answer is larger than {MAX_EVENT_BYTES} bytes")]
pub(crate) struct EventTooLarge;

/// Holds what has come of the event that is under way.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    line_ends: LineEnds,
    begun: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum LineEnds {
    #[default]
    Any,
    /// The line ended with CR, so an LF that comes next belongs to the same end.
    AfterCr,
}

impl SseParser {
    /// The events that end in these bytes. One that never ends is never given.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let after_cr = std::mem::take(&mut self.line_ends) == LineEnds::AfterCr;
            if after_cr && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep(rest)?;
                break;
            };
            let (line, behind) = rest.split_at(end);
            self.keep(line)?;
            if behind.first() == Some(&b'\r') {
                self.line_ends = LineEnds::AfterCr;
            }
            rest = behind.get(1..).unwrap_or_default();
            events.extend(self.end_line());
        }
        Ok(events)
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if held.saturating_add(part.len()) > MAX_EVENT_BYTES {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let whole = std::mem::take(&mut self.line);
        let mut line = whole.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let data = self.data.take()?;
            return Some(match String::from_utf8(data) {
                Ok(data) => SseEvent::Data(data),
                Err(_) => SseEvent::Unreadable,
            });
        }
        // Names of events, ids and comments say nothing that the data does not say; lines that are no field are skipped.
        if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(text: &str) -> SseEvent {
        SseEvent::Data(text.to_owned())
    }

    fn all(bytes: &[u8]) -> Vec<SseEvent> {
        SseParser::default().feed(bytes).unwrap()
    }

    #[test]
    fn reads_every_form_that_the_format_allows() {
        let expected = vec![data("{\"a\":1}"), data("two\nlines"), data("")];
        for bytes in [
            "event: x\ndata: {\"a\":1}\n\n: note\n\ndata: two\ndata:lines\n\ndata:\n\n",
            "event: x\r\ndata: {\"a\":1}\r\n\r\n: note\r\n\r\ndata: two\r\ndata:lines\r\n\r\ndata:\r\n\r\n",
            "event: x\rdata: {\"a\":1}\r\r: note\r\rdata: two\rdata:lines\r\rdata:\r\r",
            "\u{feff}data: {\"a\":1}\n\n\n\nid: 7\nretry: no\ndata: two\ndata:lines\n\nfoo\ndata:\n\n",
        ] {
            assert_eq!(all(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn goes_on_behind_garbage() {
        let bytes = b"\x01\x02\x7f<<no event>>\n\ndata: \xff\xfe\n\n\xff\xff\xffdata: lost\n\ndata: well\n\n";
        assert_eq!(all(bytes), [SseEvent::Unreadable, data("well")]);
    }

    #[test]
    fn an_event_that_is_cut_is_never_given() {
        assert_eq!(all(b"data: whole\n\ndata: {\"cut\":true}\n"), [data("whole")]);
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let mut parser = SseParser::default();
        let chunk = vec![b'x'; 1024 * 1024];
        parser.feed(b"data: ").unwrap();
        let fed = (0..17).map(|_| parser.feed(&chunk)).find_map(Result::err);
        assert_eq!(fed, Some(EventTooLarge));
        let mut parser = SseParser::default();
        let line = [b"data: ".as_slice(), &chunk, b"\n"].concat();
        let fed = (0..17).map(|_| parser.feed(&line)).find_map(Result::err);
        assert_eq!(fed, Some(EventTooLarge), "many lines are one event, too");
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(bytes in "[ad:t\r\n\u{e4} ]{0,80}", cut in 0_usize..100) {
            let bytes = format!("data: \u{e4}\r\n\r\n{bytes}\n\n").into_bytes();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut parser = SseParser::default();
            let mut events = parser.feed(first).unwrap();
            events.extend(parser.feed(second).unwrap());
            prop_assert_eq!(events, all(&bytes));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            prop_assert!(SseParser::default().feed(&bytes).is_ok());
        }
    }
}
