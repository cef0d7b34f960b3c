//! What must hold for the reader whatever bytes come in. Shared by the property test and the fuzz target.

use bytes::BytesMut;
use ostler_codex::wire::{Frame, LineDecoder, WebSocketDecoder, read_message};
use tokio_util::codec::Decoder;

/// Small limits, so that short inputs reach the code for long ones.
const LIMITS: [usize; 4] = [0, 7, 64, 4096];

/// Reads the bytes as lines and as WebSocket frames, cut into chunks by `cuts`, and panics where a promise is broken:
/// the same frames whatever the chunks, an end after at most one frame a byte, no memory beyond the limit.
pub fn check(bytes: &[u8], cuts: u8) {
    let limit = LIMITS.get(usize::from(cuts & 3)).copied().unwrap_or(64);
    let chunk = usize::from(cuts >> 2).max(1);
    let whole = read(&mut LineDecoder::with_limit(limit), bytes, bytes.len().max(1), limit);
    let parts = read(&mut LineDecoder::with_limit(limit), bytes, chunk, limit);
    assert_eq!(whole, parts, "lines: chunks of {chunk}, limit {limit}");
    let whole = read(&mut WebSocketDecoder::with_limit(limit), bytes, bytes.len().max(1), limit);
    let parts = read(&mut WebSocketDecoder::with_limit(limit), bytes, chunk, limit);
    assert_eq!(whole, parts, "frames: chunks of {chunk}, limit {limit}");
}

/// What was read, in a form that does not depend on how the bytes came: the head of an over-long message may.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Message(Vec<u8>),
    TooLong(u64),
    Ping(Vec<u8>),
    Goodbye(String),
    Failed,
}

fn read(
    decoder: &mut impl Decoder<Item = Frame>,
    bytes: &[u8],
    chunk: usize,
    limit: usize,
) -> Vec<Read> {
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    for part in bytes.chunks(chunk) {
        buffer.extend_from_slice(part);
        loop {
            match decoder.decode(&mut buffer) {
                Ok(Some(frame)) => all.push(kept(frame, limit)),
                Ok(None) => break,
                Err(_) => {
                    all.push(Read::Failed);
                    return all;
                }
            }
            assert!(all.len() <= bytes.len() + 1, "more frames than bytes");
        }
        // What stays is at most one unfinished message (a control frame has up to 125 bytes), its header and a chunk.
        let bound = limit.max(125) + chunk + 14;
        assert!(buffer.len() <= bound, "{} bytes kept", buffer.len());
        // A buffer grows by doubling, from the 8 KiB that a header reserves.
        assert!(buffer.capacity() <= 4 * bound + 16 * 1024, "{} bytes reserved", buffer.capacity());
    }
    loop {
        match decoder.decode_eof(&mut buffer) {
            Ok(Some(frame)) => all.push(kept(frame, limit)),
            Ok(None) => break,
            Err(_) => {
                all.push(Read::Failed);
                return all;
            }
        }
        assert!(all.len() <= bytes.len() + 1, "more frames than bytes");
    }
    assert!(buffer.is_empty(), "the end left {} bytes", buffer.len());
    all
}

fn kept(frame: Frame, limit: usize) -> Read {
    match frame {
        Frame::Message(message) => {
            assert!(message.len() <= limit, "a message over the limit");
            match read_message(&message) {
                Ok(_) => {}
                Err(oddity) => {
                    assert!(oddity.head.len() <= 200, "a head of {} bytes", oddity.head.len());
                    assert!(!oddity.to_string().contains('\n'), "an oddity fits on one line");
                }
            }
            Read::Message(message.to_vec())
        }
        Frame::TooLong { bytes, head } => {
            assert!(head.len() <= 200, "a head of {} bytes", head.len());
            Read::TooLong(bytes)
        }
        Frame::Ping(payload) => Read::Ping(payload.to_vec()),
        Frame::Goodbye(reason) => Read::Goodbye(reason),
    }
}
