//! The server: one task at the door, one per connection.

mod respond;

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::codex_config::{self, ProviderLimits};
use crate::conversation::Progress;
use crate::door::{Door, DoorBell, DoorError};
use crate::records::{Records, RequestRecord, WaitError};
use crate::script::{self, Script, ScriptError};
use crate::socket::Wire;

/// A running scripted model. Dropping it stops it.
#[derive(Debug)]
pub struct ScriptedModel {
    port: u16,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

/// Why a scripted model cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("a scripted model runs on tokio; start it inside a tokio runtime")]
    NoRuntime,
    #[error("cannot listen on 127.0.0.1:{port}: {source}; use port 0 for any free one")]
    Listen { port: u16, source: io::Error },
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    script: Script,
    progress: Mutex<Progress>,
    records: Arc<Records>,
    door: DoorBell,
    /// True while every answer waits before its headers.
    held: watch::Sender<bool>,
    /// Without it a request gets status 401.
    key: Mutex<Option<String>>,
    /// Every request gets this one.
    outage: Mutex<Option<StatusCode>>,
    stop: CancellationToken,
}

impl ScriptedModel {
    /// Starts on any free port of 127.0.0.1.
    pub fn start(script: Script) -> Result<Self, StartError> {
        Self::start_on_port(script, 0)
    }

    /// Starts on this port of 127.0.0.1, for a server that must be found again after a restart.
    pub fn start_on_port(script: Script, port: u16) -> Result<Self, StartError> {
        script::check(&script)?;
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let (door, bell, port) =
            Door::open_on(port).map_err(|source| StartError::Listen { port, source })?;
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            script,
            progress: Mutex::default(),
            records: Arc::new(Records::new()),
            door: bell,
            held: watch::Sender::new(false),
            key: Mutex::default(),
            outage: Mutex::default(),
            stop: stop.clone(),
        });
        let tasks = TaskTracker::new();
        let enter = {
            let (shared, tasks, runtime) = (Arc::clone(&shared), tasks.clone(), runtime.clone());
            move |stream| {
                // Asked for here, at the door: it cannot be closed between this and the connection's start.
                let closings = shared.door.closings();
                tasks.spawn_on(serve(Arc::clone(&shared), stream, closings), &runtime);
            }
        };
        tasks.spawn_on(door.keep(stop.clone(), enter), &runtime);
        Ok(Self { port, shared, tasks, _stop_on_drop: stop.drop_guard() })
    }

    /// Takes requests but answers none until [`ScriptedModel::release_answers`], so that a test can have as many under
    /// way at once as it wants.
    pub fn hold_answers(&self) {
        self.shared.held.send_replace(true);
    }

    pub fn release_answers(&self) {
        self.shared.held.send_replace(false);
    }

    /// From now on requests without `Authorization: Bearer <key>` get status 401 and use up no answer.
    pub fn demand_key(&self, key: impl Into<String>) {
        *self.shared.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.into());
    }

    /// From now on every request gets this HTTP status and uses up no answer, until [`ScriptedModel::end_outage`]. Of such
    /// requests no body is kept.
    pub fn begin_outage(&self, status: u16) {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *self.shared.outage.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    pub fn end_outage(&self) {
        *self.shared.outage.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What Codex takes as `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The text for `config.toml` in a private `CODEX_HOME`.
    pub fn codex_config(&self, limits: &ProviderLimits) -> String {
        codex_config::codex_config(&self.base_url(), limits)
    }

    /// The newest requests, oldest first; at most 10,000.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.shared.records.all()
    }

    /// How many requests came, those no longer kept included.
    pub fn requests_seen(&self) -> u64 {
        self.shared.records.seen()
    }

    /// How many requests are no longer kept.
    pub fn requests_dropped(&self) -> u64 {
        self.shared.records.dropped()
    }

    /// Waits until this many requests have come.
    pub async fn wait_for_requests(
        &self,
        count: u64,
        within: Duration,
    ) -> Result<Vec<RequestRecord>, WaitError> {
        self.wait_until(within, |records| {
            count == 0 || records.last().is_some_and(|record| record.number >= count)
        })
        .await
    }

    /// Waits until the kept requests are as the caller wants them.
    pub async fn wait_until(
        &self,
        within: Duration,
        satisfied: impl FnMut(&[RequestRecord]) -> bool,
    ) -> Result<Vec<RequestRecord>, WaitError> {
        self.shared.records.wait_until(within, satisfied).await?;
        Ok(self.requests())
    }

    /// Closes the listening socket; returns when connections are refused. Idle connections end, running
    /// answers play on.
    pub async fn refuse_connections(&self) -> Result<(), DoorError> {
        self.shared.door.close(None).await
    }

    /// Listens again, on the same port; returns when connections are accepted.
    pub async fn accept_connections(&self) -> Result<(), DoorError> {
        self.shared.door.open().await
    }

    /// Stops at once, in the middle of any answer, and returns when every task has ended.
    pub async fn shutdown(self) {
        self.shared.stop.cancel();
        self.tasks.close();
        // Every task ends at its next await, so this needs no deadline of its own.
        self.tasks.wait().await;
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, mut closings: watch::Receiver<u64>) {
    let wire = match Wire::new(stream) {
        Ok(wire) => wire,
        Err(error) => return tracing::debug!(%error, "the client left before its first request"),
    };
    let service =
        service_fn(|request| respond::respond(Arc::clone(&shared), Arc::clone(&wire), request));
    // Codex keeps idle connections for its next request, so none is closed for its idleness.
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(wire.socket()), service);
    let mut connection = pin!(connection);
    loop {
        // Dropping the connection is how it stops; the other two only wait for a change.
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = shared.stop.cancelled() => return,
            Ok(()) = closings.changed() => connection.as_mut().graceful_shutdown(),
        }
    }
}
