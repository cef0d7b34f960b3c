//! What the host agent is given of the daemon: tasks on Codex, and people's decisions. Each call has a connection of its own,
//! so that one who waits is in nobody's way.
//!
//! Start reading at [`HostTasks`]; `follow` is one turn from afar, `activity` what of it is shown.

mod activity;
mod asks;
mod confinement;
mod follow;
pub(crate) mod outside;
pub(crate) mod provider;
mod tasks;

use ostler_agent::ports::PortError;
use ostler_server::client::{Client, ClientError, Versions};
use ostler_server::problem::Trouble;

use crate::daemon::{ReachArguments, VERSION, client_settings, reach, reach_again};
use crate::failure::Failure;
use crate::places::Places;

pub(crate) use asks::HostAsks;
pub(crate) use confinement::{confinement, memory_approval, rights};
pub(crate) use outside::outside;
pub(crate) use provider::reviewer;
pub(crate) use tasks::HostTasks;

/// The way to the daemon, which is started if there is none.
#[derive(Debug)]
pub(crate) struct Way {
    places: Places,
    reach: ReachArguments,
}

impl Way {
    pub(crate) fn new(places: Places, reach: ReachArguments) -> Self {
        Self { places, reach }
    }

    async fn open(&self) -> Result<Client, PortError> {
        reach(&self.places, &self.reach).await.map_err(unreachable)
    }

    /// None if there is none.
    async fn open_if_runs(&self) -> Result<Option<Client>, PortError> {
        let versions = Versions::Only(VERSION.to_owned());
        let settings = client_settings(&self.places, versions).map_err(unreachable)?;
        match Client::connect(settings).await {
            Ok(client) => Ok(Some(client)),
            Err(ClientError::NotRunning(_)) => Ok(None),
            Err(error) => Err(port_error(error)),
        }
    }

    /// After one that was there has gone.
    async fn reopen(&self) -> Result<Client, PortError> {
        reach_again(&self.places, &self.reach).await.map_err(unreachable)
    }
}

fn unreachable(failure: Failure) -> PortError {
    PortError::Unreachable(failure.message)
}

/// What the daemon said, or that it said nothing.
fn port_error(error: ClientError) -> PortError {
    match error {
        ClientError::Refused(problem) => PortError::Refused(problem.detail),
        ClientError::Problem(problem) if problem.is(Trouble::NotFound) => {
            PortError::NotFound(problem.detail)
        }
        ClientError::Problem(problem) if problem.is(Trouble::Closing) => {
            PortError::Unreachable(problem.detail)
        }
        ClientError::Problem(problem) => PortError::Refused(problem.detail),
        // It was asked, and nobody knows how far it came.
        error @ (ClientError::TimedOut(_) | ClientError::Broken(_)) => {
            PortError::InDoubt(error.to_string())
        }
        error @ (ClientError::NotRunning(_)
        | ClientError::Unreachable { .. }
        | ClientError::Skew { .. }
        | ClientError::Closed) => PortError::Unreachable(error.to_string()),
    }
}

/// What the second try came to, if the first broke off in the middle: a second that surely did nothing does not make the first
/// one sure.
fn after_broken(error: PortError) -> PortError {
    match error {
        PortError::Unreachable(why) => PortError::InDoubt(why),
        error => error,
    }
}

/// Does it, and once more if the daemon went away meanwhile: for what may be said twice.
macro_rules! twice {
    ($way:expr, $client:ident => $call:expr) => {{
        let mut $client = $way.open().await?;
        match $call.await {
            Err(ostler_server::client::ClientError::Closed) => {
                let mut $client = $way.reopen().await?;
                $call.await.map_err($crate::agent::port_error)
            }
            Err(ostler_server::client::ClientError::Broken(_)) => {
                let mut $client = $way.reopen().await.map_err($crate::agent::after_broken)?;
                let again = $call.await.map_err($crate::agent::port_error);
                again.map_err($crate::agent::after_broken)
            }
            done => done.map_err($crate::agent::port_error),
        }
    }};
}
use twice;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What was asked and not answered may be done: only what never got there is surely not.
    #[test]
    fn what_may_have_arrived_is_in_doubt() {
        let silent = || ClientError::TimedOut(Duration::from_secs(30));
        let broken = || ClientError::Broken("in the middle".to_owned());
        for error in [silent(), broken()] {
            assert!(matches!(port_error(error), PortError::InDoubt(_)));
        }
        let nobody = || ClientError::NotRunning("/run/ostler.sock".into());
        for error in [nobody(), ClientError::Closed] {
            assert!(matches!(port_error(error), PortError::Unreachable(_)));
        }
        // The first try broke off, and for the second there was nobody.
        assert!(matches!(after_broken(port_error(nobody())), PortError::InDoubt(_)));
        let refused = PortError::Refused("no".to_owned());
        assert_eq!(after_broken(refused.clone()), refused);
    }
}
