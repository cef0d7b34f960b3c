//! Running the tools that an answer calls.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ostler_model::Message;

use super::OwnLoop;
use crate::activity::Activity;
use crate::api::{Call, Entry};
use crate::conversation::KeepError;
use crate::tool::{CallContext, ToolResult};

/// Of a result, for people.
const SUMMARY_CHARACTERS: usize = 200;

/// Models call up to about this many tools at once; more would only wait for the disk.
const AT_ONCE: usize = 8;

const STOPPED: &str = "[not run: the user stopped the turn]";

impl OwnLoop<'_> {
    /// Calls that only look run beside each other; each of the others runs alone, in its place. A result is kept as soon
    /// as it is there.
    pub(super) async fn run_tools(&mut self, calls: &[Call]) -> Result<(), KeepError> {
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let toolbox = self.parts.toolbox;
            let reading = rest.iter().take_while(|call| toolbox.only_reads(call)).count().max(1);
            let (group, later) = rest.split_at_checked(reading).unwrap_or((rest, &[]));
            rest = later;
            debug_assert!(!group.is_empty(), "{first:?}");
            self.run_group(group).await?;
        }
        Ok(())
    }

    async fn run_group(&mut self, group: &[Call]) -> Result<(), KeepError> {
        let listening = self.listening();
        let mut waiting = group.iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < AT_ONCE
                && let Some(call) = waiting.next()
            {
                self.end.used.push(call.tool.clone());
                self.end.tool_iterations += 1;
                if self.controls.stop.is_cancelled() {
                    self.keep_result(call, ToolResult::failed(STOPPED)).await?;
                    continue;
                }
                let preview = self.parts.toolbox.preview(call);
                let tool = call.tool.clone();
                (self.hear)(Activity::ToolBegan { call: call.id.clone(), tool, preview });
                let context = CallContext {
                    conversation: self.conversation.id().to_owned(),
                    call: call.id.clone(),
                    cwd: self.parts.cwd.clone(),
                    asks: self.parts.asks.clone(),
                    stop: self.controls.stop.clone(),
                };
                let toolbox = self.parts.toolbox;
                running.push(async move {
                    let began = Instant::now();
                    let result = toolbox.run(call, &context).await;
                    (call, result, began.elapsed())
                });
            }
            let next = listening.during(running.next(), self.conversation).await;
            let Some((call, result, elapsed)) = next else { return Ok(()) };
            let summary: String = result.content.chars().take(SUMMARY_CHARACTERS).collect();
            (self.hear)(Activity::ToolEnded {
                call: call.id.clone(),
                tool: call.tool.clone(),
                elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
                is_error: result.is_error,
                summary,
            });
            self.keep_result(call, result).await?;
        }
    }

    async fn keep_result(&mut self, call: &Call, result: ToolResult) -> Result<(), KeepError> {
        let message = Message::tool(call.id.clone(), result.content);
        self.conversation.append_result(&call.id, Entry::plain(message)).await
    }
}
