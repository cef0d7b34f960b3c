//! The door for browsers and programs: TCP, beside the unix socket. Who comes in here is known by a token only, see
//! [`crate::guard`].

mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_user_timeout;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub use tls::{TlsError, TlsFiles};

/// Where to listen.
#[derive(Debug, Clone)]
pub struct TcpSettings {
    /// Port 0 lets the system choose.
    pub address: SocketAddr,
    /// Without it only what this machine alone can reach is listened on.
    pub tls: Option<TlsFiles>,
}

#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    #[error(
        "{0} can be reached by other machines and needs TLS; give a certificate and its key, or listen on 127.0.0.1"
    )]
    NeedsTls(SocketAddr),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Listening from [`TcpDoor::open`] on; whoever comes waits until the daemon's door serves.
pub struct TcpDoor {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

/// What the kernel keeps for a caller that does not read, beside what is on its way; else it keeps up to 4 MB for each, and a viewer that has
/// slept reads those first. Enough for a loopback at full speed.
const UNSENT_BYTES: u32 = 128 * 1024;

/// How long a reader may take nothing of what was sent before its connection is given up. Two pings of a stream are lost by then.
const TAKES_NOTHING: Duration = Duration::from_secs(60);

impl TcpDoor {
    /// Only inside a runtime.
    pub fn open(settings: &TcpSettings) -> Result<Self, TcpError> {
        let address = settings.address;
        if !address.ip().is_loopback() && settings.tls.is_none() {
            return Err(TcpError::NeedsTls(address));
        }
        // Before anything is opened: a certificate that cannot be used must not leave a port open that says nothing.
        let tls = settings.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let failed = |source| TcpError::Listen { address, source };
        let listener = StdListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, tls })
    }

    /// With the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn tls(&self) -> Option<TlsAcceptor> {
        self.tls.clone()
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, from) = self.listener.accept().await?;
        // Events are small and each is wanted at once.
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES)?;
        let most = u32::try_from(TAKES_NOTHING.as_millis()).unwrap_or(u32::MAX);
        set_tcp_user_timeout(&stream, most)?;
        Ok((stream, from))
    }
}

impl TlsFiles {
    /// A certificate and its key, each as PEM.
    pub fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }

    fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        Ok(TlsAcceptor::from(Arc::new(self.configuration()?)))
    }
}
