//! A connection whose requests can be read in one way only. It follows where each request ends, looks at each head before the HTTP
//! library gets it, and gives the library a request of its own in the place of one that is refused: that one is answered with 400, in
//! its turn, and the connection ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::head::{HeadFault, Length, check};

/// On the request that stands for one that was refused. Whoever sends it has it refused.
pub(crate) const MALFORMED: &str = "x-ostler-malformed";

/// What is read at once.
const PIECE_BYTES: usize = 8192;

/// A line with the size of a chunk, or one of a trailer.
const LINE_BYTES: usize = 4096;

pub(crate) struct Strict<S> {
    inner: S,
    /// A larger head is refused by the library, which is given it as it is.
    head_bytes: usize,
    state: State,
    /// What was read and is not looked at.
    raw: BytesMut,
    /// What the library may have.
    ready: BytesMut,
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of the body are to come.
    Body(u64),
    ChunkSize,
    /// With the line end behind it.
    Chunk(u64),
    Trailer,
    /// Whatever comes is read, so that the other end is not held up with its answer unread, and is no request.
    Refused,
    /// The library refuses it by itself.
    Unchecked,
}

impl<S> Strict<S> {
    pub(crate) fn new(inner: S, head_bytes: usize) -> Self {
        let (raw, ready) = (BytesMut::new(), BytesMut::new());
        Self { inner, head_bytes, state: State::Head, raw, ready, has_ended: false }
    }

    /// Moves on as far as what was read goes.
    fn look(&mut self) {
        loop {
            let before = (self.state, self.raw.len());
            match self.state {
                State::Head => self.look_at_head(),
                State::Body(left) => self.state = pass(self, left).map_or(State::Head, State::Body),
                State::Chunk(left) => {
                    self.state = pass(self, left).map_or(State::ChunkSize, State::Chunk);
                }
                State::ChunkSize => {
                    if let Some(line) = self.line() {
                        self.state = match chunk_size(&line) {
                            // The library has the line, and refuses the body.
                            None => State::Refused,
                            Some(0) => State::Trailer,
                            // Two more for the line end behind it.
                            Some(size) => State::Chunk(size.saturating_add(2)),
                        };
                    }
                }
                State::Trailer => {
                    if let Some(line) = self.line() {
                        self.state = match line.as_slice() {
                            b"\r\n" => State::Head,
                            line if line.ends_with(b"\r\n") => State::Trailer,
                            _ => State::Refused,
                        };
                    }
                }
                State::Refused => self.raw.clear(),
                State::Unchecked => {
                    let raw = self.raw.split();
                    self.ready.extend_from_slice(&raw);
                }
            }
            if (self.state, self.raw.len()) == before {
                return;
            }
        }
    }

    fn look_at_head(&mut self) {
        // Empty lines before a request are left out, as RFC 9112 says.
        while self.raw.starts_with(b"\r\n") {
            self.raw.advance(2);
        }
        let lines = self.raw.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let mut end = None;
        for (at, _) in lines {
            if at == 0 || self.raw.get(at - 1) != Some(&b'\r') {
                return self.refuse(HeadFault::BareLineFeed);
            }
            if at >= 3 && self.raw.get(at - 3..=at) == Some(b"\r\n\r\n".as_slice()) {
                end = Some(at + 1);
                break;
            }
        }
        let Some(end) = end else {
            if self.raw.len() > self.head_bytes {
                self.state = State::Unchecked;
            }
            return;
        };
        let head = self.raw.split_to(end);
        match check(&head) {
            Err(fault) => self.refuse(fault),
            Ok(length) => {
                self.ready.extend_from_slice(&head);
                self.state = match length {
                    Length::Bytes(0) => State::Head,
                    Length::Bytes(length) => State::Body(length),
                    Length::Chunks => State::ChunkSize,
                };
            }
        }
    }

    fn refuse(&mut self, fault: HeadFault) {
        let stands_for_it = format!(
            "GET / HTTP/1.1\r\nhost: malformed\r\n{MALFORMED}: {}\r\nconnection: close\r\n\r\n",
            fault.name()
        );
        self.ready.extend_from_slice(stands_for_it.as_bytes());
        self.raw.clear();
        self.state = State::Refused;
    }

