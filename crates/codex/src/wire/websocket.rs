//! WebSocket frames, as on Codex's unix socket. The header's bytes are tungstenite's business; what to do with an
//! over-long message is ours, because its own reader gives up the connection there and we must go on.

use std::io::Cursor;

use bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::{Frame as WireFrame, FrameHeader};

use super::frame::{Frame, FrameError, MAX_MESSAGE_BYTES, Outgoing};
use super::oddity::{HEAD_BYTES, head};

/// Control frames carry at most 125 bytes (RFC 6455, section 5.5).
const MAX_CONTROL_BYTES: u64 = 125;

/// Reads the frames that a server sends.
#[derive(Debug)]
pub struct WebSocketDecoder {
    limit: usize,
    /// The header of the frame whose payload is being read.
    current: Option<Payload>,
    /// The parts of a fragmented message so far.
    fragments: Option<Fragments>,
}

#[derive(Debug, Clone, Copy)]
struct Payload {
    kind: OpCode,
    is_last: bool,
    left: u64,
}

/// A message that comes in several frames, kept while it is short enough and only counted from then on.
#[derive(Debug)]
struct Fragments {
    kept: BytesMut,
    bytes: u64,
}

impl Default for WebSocketDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE_BYTES)
    }
}

impl WebSocketDecoder {
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, current: None, fragments: None }
    }

    fn read_header(&mut self, buffer: &mut BytesMut) -> Result<Option<Payload>, FrameError> {
        let mut cursor = Cursor::new(&buffer[..]);
        let parsed = FrameHeader::parse(&mut cursor)
            .map_err(|error| FrameError::NotWebSocket(error.to_string()))?;
        let Some((header, left)) = parsed else {
            return Ok(None);
        };
        let header_bytes = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        let refuse = |reason: &str| Err(FrameError::NotWebSocket(reason.to_owned()));
        if header.mask.is_some() {
            return refuse("a server's frames are never masked");
        }
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return refuse("reserved bits are set, but no extension was agreed on");
        }
        match header.opcode {
            OpCode::Control(_) if left > MAX_CONTROL_BYTES || !header.is_final => {
                return refuse("control frame too long or in parts");
            }
            OpCode::Control(Control::Reserved(_)) | OpCode::Data(Data::Reserved(_)) => {
                return refuse("unknown frame type");
            }
            OpCode::Data(Data::Continue) if self.fragments.is_none() => {
                return refuse("continuation of nothing");
            }
            OpCode::Data(Data::Text | Data::Binary) if self.fragments.is_some() => {
                return refuse("a new message before the end of the last one");
            }
            _ => {}
        }
        buffer.advance(header_bytes);
        if let OpCode::Data(Data::Text | Data::Binary) = header.opcode {
            self.fragments = Some(Fragments { kept: BytesMut::new(), bytes: 0 });
        }
        Ok(Some(Payload { kind: header.opcode, is_last: header.is_final, left }))
    }

    /// The short way for nearly every message: one frame, whole in the buffer, taken without a copy.
    fn take_whole(&mut self, payload: Payload, buffer: &mut BytesMut) -> Option<Frame> {
        let length = usize::try_from(payload.left).ok()?;
        let begun = self.fragments.as_ref().is_some_and(|fragments| fragments.bytes > 0);
        if begun || !payload.is_last || length > self.limit || buffer.len() < length {
            return None;
        }
        self.fragments = None;
        Some(Frame::Message(buffer.split_to(length).freeze()))
    }

    /// Moves what is there of a data payload out of the buffer. Gives the message when this was its last byte.
    fn take_data(&mut self, payload: &mut Payload, buffer: &mut BytesMut) -> Option<Frame> {
        let available = usize::try_from(payload.left).unwrap_or(usize::MAX).min(buffer.len());
        let part = buffer.split_to(available);
        payload.left -= available as u64;
        let fragments =
            self.fragments.get_or_insert_with(|| Fragments { kept: BytesMut::new(), bytes: 0 });
        fragments.keep(&part, payload.left, self.limit);
        if payload.left > 0 || !payload.is_last {
            return None;
        }
        let fragments = self.fragments.take()?;
        if fragments.bytes > self.limit as u64 {
            return Some(Frame::TooLong { bytes: fragments.bytes, head: fragments.kept.freeze() });
        }
        Some(Frame::Message(fragments.kept.freeze()))
    }
}

