//! An app-server as a child of ours: it lives and dies with us. For programs that want no keeper.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_model::thread::ServerWanted;

use super::connector::{ConnectError, Connection, Connector, hello};
use crate::app_server::AppServer;
use crate::peer::PeerSettings;
use crate::secrets::Secrets;
use crate::start_fault::StartFault;
use crate::transport::{StdioChild, StdioStart};

/// A Codex whose stdin closed ends within 0.1 s.
const FAREWELL: Duration = Duration::from_secs(5);

/// Starts `codex app-server` on pipes. A connection that is gone was its last: the next one is a new process.
#[derive(Debug)]
pub struct ChildConnector {
    start: StdioStart,
    settings: PeerSettings,
    child: Mutex<Option<StdioChild>>,
    secrets: Secrets,
}

impl ChildConnector {
    pub fn new(start: StdioStart, settings: PeerSettings) -> Self {
        let secrets = Secrets::default();
        secrets.learn_environment(&start.environment);
        Self { start, settings, child: Mutex::new(None), secrets }
    }

    async fn connect_to(&self, wanted: ServerWanted) -> Result<Connection, ConnectError> {
        let before = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = before {
            // Its pipes are gone, so it ends; two must not write to one Codex home's threads.
            let ended = child.wait(FAREWELL).await;
            tracing::debug!(?ended, "the app-server before has ended");
        }
        if wanted == ServerWanted::Same {
            return Err(failed("the app-server ended with its pipes"));
        }
        let (transport, child) =
            self.start.clone().spawn().map_err(|error| failed(error.to_string()))?;
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let (server, events) = AppServer::greet(transport, &hello(), &self.settings)
            .await
            .map_err(|error| failed(error.to_string()))?;
        Ok(Connection { server, events })
    }
}

impl Connector for ChildConnector {
    fn connect(&self, wanted: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        Box::pin(self.connect_to(wanted))
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}

fn failed(message: impl Into<String>) -> ConnectError {
    ConnectError { message: message.into(), evidence: None, fault: StartFault::Passing }
}
