//! The daemon as the bridge reaches it from a process of its own.

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use ostler_server::client::{Client, ClientError};
use ostler_server::mcp::{Daemon, Errand, Lines, Verb};
use ostler_server::{Problem, Trouble};
use serde_json::Value;

use crate::daemon::{ReachArguments, reach, reach_again};
use crate::failure::Failure;
use crate::places::Places;

/// Each errand has a connection of its own, so that one who waits is in nobody's way.
pub(super) struct Outside {
    places: Places,
    reach: ReachArguments,
    /// What the client is called whatever it calls itself.
    name: Option<String>,
}

impl Outside {
    pub(super) fn new(places: Places, reach: ReachArguments, name: Option<String>) -> Self {
        Self { places, reach, name }
    }

    fn name<'a>(&'a self, client: &'a str) -> &'a str {
        self.name.as_deref().unwrap_or(client)
    }

    async fn open(&self, client: &str) -> Result<Client, Problem> {
        let reached = reach(&self.places, &self.reach).await.map_err(unreachable)?;
        Ok(reached.for_mcp(self.name(client)))
    }

    async fn reopen(&self, client: &str) -> Result<Client, Problem> {
        let reached = reach_again(&self.places, &self.reach).await.map_err(unreachable)?;
        Ok(reached.for_mcp(self.name(client)))
    }

    async fn errand(&self, errand: Errand) -> Result<Value, Problem> {
        let Errand { verb, path, body, client } = errand;
        let done = ask(self.open(&client).await?, verb, &path, &body).await;
        let is_lost = match (&done, verb) {
            // The connection had ended before anything was asked.
            (Err(ClientError::Closed), _) => true,
            // To read twice does no harm.
            (Err(ClientError::Broken(_)), Verb::Get) => true,
            _ => false,
        };
        let done = match is_lost {
            true => ask(self.reopen(&client).await?, verb, &path, &body).await,
            false => done,
        };
        done.map_err(problem)
    }
}

async fn ask(
    mut client: Client,
    verb: Verb,
    path: &str,
    body: &Value,
) -> Result<Value, ClientError> {
    match verb {
        Verb::Get => client.get(path).await,
        Verb::Post => client.post(path, body).await,
    }
}

impl Daemon for Outside {
    fn run(&self, errand: Errand) -> BoxFuture<'_, Result<Value, Problem>> {
        Box::pin(self.errand(errand))
    }

    fn lines(&self, errand: Errand) -> BoxFuture<'_, Result<Lines, Problem>> {
        Box::pin(async move {
            let opened = self.open(&errand.client).await?.lines(&errand.path).await;
            let lines = match opened {
                Err(ClientError::Closed | ClientError::Broken(_)) => {
                    self.reopen(&errand.client).await?.lines(&errand.path).await
                }
                opened => opened,
            };
            let lines = lines.map_err(problem)?;
            let values = stream::unfold(lines, |mut lines| async move {
                let next = lines.next::<Value>().await;
                next.ok().flatten().map(|value| (value, lines))
            });
            Ok(values.boxed())
        })
    }
}

fn unreachable(failure: Failure) -> Problem {
    let problem = Problem::new(Trouble::Unavailable, failure.message);
    match failure.hint {
        Some(hint) => problem.hint(hint),
        None => problem.hint("a person starts the daemon with `ostler daemon start`"),
    }
}

fn problem(error: ClientError) -> Problem {
    match error {
        ClientError::Refused(problem) | ClientError::Problem(problem) => *problem,
        error => unreachable(error.into()),
    }
}