impl Fragments {
    /// Keeps the part, or only the message's head as soon as the announced size is over the limit.
    fn keep(&mut self, part: &[u8], still_to_come: u64, limit: usize) {
        self.bytes = self.bytes.saturating_add(part.len() as u64);
        if self.bytes.saturating_add(still_to_come) <= limit as u64 {
            self.kept.extend_from_slice(part);
            return;
        }
        if self.kept.len() < HEAD_BYTES {
            self.kept.extend_from_slice(&head(part));
        }
        if self.kept.len() > HEAD_BYTES {
            self.kept = BytesMut::from(&head(&self.kept)[..]);
        }
    }
}

impl Decoder for WebSocketDecoder {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        loop {
            let mut payload = match self.current.take() {
                Some(payload) => payload,
                None => match self.read_header(buffer)? {
                    Some(payload) => payload,
                    None => return Ok(None),
                },
            };
            if let OpCode::Control(control) = payload.kind {
                let length = usize::try_from(payload.left).unwrap_or(usize::MAX);
                if buffer.len() < length {
                    self.current = Some(payload);
                    return Ok(None);
                }
                let body = buffer.split_to(length).freeze();
                match control {
                    Control::Ping => return Ok(Some(Frame::Ping(body))),
                    Control::Close => return Ok(Some(Frame::Goodbye(close_reason(&body)))),
                    Control::Pong | Control::Reserved(_) => continue,
                }
            }
            if let Some(frame) = self.take_whole(payload, buffer) {
                return Ok(Some(frame));
            }
            // A message within the limit is waited for whole, so that it can be taken without a copy.
            let fits = payload.left <= self.limit as u64;
            let begun = self.fragments.as_ref().is_some_and(|fragments| fragments.bytes > 0);
            if fits && payload.is_last && !begun && (buffer.len() as u64) < payload.left {
                // Reserved in steps of what has come, so that a header that lies about its size costs nothing.
                buffer.reserve(buffer.len().clamp(8 * 1024, 1024 * 1024));
                self.current = Some(payload);
                return Ok(None);
            }
            let frame = self.take_data(&mut payload, buffer);
            if payload.left > 0 {
                self.current = Some(payload);
                return Ok(None);
            }
            if frame.is_some() {
                return Ok(frame);
            }
        }
    }

    /// A frame cut off by the end is dropped: without its length complete there is no message to report.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let frame = self.decode(buffer)?;
        if frame.is_none() {
            buffer.clear();
        }
        Ok(frame)
    }
}

fn close_reason(body: &Bytes) -> String {
    let code = body.get(..2).and_then(|code| code.try_into().ok()).map(u16::from_be_bytes);
    let reason = String::from_utf8_lossy(body.get(2..).unwrap_or_default());
    match code {
        Some(code) => format!("{code} {reason}").trim_end().to_owned(),
        None => "no reason given".to_owned(),
    }
}

/// Writes the frames that a client sends.
#[derive(Debug, Default)]
pub struct WebSocketEncoder;

impl Encoder<Outgoing> for WebSocketEncoder {
    type Error = std::io::Error;

