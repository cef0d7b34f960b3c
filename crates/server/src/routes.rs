//! The daemon's own routes. Others are merged beside them, see [`routes`].

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::guard::{Need, guard_table};
use crate::hall::Listens;
use crate::mcp::mcp_table;
use crate::page::page_table;
use crate::problem::only_problems;
use crate::reference::reference_table;
use crate::table::{Routes, Row};
use crate::tasks::task_table;
use crate::{Caller, Given, Hall, Problem, StopMode, Trouble};

/// What `GET /v1/health` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub version: String,
    pub pid: u32,
    pub started_at: Timestamp,
    pub epoch: u64,
    /// Where browsers and programs reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listens: Option<Listens>,
    /// The one who asks, as the daemon sees it.
    pub caller: Caller,
}

/// What `POST /v1/daemon/stop` takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
pub fn routes(hall: Arc<Hall>, more: impl IntoIterator<Item = Routes>) -> Router {
    let own = own_table().with_state(hall).merge(reference_table()).merge(page_table());
    let all = more.into_iter().fold(own, Routes::merge);
    all.into_router().fallback(nowhere).layer(map_response(only_problems))
}

/// Every route of a daemon with what it needs, in the order of paths.
pub fn table() -> Vec<Row> {
    let tables = [
        own_table().rows().to_vec(),
        reference_table::<()>().rows().to_vec(),
        page_table::<()>().rows().to_vec(),
        guard_table().rows().to_vec(),
        task_table().rows().to_vec(),
        mcp_table().rows().to_vec(),
    ];
    let mut rows = tables.concat();
    rows.sort();
    rows
}

fn own_table() -> Routes<Arc<Hall>> {
    Routes::new().get("/v1/health", Need::Read, health).post("/v1/daemon/stop", Need::Decide, stop)
}

async fn health(State(hall): State<Arc<Hall>>, caller: Caller) -> Json<Health> {
    Json(Health {
        version: hall.version.clone(),
        pid: hall.pid,
        started_at: hall.started_at,
        epoch: hall.epoch,
        listens: hall.listens().cloned(),
        caller,
    })
}

async fn stop(
    State(hall): State<Arc<Hall>>,
    caller: Caller,
    Given(stop): Given<Stop>,
) -> Result<Response, Problem> {
    hall.close(stop.mode, format!("process {} asked for it", caller.pid));
    Ok((StatusCode::ACCEPTED, Json(Stopping { pid: hall.pid })).into_response())
}

async fn nowhere() -> Problem {
    Problem::new(Trouble::NotFound, "this daemon has no such route")
        .hint("it may be older than the one who asks; `ostler daemon restart` starts the newest")
}
