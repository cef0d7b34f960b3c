//! A connection that tells when its bytes are out, and that can be reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The TCP connection, shared between hyper, which reads and writes it, and a fault, which breaks it.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    /// How often hyper has written out all that it had.
    flushes: watch::Sender<u64>,
}

/// The end of a [`Wire`] that hyper holds.
#[derive(Debug)]
pub(crate) struct Socket(Arc<Wire>);

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Arc<Self>> {
        // A delta must not wait for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        Ok(Arc::new(Self { stream, flushes: watch::Sender::new(0) }))
    }

    pub(crate) fn socket(self: &Arc<Self>) -> Socket {
        Socket(Arc::clone(self))
    }

    /// Waits until everything that hyper was given so far is in the socket. hyper flushes its socket only
    /// when its own buffer is empty, and does so after every look at the body.
    pub(crate) async fn flushed(&self) {
        let mut flushes = self.flushes.subscribe();
        // The sender is in `self`, so this wait can only end with a flush.
        drop(flushes.changed().await);
    }

    /// Closing the connection will now send a reset instead of an orderly end.
    pub(crate) fn reset_on_close(&self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(context))?;
            match self.0.stream.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(context))?;
            match self.0.stream.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.flushes.send_modify(|flushes| *flushes += 1);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown = rustix::net::shutdown(&self.0.stream, rustix::net::Shutdown::Write);
        Poll::Ready(shutdown.map_err(io::Error::from))
    }
}
