//! Questions of host agents' own tools over HTTP: put, wait, take back. People answer them like all others.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use ostler_engine::HostAsk;
use ostler_model::AskId;
use ostler_model::task::AskRecord;
use serde::Deserialize;

use crate::api::HostAskRequest;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, Given, ids};

/// What proxies between here and a browser let a request wait without a word.
const MOST_WAIT_S: u64 = 60;

pub(crate) async fn open(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(request): Given<HostAskRequest>,
) -> Result<Json<AskRecord>, Problem> {
    let HostAskRequest { key, owner, cwd, content } = request;
    let wish = HostAsk { key, owner, cwd, content, by: caller.name() };
    Ok(Json(office.engine.host_ask(wish).await?))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DecisionQuery {
    wait_s: u64,
}

pub(crate) async fn decision(
    State(office): State<Arc<Office>>,
    Path(ask): Path<String>,
    Query(query): Query<DecisionQuery>,
) -> Result<Json<AskRecord>, Problem> {
    ids::check(&ask)?;
    let id = AskId::new(ask);
    let most = Duration::from_secs(query.wait_s.min(MOST_WAIT_S));
    let found = tokio::select! {
        found = office.engine.host_decision(&id, most) => found?,
        () = office.hall.closing().cancelled() => {
            let detail = "the daemon is ending; ask again, the question stays open";
            return Err(Problem::new(Trouble::Closing, detail));
        }
    };
    found.map(Json).ok_or_else(|| missing(&id))
}

pub(crate) async fn withdraw(
    State(office): State<Arc<Office>>,
    Path(ask): Path<String>,
) -> Result<Json<AskRecord>, Problem> {
    ids::check(&ask)?;
    let id = AskId::new(ask);
    let found = office.engine.withdraw_host_ask(&id).await?;
    found.map(Json).ok_or_else(|| missing(&id))
}

fn missing(ask: &AskId) -> Problem {
    Problem::new(Trouble::NotFound, format!("no host agent asks {ask}"))
        .hint("it is named in full, as it was given when it was put")
}
