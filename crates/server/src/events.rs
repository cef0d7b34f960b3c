//! A task's log as it grows: first how the task stands, then what is written, then what comes. No gap, no repetition.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use futures_util::stream;
use ostler_engine::{Engine, LoggedEvent, News};
use ostler_model::TaskId;
use ostler_model::task::Partial;
use serde::Deserialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::api::{Change, Line};
use crate::ids;
use crate::ndjson::ndjson;
use crate::problem::Problem;
use crate::tasks::{Office, detail};

/// Events that are read at once.
const PAGE: usize = 256;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The seq after which to begin.
    after: u64,
    /// Go on when the end is reached.
    follow: bool,
}

pub(crate) async fn follow(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    // Before anything is read: what is written from now on is either read or told.
    let news = query.follow.then(|| office.engine.watch(&task));
    let now = detail(&office.engine, task.as_str()).await?;
    let reader = Reader {
        engine: office.engine.clone(),
        task,
        news,
        after: query.after,
        ready: vec![Line::Now(Box::new(now))].into(),
        has_more: true,
    };
    let closing = office.hall.closing().clone();
    Ok(ndjson(stream::unfold(reader, Reader::next), closing))
}

struct Reader {
    engine: Engine,
    task: TaskId,
    /// None if the end of the log is the end.
    news: Option<broadcast::Receiver<News>>,
    after: u64,
    ready: std::collections::VecDeque<Line>,
    /// The log may have more than was read.
    has_more: bool,
}

impl Reader {
    async fn next(mut self) -> Option<(Line, Self)> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some((line, self));
            }
            if self.has_more {
                self.read().await?;
                continue;
            }
            match self.news.as_mut()?.recv().await {
                Ok(News::Logged { seq }) => self.has_more = seq > self.after,
                Ok(News::Grown(partial)) => {
                    self.ready.push_back(Line::Grown(Partial::clone(&partial)));
                }
                // Too slow for text that grows: all of it at once, and the log from where it was.
                Err(RecvError::Lagged(_)) => {
                    self.has_more = true;
                    let partials = self.engine.store().partials(&self.task).await.ok()?;
                    self.ready.push_back(Line::Partials { partials });
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn read(&mut self) -> Option<()> {
        let page = match self.engine.store().events(&self.task, self.after, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, task = %self.task, "a log cannot be read on");
                return None;
            }
        };
        self.has_more = page.len() == PAGE;
        for LoggedEvent { seq, at, event } in page {
            self.after = seq;
            self.ready.push_back(Line::Event { seq, at, event: Box::new(event) });
        }
        Some(())
    }
}

/// Which tasks change, for lists that are kept fresh.
pub(crate) async fn changes(State(office): State<Arc<Office>>) -> Response {
    let changes = office.engine.watch_all();
    let lines = stream::unfold(changes, |mut changes| async {
        let change = match changes.recv().await {
            Ok(changed) => Change::Task { task: changed.task, state: changed.state },
            // What was missed is found by reading the list again.
            Err(RecvError::Lagged(_)) => Change::Many,
            Err(RecvError::Closed) => return None,
        };
        Some((change, changes))
    });
    ndjson(lines, office.hall.closing().clone())
}
