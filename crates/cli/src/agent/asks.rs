//! Questions of the host agent's own tools.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_agent::Activity;
use ostler_agent::ports::{Asks, PortError};
use ostler_model::task::{AskClosed, AskRecord, DecisionRecord};
use ostler_model::{Ask, AskId};
use ostler_server::api::HostAskRequest;
use tokio::time::{Instant, sleep};

use super::{Way, twice};
use crate::tasks::words;

/// Shorter than a call's deadline.
const WAIT_S: u64 = 20;

/// How long a daemon may be away before nobody is there to ask: it is back within seconds after a restart.
const AWAY: Duration = Duration::from_secs(60);

const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Who is told that something is asked.
pub(crate) type Show = Box<dyn Fn(Activity) + Send + Sync>;

pub(crate) struct HostAsks {
    way: Arc<Way>,
    show: Show,
}

impl HostAsks {
    pub(crate) fn new(way: Arc<Way>, show: Show) -> Self {
        Self { way, show }
    }

    async fn put(&self, request: &HostAskRequest) -> Result<AskRecord, PortError> {
        twice!(self.way, client => client.post("/v1/host-asks", request))
    }

    async fn look(&self, ask: &AskId) -> Result<AskRecord, PortError> {
        let path = format!("/v1/host-asks/{ask}/decision?wait_s={WAIT_S}");
        twice!(self.way, client => client.get(&path))
    }

    async fn wait(&self, ask: &AskId) -> Result<DecisionRecord, PortError> {
        let mut heard = Instant::now();
        loop {
            let record = match self.look(ask).await {
                Ok(record) => record,
                Err(error) if error.may_pass() && heard.elapsed() < AWAY => {
                    sleep(LOOK_AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            heard = Instant::now();
            match (record.decision, record.closed) {
                (Some(decision), _) => return Ok(decision),
                (None, Some(closed)) => return Err(PortError::Refused(over(&closed))),
                (None, None) => {}
            }
        }
    }
}

fn over(closed: &AskClosed) -> String {
    format!("nobody decided: {}", words::ask_closed(closed))
}

impl Asks for HostAsks {
    fn open<'a>(
        &'a self,
        conversation: &'a str,
        key: &'a str,
        cwd: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        Box::pin(async move {
            let request = HostAskRequest {
                key: key.to_owned(),
                owner: conversation.to_owned(),
                cwd: cwd.to_owned(),
                content: ask,
            };
            self.put(&request).await
        })
    }

    fn decision<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        Box::pin(self.wait(ask))
    }

    fn withdraw<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let path = format!("/v1/host-asks/{ask}");
            let gone: Result<AskRecord, PortError> =
                async { twice!(self.way, client => client.delete(&path)) }.await;
            if let Err(error) = gone {
                tracing::warn!(%error, %ask, "a question stays open that nobody needs answered");
            }
        })
    }

    fn show(&self, activity: Activity) {
        (self.show)(activity);
    }
}
