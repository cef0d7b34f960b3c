//! Numbers for Prometheus, in its text format 0.0.4.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use ostler_engine::AuditCount;
use ostler_model::{AuditKind, TaskState};

use crate::problem::Problem;
use crate::tasks::Office;

const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One number with its name, and what it means.
struct Page(String);

pub(crate) async fn metrics(State(office): State<Arc<Office>>) -> Result<Response, Problem> {
    let store = office.engine.store();
    let (counts, asks, health) =
        (store.counts().await?, store.undecided_asks().await?, store.health());
    let servers = office.engine.app_servers();
    let threads: usize = servers.iter().map(|server| server.threads).sum();
    let mut page = Page(String::new());
    page.about("ostler_build_info", "gauge", "which ostler this is");
    page.number(&format!("ostler_build_info{{version=\"{}\"}}", escaped(&office.hall.version)), 1);
    page.about("ostler_tasks", "gauge", "tasks that are remembered, by state");
    for state in TaskState::ALL {
        let count = counts.get(&state).copied().unwrap_or(0);
        page.number(&format!("ostler_tasks{{state=\"{}\"}}", state.name()), count);
    }
    let up = Timestamp::now().as_second() - office.hall.started_at.as_second();
    let up = u64::try_from(up).unwrap_or(0);
    let failing = u64::from(health.failing.is_some());
    let numbers = [
        ("ostler_up_seconds", "gauge", "how long the daemon has run", up),
        ("ostler_epoch", "gauge", "how many daemons there have been here", office.hall.epoch),
        ("ostler_asks_open", "gauge", "asks that wait for somebody", asks.len() as u64),
        ("ostler_app_servers", "gauge", "app-servers that run", servers.len() as u64),
        ("ostler_app_server_threads", "gauge", "threads in them", threads as u64),
        ("ostler_store_failing", "gauge", "whether the store cannot be written", failing),
        (
            "ostler_store_spooled_bytes",
            "gauge",
            "what waits for the disk",
            health.spooled_bytes as u64,
        ),
        (
            "ostler_store_lost_events_total",
            "counter",
            "events that could not be kept",
            health.lost_events,
        ),
    ];
    let audit: BTreeMap<AuditKind, AuditCount> = store.audit_counts().await?.into_iter().collect();
    let about = [
        ("ostler_audit_entries_total", "entries of the audit log that were written, by kind"),
        (
            "ostler_audit_suppressed_total",
            "entries that were left out, because there were too many",
        ),
    ];
    for (name, about) in about {
        page.about(name, "counter", about);
        for kind in AuditKind::ALL {
            let count = audit.get(&kind).copied().unwrap_or_default();
            let number = match name {
                "ostler_audit_entries_total" => count.written,
                _ => count.suppressed,
            };
            page.number(&format!("{name}{{kind=\"{}\"}}", kind.name()), number);
        }
    }
    for (name, kind, about, number) in numbers {
        page.about(name, kind, about);
        page.number(name, number);
    }
    Ok(([(header::CONTENT_TYPE, KIND)], page.0).into_response())
}

impl Page {
    fn about(&mut self, name: &str, kind: &str, about: &str) {
        self.0.push_str(&format!("# HELP {name} {about}\n# TYPE {name} {kind}\n"));
    }

    fn number(&mut self, name: &str, number: u64) {
        self.0.push_str(&format!("{name} {number}\n"));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