    fn encode(&mut self, item: Outgoing, buffer: &mut BytesMut) -> Result<(), std::io::Error> {
        let mut frame = match item {
            Outgoing::Message(message) => {
                WireFrame::message(message, OpCode::Data(Data::Text), true)
            }
            Outgoing::Pong(body) => WireFrame::pong(body),
            Outgoing::Goodbye => WireFrame::close(None),
        };
        // A client must mask. The mask exists to confuse proxies; on a unix socket there are none, and a mask of
        // zeros leaves the payload as it is.
        frame.header_mut().mask = Some([0; 4]);
        buffer.reserve(frame.len());
        let mut bytes = Vec::with_capacity(frame.len());
        frame.format(&mut bytes).map_err(std::io::Error::other)?;
        buffer.extend_from_slice(&bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_frame(kind: OpCode, is_last: bool, body: &'static [u8]) -> Vec<u8> {
        let header = FrameHeader { is_final: is_last, opcode: kind, ..FrameHeader::default() };
        let mut bytes = Vec::new();
        WireFrame::from_payload(header, Bytes::from_static(body)).format(&mut bytes).unwrap();
        bytes
    }

    fn decode(limit: usize, bytes: &[u8], chunk: usize) -> Result<Vec<Frame>, FrameError> {
        let mut decoder = WebSocketDecoder::with_limit(limit);
        let mut buffer = BytesMut::new();
        let mut frames = Vec::new();
        for part in bytes.chunks(chunk) {
            buffer.extend_from_slice(part);
            while let Some(frame) = decoder.decode(&mut buffer)? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    const TEXT: OpCode = OpCode::Data(Data::Text);
    const MORE: OpCode = OpCode::Data(Data::Continue);
    const PING: OpCode = OpCode::Control(Control::Ping);

    #[test]
    fn whole_and_fragmented_messages_over_any_chunking() {
        let bytes = [
            server_frame(TEXT, true, b"one"),
            server_frame(TEXT, false, b"tw"),
            server_frame(PING, true, b"?"),
            server_frame(MORE, false, b""),
            server_frame(MORE, true, b"o"),
            server_frame(TEXT, true, b""),
        ]
        .concat();
        let expected = [
            Frame::Message(Bytes::from_static(b"one")),
            Frame::Ping(Bytes::from_static(b"?")),
            Frame::Message(Bytes::from_static(b"two")),
            Frame::Message(Bytes::new()),
        ];
        for chunk in 1..=bytes.len() {
            assert_eq!(decode(100, &bytes, chunk).unwrap(), expected, "chunks of {chunk}");
        }
    }

    #[test]
    fn an_over_long_message_is_skipped_and_the_next_one_read() {
        let bytes = [
            server_frame(TEXT, true, b"0123456789"),
            server_frame(TEXT, false, b"abc"),
            server_frame(MORE, true, b"def"),
            server_frame(TEXT, true, b"ok"),
        ]
        .concat();
        for chunk in 1..=bytes.len() {
            let frames = decode(5, &bytes, chunk).unwrap();
            assert!(matches!(frames[0], Frame::TooLong { bytes: 10, .. }), "{frames:?}");
            assert!(matches!(frames[1], Frame::TooLong { bytes: 6, .. }), "{frames:?}");
            assert_eq!(frames[2], Frame::Message(Bytes::from_static(b"ok")));
            assert_eq!(frames.len(), 3);
        }
    }

    #[test]
    fn a_header_that_lies_about_its_size_reserves_nothing() {
        let mut bytes = vec![0x81, 127];
        bytes.extend_from_slice(&(60 * 1024 * 1024_u64).to_be_bytes());
        let mut decoder = WebSocketDecoder::default();
        let mut buffer = BytesMut::from(&bytes[..]);
        assert!(decoder.decode(&mut buffer).unwrap().is_none());
        assert!(buffer.capacity() < 64 * 1024, "{}", buffer.capacity());
    }

    #[test]
    fn what_is_not_websocket_is_an_error() {
        assert!(decode(100, &[0x01, 0x80, 1, 2, 3, 4], 1).is_err(), "masked");
        assert!(decode(100, &[0x80, 0x00], 1).is_err(), "continuation of nothing");
        assert!(decode(100, &[0xC1, 0x00], 1).is_err(), "reserved bit");
        assert!(decode(100, &[0x09, 0x00], 1).is_err(), "ping in parts");
    }

    #[test]
    fn a_goodbye_carries_its_reason() {
        let frame = [0x88, 5, 0x03, 0xE8, b'b', b'y', b'e'];
        assert_eq!(decode(100, &frame, 1).unwrap(), [Frame::Goodbye("1000 bye".into())]);
    }
}
