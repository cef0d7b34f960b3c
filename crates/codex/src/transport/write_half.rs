//! The writing half of a socket whose other half somebody else reads.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{SendFlags, Shutdown, send, shutdown};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWrite, Interest};

/// Tokio's own halves wake up for what comes in, too.
#[derive(Debug)]
pub(super) struct WriteHalf(AsyncFd<OwnedFd>);

impl WriteHalf {
    /// Of a socket that does not block.
    #[expect(
        deprecated,
        reason = "tokio warns of descriptors that are closed while they are watched; this one is owned here and closed last"
    )]
    pub(super) fn of(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self(AsyncFd::with_interest(socket, Interest::WRITABLE)?))
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        self.0.get_ref()
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(context))?;
            let sent = guard.try_io(|socket| {
                send(socket.get_ref(), bytes, SendFlags::NOSIGNAL).map_err(io::Error::from)
            });
            // Otherwise it was not ready after all.
            if let Ok(sent) = sent {
                return Poll::Ready(sent);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(self.socket(), Shutdown::Write).map_err(Into::into))
    }
}
