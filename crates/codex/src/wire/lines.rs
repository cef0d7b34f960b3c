//! One JSON object per line, as on Codex's stdin and stdout.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use super::frame::{Frame, FrameError, MAX_MESSAGE_BYTES, Outgoing};
use super::oddity::head;

/// Splits bytes into lines. An over-long line is an item, not an error: `FramedRead` ends the stream after an
/// error, and one bad line must not end a healthy Codex.
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    /// How much of the buffer was searched for a line end before, so that a long line is not searched twice.
    searched: usize,
    skipping: Option<Skipping>,
}

/// A line over the limit, being thrown away up to its end.
#[derive(Debug)]
struct Skipping {
    bytes: u64,
    head: Bytes,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE_BYTES)
    }
}

impl LineDecoder {
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, searched: 0, skipping: None }
    }

    /// Goes on throwing away; gives the report once the line's end is found.
    fn skip(&mut self, mut skipping: Skipping, buffer: &mut BytesMut) -> Option<Frame> {
        if let Some(end) = memchr::memchr(b'\n', buffer) {
            skipping.bytes += end as u64;
            buffer.advance(end + 1);
            return Some(Frame::TooLong { bytes: skipping.bytes, head: skipping.head });
        }
        skipping.bytes += buffer.len() as u64;
        buffer.clear();
        self.skipping = Some(skipping);
        None
    }
}

impl Decoder for LineDecoder {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        loop {
            if let Some(skipping) = self.skipping.take() {
                return Ok(self.skip(skipping, buffer));
            }
            let unsearched = buffer.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', unsearched) else {
                // One byte more than the limit: it may be the carriage return, which does not count.
                if buffer.len() > self.limit + 1 {
                    self.searched = 0;
                    let skipping = Skipping { bytes: buffer.len() as u64, head: head(buffer) };
                    // A new buffer, because a cleared one would keep its size for the life of the connection.
                    *buffer = BytesMut::new();
                    self.skipping = Some(skipping);
                    return Ok(None);
                }
                self.searched = buffer.len();
                return Ok(None);
            };
            let end = self.searched + found;
            self.searched = 0;
            let line = buffer.split_to(end);
            buffer.advance(1);
            if let Some(frame) = finish(line, self.limit) {
                return Ok(Some(frame));
            }
        }
    }

    /// A last line without its line end is delivered too; if the writer died half-way it will not parse, and says so.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        if let Some(frame) = self.decode(buffer)? {
            return Ok(Some(frame));
        }
        if let Some(skipping) = self.skipping.take() {
            return Ok(Some(Frame::TooLong { bytes: skipping.bytes, head: skipping.head }));
        }
        self.searched = 0;
        Ok(finish(buffer.split(), self.limit))
    }
}

/// Blank lines carry nothing and are skipped; a carriage return before the line end is not part of the line.
fn finish(mut line: BytesMut, limit: usize) -> Option<Frame> {
    let bytes = line.len() as u64;
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    if line.len() > limit {
        return Some(Frame::TooLong { bytes, head: head(&line) });
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(Frame::Message(line.freeze()))
}

/// Writes one message per line. Our messages come from `serde_json` and hold no line end.
#[derive(Debug, Default)]
pub struct LineEncoder;

impl Encoder<Outgoing> for LineEncoder {
    type Error = std::io::Error;

    fn encode(&mut self, item: Outgoing, buffer: &mut BytesMut) -> Result<(), std::io::Error> {
        if let Outgoing::Message(message) = item {
            buffer.reserve(message.len() + 1);
            buffer.put(message);
            buffer.put_u8(b'\n');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the chunks one after the other, then the end, and gives all frames.
    fn decode(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
        let mut decoder = LineDecoder::with_limit(limit);
        let mut buffer = BytesMut::new();
        let mut frames = Vec::new();
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(frame) = decoder.decode(&mut buffer).unwrap() {
                frames.push(frame);
            }
        }
        while let Some(frame) = decoder.decode_eof(&mut buffer).unwrap() {
            frames.push(frame);
        }
        frames
    }

    fn message(text: &str) -> Frame {
        Frame::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn splits_lines_over_any_chunking() {
        let frames = decode(100, &[b"{\"a\"", b":1}\n{\"b\":", b"2}\r\n\n  \n{\"c\":3}"]);
        assert_eq!(frames, [message("{\"a\":1}"), message("{\"b\":2}"), message("{\"c\":3}")]);
    }

    #[test]
    fn an_over_long_line_is_reported_and_the_next_one_read() {
        let frames = decode(4, &[b"ok1\n", b"0123456", b"789\nok2\n", b"abcdefgh"]);
        let too_long = |text: &'static str| Frame::TooLong {
            bytes: text.len() as u64,
            head: Bytes::from_static(text.as_bytes()),
        };
        assert_eq!(frames[0], message("ok1"));
        assert_eq!(frames[1], Frame::TooLong { bytes: 10, head: Bytes::from_static(b"0123456") });
        assert_eq!(frames[2], message("ok2"));
        assert_eq!(frames[3], too_long("abcdefgh"));
        assert_eq!(frames.len(), 4);
    }

    #[test]
    fn bytes_that_are_not_text_pass_through() {
        assert_eq!(
            decode(100, &[b"\xff\xfe\n{}\n"]),
            [Frame::Message(Bytes::from_static(b"\xff\xfe")), message("{}")]
        );
    }
}
