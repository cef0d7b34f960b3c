//! Where connections come from.

use std::fmt;

use futures_util::future::BoxFuture;
use ostler_model::thread::ServerWanted;
use thiserror::Error;

use crate::app_server::AppServer;
use crate::peer::Events;
use crate::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use crate::secrets::Secrets;
use crate::start_fault::StartFault;

/// A connection past its greeting.
#[derive(Debug)]
pub struct Connection {
    pub server: AppServer,
    pub events: Events,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ConnectError {
    pub message: String,
    /// The last lines of the app-server's stderr, redacted.
    pub evidence: Option<String>,
    /// Whether it may be there in a moment.
    pub fault: StartFault,
}

/// Gives connections to an app-server. Implemented for keepers; tests and embedders bring their own.
pub trait Connector: Send + Sync + fmt::Debug + 'static {
    /// Connects to the app-server that was used before, or, if any will do and that one is gone, to a fresh one on the
    /// same Codex home.
    fn connect(&self, wanted: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>>;

    /// The last lines of the app-server's stderr, redacted: evidence for people, never a reason for a decision. Read from a
    /// file's end, so it may block for as long as that takes.
    fn evidence(&self) -> Option<String> {
        None
    }

    /// How much the app-server has written to its stderr; absent if that is not kept.
    fn evidence_mark(&self) -> Option<u64> {
        None
    }

    /// The last lines that it wrote since then, redacted.
    fn evidence_since(&self, _mark: u64) -> Option<String> {
        self.evidence()
    }

    /// The values that are secret for this app-server; the driver hides them in all that it tells.
    fn secrets(&self) -> Secrets {
        Secrets::default()
    }
}

/// The greeting that the driver needs: cleaning up after an interrupt and reading turns back are experimental calls.
pub fn hello() -> Initialize {
    Initialize {
        client_info: ClientInfo {
            name: "ostler".to_owned(),
            title: Some("Ostler".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities { experimental_api: true, ..Capabilities::default() },
    }
}
