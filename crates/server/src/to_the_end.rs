//! What changes something is done to its end, also if whoever asked for it has gone.
//!
//! The HTTP library drops a request's future the moment its connection ends. What was written down then and not yet acted on, or done and
//! not yet remembered under its key, would stay so: a token that was removed would go on to count. So such a request runs in a task of
//! its own, and the connection keeps its place until that is over.

use std::panic::resume_unwind;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::audit::Auditor;
use crate::problem::{Problem, Trouble};

/// What is under way for one connection. Every request carries it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work(TaskTracker);

impl Work {
    /// Does it whether the connection ends or not.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.spawn(work)
    }

    /// Until all of it is done. Nothing is begun any more by then: the connection has ended.
    pub(crate) async fn done(&self) {
        self.0.close();
        self.0.wait().await;
    }
}

/// Stands before every route that changes something.
pub(crate) async fn to_the_end(request: Request, next: Next) -> Response {
    let work = request.extensions().get::<Work>().cloned().unwrap_or_default();
    let auditor = request.extensions().get::<Auditor>().cloned();
    let run = async move {
        let mut response = next.run(request).await;
        // Whoever leaves before they are refused is written down all the same.
        if let Some(auditor) = auditor {
            auditor.note_refusal(&mut response).await;
        }
        response
    };
    match work.0.spawn(run).await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            // Whoever called the route hears of it as if it had run there.
            Ok(panic) => resume_unwind(panic),
            Err(_) => Problem::new(Trouble::Closing, "the daemon is about to end").into_response(),
        },
    }
}
