//! All tools of a conversation, and how their calls are run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{cap, schema};
use crate::api::Call;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// About 12 000 tokens: a model still has room for ten such results.
const OUTPUT_BYTES: usize = 50 * 1024;

/// A stopped command needs 2 s to be asked politely and some to be killed; a tool that takes longer is dropped.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    /// None if all may be called.
    allowed: Option<BTreeSet<String>>,
    output_bytes: usize,
}

/// A call that can be run, or why it cannot.
type Ready = Result<(Arc<dyn Tool>, Value), ToolResult>;

impl Toolbox {
    /// The model is told of them in this order, which never changes: providers cache what a conversation begins with.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools, allowed: None, output_bytes: OUTPUT_BYTES }
    }

    #[must_use]
    pub fn with_output_bytes(self, output_bytes: usize) -> Self {
        Self { output_bytes, ..self }
    }

    /// The same tools are told of, so that the provider's cache holds; only these are run.
    #[must_use]
    pub fn restricted(&self, names: &[&str]) -> Self {
        let allowed = names.iter().map(|name| (*name).to_owned()).collect();
        Self { allowed: Some(allowed), ..self.clone() }
    }

    /// Only those of these names, in the same order; the others are not told of either.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let is_named = |tool: &&Arc<dyn Tool>| names.contains(&tool.definition().name.as_str());
        let tools = self.tools.iter().filter(is_named).cloned().collect();
        Self { tools, ..self.clone() }
    }

    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|tool| tool.definition()).collect()
    }

    /// Whether a call may run beside others. One that cannot be run changes nothing.
    pub fn only_reads(&self, call: &Call) -> bool {
        self.ready(call).map_or(true, |(tool, arguments)| tool.only_reads(&arguments))
    }

    /// One short line about a call, for people.
    pub fn preview(&self, call: &Call) -> String {
        match self.ready(call) {
            Ok((tool, arguments)) => tool.preview(&arguments),
            Err(_) => String::new(),
        }
    }

    /// Runs one call. Whatever goes wrong is a result that the model can read.
    ///
    /// In a task of its own, so that a panic ends the call and not the conversation.
    pub async fn run(&self, call: &Call, context: &CallContext) -> ToolResult {
        let (tool, arguments) = match self.ready(call) {
            Ok(ready) => ready,
            Err(result) => return result,
        };
        if context.stop.is_cancelled() {
            return ToolResult::failed("not run: the turn was stopped before");
        }
        let owned = context.clone();
        let running = tokio::spawn(async move { tool.call(arguments, &owned).await });
        let running = AbortOnDropHandle::new(running);
        let too_late = async {
            context.stop.cancelled().await;
            tokio::time::sleep(STOP_DEADLINE).await;
        };
        let result = tokio::select! {
            result = running => result.unwrap_or_else(|error| {
                tracing::error!(tool = call.tool, %error, "a tool has failed");
                ToolResult::failed(format!(
                    "`{}` has failed by a fault of its own; how far it came is not known", call.tool
                ))
            }),
            () = too_late => ToolResult::failed(
                "stopped, and it did not end in time; how far it came is not known"
            ),
        };
        ToolResult { content: cap::cut(result.content, self.output_bytes), ..result }
    }

    fn ready(&self, call: &Call) -> Ready {
        let definitions = || self.tools.iter().map(|tool| (tool, tool.definition()));
        let Some((tool, definition)) = definitions().find(|(_, it)| it.name == call.tool) else {
            let names: Vec<_> = definitions().map(|(_, it)| it.name).collect();
            return Err(ToolResult::failed(format!(
                "there is no tool `{}`; the tools are {}",
                call.tool,
                names.join(", ")
            )));
        };
        if let Some(allowed) = &self.allowed
            && !allowed.contains(&call.tool)
        {
            let names: Vec<_> = allowed.iter().map(String::as_str).collect();
            return Err(ToolResult::failed(format!(
                "`{}` may not be used here; only {} may",
                call.tool,
                names.join(", ")
            )));
        }
        // A call without arguments comes as an empty text from some providers.
        let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let mut arguments = serde_json::from_str(text).map_err(|error| {
            ToolResult::failed(format!(
                "the arguments of `{}` are no JSON ({error}); nothing was done, call it again",
                call.tool
            ))
        })?;
        schema::check(&mut arguments, &definition.parameters)
            .map_err(|wrong| ToolResult::failed(format!("`{}` was not run: {wrong}", call.tool)))?;
        Ok((tool.clone(), arguments))
    }
}

#[cfg(test)]
#[path = "toolbox_tests.rs"]
mod tests;
