//! The daemon's own routes. Others are merged beside them, see [`routes`].

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::problem::only_problems;
use crate::{Caller, Given, Hall, Problem, StopMode, Trouble};

/// What `GET /v1/health` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub version: String,
    pub pid: u32,
    pub started_at: Timestamp,
    pub epoch: u64,
    /// The one who asks, as the daemon sees it.
    pub caller: Caller,
}

/// What `POST /v1/daemon/stop` takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    #[serde(default)]
    pub mode: StopMode,
}

/// What it answers: the end has begun, and is over when this process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    pub pid: u32,
}

/// All routes of a daemon: its own, and `more` (the tasks'). Every error is a [`Problem`].
pub fn routes(hall: Arc<Hall>, more: impl IntoIterator<Item = Router>) -> Router {
    let own = Router::new()
        .route("/v1/health", get(health))
        .route("/v1/daemon/stop", post(stop))
        .with_state(hall);
    more.into_iter().fold(own, Router::merge).fallback(nowhere).layer(map_response(only_problems))
}

async fn health(State(hall): State<Arc<Hall>>, caller: Caller) -> Json<Health> {
    Json(Health {
        version: hall.version.clone(),
        pid: hall.pid,
        started_at: hall.started_at,
        epoch: hall.epoch,
        caller,
    })
}

async fn stop(
    State(hall): State<Arc<Hall>>,
    caller: Caller,
    Given(stop): Given<Stop>,
) -> Result<Response, Problem> {
    caller.must_be_person("stop the daemon")?;
    hall.close(stop.mode, format!("process {} asked for it", caller.pid));
    Ok((StatusCode::ACCEPTED, Json(Stopping { pid: hall.pid })).into_response())
}

async fn nowhere() -> Problem {
    Problem::new(Trouble::NotFound, "this daemon has no such route")
        .hint("it may be older than the one who asks; `ostler daemon restart` starts the newest")
}
