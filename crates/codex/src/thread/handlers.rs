//! Who answers for us: deciders for people's asks, handlers for tools that we offer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_model::ask::ToolCallAsk;
use ostler_model::decision::ToolOutput;
use ostler_model::{Ask, AskId, Decision};

/// A decision and who made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub decision: Decision,
    pub by: String,
    /// Why not: put into the turn before a refusal, because Codex's answer has no place for it.
    pub reason: Option<String>,
}

/// Decides asks. An error, like a panic or a decision that the ask does not take, is a refusal whose reason everybody
/// sees. The future is dropped as soon as the ask needs no decision any more, so a prompt can be taken away with it.
#[derive(Clone)]
pub struct Decider(pub(crate) Arc<Decide>);

type Decide = dyn Fn(AskId, Ask) -> BoxFuture<'static, Result<Decided, String>> + Send + Sync;

/// Runs one tool of ours. The future is dropped if the turn ends before it.
#[derive(Clone)]
pub struct ToolHandler(
    pub(crate) Arc<dyn Fn(ToolCallAsk) -> BoxFuture<'static, ToolReply> + Send + Sync>,
);

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolReply {
    pub succeeded: bool,
    pub outputs: Vec<ToolOutput>,
}

/// The tools of ours that a thread may call, by name; with a namespace as `namespace/name`.
#[derive(Debug, Clone, Default)]
pub struct ThreadHandlers {
    pub tools: BTreeMap<String, ToolHandler>,
}

impl Decider {
    pub fn new<F, R>(decide: F) -> Self
    where
        F: Fn(AskId, Ask) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Decided, String>> + Send + 'static,
    {
        Self(Arc::new(move |id, ask| Box::pin(decide(id, ask))))
    }
}

impl ToolHandler {
    pub fn new<F, R>(run: F) -> Self
    where
        F: Fn(ToolCallAsk) -> R + Send + Sync + 'static,
        R: Future<Output = ToolReply> + Send + 'static,
    {
        Self(Arc::new(move |call| Box::pin(run(call))))
    }

    /// Runs it for this call.
    pub fn call(&self, call: ToolCallAsk) -> BoxFuture<'static, ToolReply> {
        (self.0)(call)
    }
}

impl ThreadHandlers {
    pub(crate) fn tool(&self, call: &ToolCallAsk) -> Option<&ToolHandler> {
        match &call.namespace {
            Some(namespace) => self.tools.get(&format!("{namespace}/{}", call.tool)),
            None => self.tools.get(&call.tool),
        }
    }
}

impl fmt::Debug for Decider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Decider")
    }
}

impl fmt::Debug for ToolHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ToolHandler")
    }
}
