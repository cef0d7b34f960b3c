//! What host agents may ask: questions of their own tools, with no task behind them; and what tasks ask of their tools.

use std::time::Duration;

use ostler_codex::thread::ToolReply;
use ostler_model::ask::ToolCallAsk;
use ostler_model::decision::ToolOutput;
use ostler_model::task::AskRecord;
use ostler_model::{AskId, ItemId, TaskId};
use ostler_store::StoreError;
use tokio::sync::watch;

use super::Engine;
use crate::host_asks::HostAsk;
use crate::refusal::Refusal;
use crate::tool_calls::ToolCallError;

impl Engine {
    /// Puts a question of a host agent's own tool. What rules or an earlier answer decide is decided when this returns.
    pub async fn host_ask(&self, wish: HostAsk) -> Result<AskRecord, Refusal> {
        self.host_asks.open(wish).await
    }

    /// The ask as soon as it waits for nobody any more, or as it stands after this time. None if it is no host agent's.
    pub async fn host_decision(
        &self,
        ask: &AskId,
        most: Duration,
    ) -> Result<Option<AskRecord>, StoreError> {
        self.host_asks.wait(ask, most).await
    }

    /// Its owner needs no answer any more. None if it is no host agent's.
    pub async fn withdraw_host_ask(&self, ask: &AskId) -> Result<Option<AskRecord>, StoreError> {
        self.host_asks.withdraw(ask).await
    }

    /// Counts up whenever a question of a host agent is opened, decided or withdrawn.
    pub fn watch_host_asks(&self) -> watch::Receiver<u64> {
        self.host_asks.watch()
    }

    /// Gives a call of a tool of the task's owner to whoever names themselves first. They say it again every few seconds while
    /// they run it; who is silent is gone, and the model is told so.
    pub async fn take_tool_call(
        &self,
        task: &TaskId,
        call: &ItemId,
        by: &str,
    ) -> Result<ToolCallAsk, ToolCallError> {
        self.shared.tool_calls.take(task, call, by).await
    }

    /// What a call came to, from whoever took it.
    pub fn finish_tool_call(
        &self,
        task: &TaskId,
        call: &ItemId,
        by: &str,
        result: String,
        succeeded: bool,
    ) -> Result<(), ToolCallError> {
        let reply = ToolReply { succeeded, outputs: vec![ToolOutput::Text(result)] };
        self.shared.tool_calls.finish(task, call, by, reply)
    }
}
