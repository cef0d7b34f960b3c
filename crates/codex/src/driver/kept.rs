//! Connections to an app-server under a keeper, which outlives us.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ostler_model::thread::ServerWanted;
use tokio::sync::Notify;

use super::connector::{ConnectError, Connection, Connector, hello};
use crate::app_server::AppServer;
use crate::keeper::environment::codex_environment;
use crate::keeper::{self, Condition, Found, KeeperId, StartKeeper, StopMode};
use crate::peer::PeerSettings;
use crate::secrets::{Filter, Secrets};
use crate::start_fault::StartFault;
use crate::transport::UnixSocket;

/// Starts a keeper when there is none, and goes back to it as long as its Codex lives.
#[derive(Debug)]
pub struct KeeperConnector {
    start: StartKeeper,
    settings: PeerSettings,
    keeper: Mutex<Option<KeeperId>>,
    /// Told whenever there is another keeper than before.
    replaced: Arc<Notify>,
    secrets: Secrets,
}

impl KeeperConnector {
    /// A keeper is started at the first connection.
    pub fn new(start: StartKeeper, settings: PeerSettings) -> Self {
        Self {
            start,
            settings,
            keeper: Mutex::new(None),
            replaced: Arc::default(),
            secrets: Secrets::default(),
        }
    }

    /// Goes to a keeper that runs already.
    pub fn at(self, keeper: KeeperId) -> Self {
        Self { keeper: Mutex::new(Some(keeper)), ..self }
    }

    /// Tells whenever there is another keeper than before.
    pub fn telling(self, replaced: Arc<Notify>) -> Self {
        Self { replaced, ..self }
    }

    /// Registers the app-server's secrets here.
    pub fn registering(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// The keeper of the last connection.
    pub fn keeper(&self) -> Option<KeeperId> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn connect_to(&self, wanted: ServerWanted) -> Result<Connection, ConnectError> {
        // Codex may say them before it is ready, too.
        self.secrets.learn_given(&self.start.environment_rule.given, &[]);
        if let Some(id) = self.keeper().filter(|_| wanted != ServerWanted::Fresh) {
            let found = keeper::find_again(&self.start.root, &id).await;
            match found {
                Some(found) if is_alive(&found.condition) => match self.greet(&found).await {
                    Ok(connection) => return Ok(connection),
                    Err(error) if wanted == ServerWanted::Same => return Err(error),
                    Err(error) => tracing::warn!(%error, %id, "starting another app-server"),
                },
                found if wanted == ServerWanted::Same => {
                    let how = found.map_or_else(String::new, |found| describe(&found.condition));
                    return Err(self.error(format!("the app-server is gone{how}")));
                }
                _ => {}
            }
        }
        if let Some(id) = self.keeper() {
            // It does not answer, or is dead and may have left something behind.
            self.end(&id).await?;
        }
        let record = keeper::start(self.start.clone()).await;
        let record = record.map_err(|error| ConnectError {
            fault: StartFault::of_keeper(&error),
            ..self.error(self.shown(error.to_string()).unwrap_or_default())
        })?;
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.id.clone());
        self.replaced.notify_one();
        match self.find(&record.id) {
            Some(found) => self.greet(&found).await,
            None => Err(self.error("the keeper's folder is gone".to_owned())),
        }
    }

    /// Ends an app-server that does not obey. Two must never have one thread open.
    async fn end(&self, id: &KeeperId) -> Result<(), ConnectError> {
        let Some(found) = keeper::find_again(&self.start.root, id).await else { return Ok(()) };
        let stopped = keeper::stop(&found, StopMode::Now).await;
        stopped.map(drop).map_err(|error| self.error(error.to_string()))
    }

    async fn greet(&self, found: &Found) -> Result<Connection, ConnectError> {
        self.learn(found);
        let transport = UnixSocket::connect(&found.folder.socket()).await;
        let transport = transport.map_err(|error| self.error(error.to_string()))?;
        let (server, events) = AppServer::greet(transport, &hello(), &self.settings)
            .await
            .map_err(|error| ConnectError {
                fault: StartFault::of_handshake(&error),
                ..self.error(error.to_string())
            })?;
        Ok(Connection { server, events })
    }

    /// Before the first word: what the app-server was given, be it by an earlier daemon, and its login.
    fn learn(&self, found: &Found) {
        let StartKeeper { environment, environment_rule, .. } = &self.start;
        let given = codex_environment(environment, environment_rule, found.folder.id());
        self.secrets.learn_environment(&given.variables);
        self.secrets.learn_given(&environment_rule.given, &given.variables);
        let record = found.record.as_ref();
        if let Some(record) = record
            && let Some(codex) = &record.codex
        {
            self.secrets.learn_process(codex.pid, &record.given_variables);
        }
        if let Some(home) = record.and_then(|record| record.codex_home.as_ref()) {
            self.secrets.watch_login(home);
        }
    }

    fn shown(&self, mut said: String) -> Option<String> {
        Filter::new(self.secrets.clone()).text(&mut said);
        (!said.is_empty()).then_some(said)
    }

    fn find(&self, id: &KeeperId) -> Option<Found> {
        keeper::find(&self.start.root, id.as_str()).ok()
    }

    fn error(&self, message: String) -> ConnectError {
        ConnectError { message, evidence: self.evidence(), fault: StartFault::Passing }
    }
}

impl Connector for KeeperConnector {
    fn connect(&self, wanted: ServerWanted) -> BoxFuture<'_, Result<Connection, ConnectError>> {
        Box::pin(self.connect_to(wanted))
    }

    fn evidence(&self) -> Option<String> {
        let found = self.find(&self.keeper()?)?;
        let said = keeper::last_words(&found.folder, &self.start.environment);
        self.shown(said)
    }

    fn evidence_mark(&self) -> Option<u64> {
        let found = self.find(&self.keeper()?)?;
        keeper::words_so_far(&found.folder)
    }

    fn evidence_since(&self, mark: u64) -> Option<String> {
        let found = self.find(&self.keeper()?)?;
        let said = keeper::last_words_since(&found.folder, mark, &self.start.environment);
        self.shown(said)
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}

fn is_alive(condition: &Condition) -> bool {
    matches!(condition, Condition::Running | Condition::KeeperDead)
}

fn describe(condition: &Condition) -> String {
    match condition {
        Condition::Ended(ended) => format!(": {}", ended.exit),
        _ => String::new(),
    }
}
