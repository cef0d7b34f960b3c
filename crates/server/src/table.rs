//! Routes with what each wants of its caller: there is no way to add one without saying so.

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, delete, get, post};

use crate::guard::{Need, require};
use crate::idempotency::{once, once_by_length, once_secret};
use crate::to_the_end::to_the_end;

/// A router that knows what is in it.
pub struct Routes<S = ()> {
    router: Router<S>,
    rows: Vec<Row>,
}

/// One route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub path: &'static str,
    pub method: &'static str,
    pub need: Need,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    #[expect(clippy::new_without_default, reason = "an empty table is a beginning, not a default")]
    pub fn new() -> Self {
        Self { router: Router::new(), rows: Vec::new() }
    }

    pub fn get<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.add("GET", path, need, get(handler))
    }

    pub fn post<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let handler = post(handler).route_layer(from_fn(once));
        self.add("POST", path, need, handler.route_layer(from_fn(to_the_end)))
    }

    /// One whose answer holds a secret: it is done once and told once.
    pub fn post_secret<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let handler = post(handler).route_layer(from_fn(once_secret));
        self.add("POST", path, need, handler.route_layer(from_fn(to_the_end)))
    }

    /// A body that is a file.
    pub fn upload<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let handler = post(handler).route_layer(from_fn(once_by_length));
        self.add("POST", path, need, handler.route_layer(from_fn(to_the_end)))
    }

    /// A request that changes nothing by itself, and ends with whoever makes it. Its answer may be a stream, so it is not remembered.
    pub fn conversation<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.add("POST", path, need, post(handler))
    }

    pub fn delete<H, T>(self, path: &'static str, need: Need, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.add("DELETE", path, need, delete(handler).route_layer(from_fn(to_the_end)))
    }

    pub fn with_state<T>(self, state: S) -> Routes<T> {
        Routes { router: self.router.with_state(state), rows: self.rows }
    }

    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        Self { router: self.router.merge(other.router), rows: self.rows }
    }

    /// All that is in it.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }

    fn add(
        mut self,
        method: &'static str,
        path: &'static str,
        need: Need,
        handler: MethodRouter<S>,
    ) -> Self {
        self.rows.push(Row { path, method, need });
        let guarded =
            handler.route_layer(from_fn(move |request, next| require(need, request, next)));
        Self { router: self.router.route(path, guarded), rows: self.rows }
    }
}