    /// The next line, which the library gets as well. One that is too long is no line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = match self.raw.iter().position(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.raw.len() > LINE_BYTES => self.raw.len(),
            None => return None,
        };
        let line = self.raw.split_to(end);
        self.ready.extend_from_slice(&line);
        Some(line.to_vec())
    }
}

/// Gives the library up to so many bytes; how many are left, if any are.
fn pass<S>(strict: &mut Strict<S>, left: u64) -> Option<u64> {
    let here = usize::try_from(left).unwrap_or(usize::MAX).min(strict.raw.len());
    let passed = strict.raw.split_to(here);
    strict.ready.extend_from_slice(&passed);
    let left = left.saturating_sub(here as u64);
    (left > 0).then_some(left)
}

/// Hexadecimal digits, and what may stand behind them.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii_end();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u64::from_str_radix(text, 16).ok()
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.ready.is_empty() {
                let here = this.ready.len().min(buffer.remaining());
                buffer.put_slice(&this.ready.split_to(here));
                return Poll::Ready(Ok(()));
            }
            if this.has_ended {
                return Poll::Ready(Ok(()));
            }
            let mut piece = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut piece))?;
            if piece.filled().is_empty() {
                // What is there of a request is no whole one, and the library says so.
                this.has_ended = true;
                let raw = this.raw.split();
                this.ready.extend_from_slice(&raw);
                continue;
            }
            this.raw.extend_from_slice(piece.filled());
            this.look();
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    /// What the library gets of these bytes, however they come.
    async fn passed(text: &str, piece: usize) -> Result<String, String> {
        let (mut here, there) = tokio::io::duplex(1 << 16);
        let bytes = text.as_bytes().to_vec();
        let sending = tokio::spawn(async move {
            for piece in bytes.chunks(piece) {
                // Whoever is refused is not read to the end.
                drop(tokio::io::AsyncWriteExt::write_all(&mut here, piece).await);
                tokio::task::yield_now().await;
            }
        });
        let mut got = Vec::new();
        let read = Strict::new(there, 1000).read_to_end(&mut got).await;
        sending.await.unwrap();
        read.map(|_| String::from_utf8(got).unwrap()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn what_is_right_goes_through_as_it_is() {
        let plain = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        let body = "POST / HTTP/1.1\r\ncontent-length: 7\r\n\r\na\n\nb\0\n\n";
        let chunks = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\n\n\n\n\r\n0\r\nx: y\r\n\r\n";
        let many = [plain, body, chunks, body, plain].concat();
        for piece in [1, 3, 7, 1000] {
            assert_eq!(passed(&many, piece).await, Ok(many.clone()), "{piece}");
        }
        let half = "GET / HTTP/1.1\r\nho";
        assert_eq!(passed(half, 5).await, Ok(half.to_owned()));
        let long = format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(2000));
        assert_eq!(passed(&long, 100).await, Ok(long.clone()));
    }

    #[tokio::test]
    async fn what_is_wrong_is_replaced_in_its_turn_and_nothing_follows() {
        let plain = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        let hidden = "GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n";
        let wrong = [
            ("GET / HTTP/1.1\nhost: x\r\n\r\n", "bare-line-feed"),
            ("GET / HTTP/1.1\r\nhost: x\n\r\n", "bare-line-feed"),
            ("\nGET / HTTP/1.1\r\n\r\n", "bare-line-feed"),
            (
                "POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
                "length-and-chunks",
            ),
        ];
        for (text, fault) in wrong {
            for piece in [1, 1000] {
                let got = passed(&format!("{plain}{text}{hidden}"), piece).await.unwrap();
                let (first, refused) = got.split_at(plain.len());
                assert_eq!(first, plain);
                assert!(refused.contains(&format!("{MALFORMED}: {fault}\r\n")), "{got}");
                assert!(!got.contains("hidden"), "{got}");
            }
        }
        for size in ["+3\r\n", "\r\n", "3\n", "0x3\r\n", "3 3\r\n"] {
            let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
            let text = format!("{head}{size}abc\r\n0\r\n\r\n{hidden}");
            assert_eq!(passed(&text, 1000).await, Ok(format!("{head}{size}")));
        }
    }
}
