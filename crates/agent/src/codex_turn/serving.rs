//! Tools of ours that Codex calls on its own connection, while its turn is followed here.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_model::TaskId;
use ostler_model::ask::ToolCallAsk;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, Hear};
use crate::api::Call;
use crate::ports::{Asks, Tasks};
use crate::tool::CallContext;
use crate::tools::Toolbox;

/// The daemon gives up who is silent for ten seconds.
const STILL_HERE: Duration = Duration::from_secs(3);

/// Who runs the calls, and with what.
pub(crate) struct Serving {
    pub(crate) tasks: Arc<dyn Tasks>,
    pub(crate) toolbox: Toolbox,
    pub(crate) conversation: String,
    /// Absolute.
    pub(crate) cwd: PathBuf,
    pub(crate) asks: Arc<dyn Asks>,
}

impl Serving {
    /// Runs one call, if it is still to be had. What it came to is the model's to read; a call that is given up meanwhile is
    /// stopped.
    pub(crate) async fn run(
        &self,
        task: &TaskId,
        call: ToolCallAsk,
        stop: &CancellationToken,
        hear: Hear<'_>,
    ) {
        // Another has it, or nobody waits for it: there is nothing to do.
        if let Err(error) = self.tasks.take_call(task, &call.call).await {
            tracing::debug!(%error, call = %call.call, "a tool call is not ours");
            return;
        }
        let turn = stop;
        let stop = turn.child_token();
        // A tool does not outlive its turn.
        let _ends_with_us = stop.clone().drop_guard();
        let id = call.call.to_string();
        let context = CallContext {
            conversation: self.conversation.clone(),
            call: format!("{task}/{id}"),
            cwd: self.cwd.clone(),
            asks: self.asks.clone(),
            stop: stop.clone(),
        };
        let wish = Call { id, tool: call.tool, arguments: call.arguments };
        let running = self.toolbox.run(&wish, &context);
        tokio::pin!(running);
        let mut still_here = interval_at(Instant::now() + STILL_HERE, STILL_HERE);
        still_here.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let result = loop {
            tokio::select! {
                result = &mut running => break result,
                _ = still_here.tick() => match self.tasks.take_call(task, &call.call).await {
                    Ok(()) => {}
                    // A daemon that is replaced gives the call up; what the tool has begun it may as well end.
                    Err(error) if error.may_pass() => {}
                    Err(_) => stop.cancel(),
                },
            }
        };
        if turn.is_cancelled() {
            // The turn is being ended. Whoever answered its call now would have the model go on with it, and if that is faster
            // than the end, the turn is completed instead. Nobody waits for us: the daemon gives up who is silent.
            return;
        }
        if let Err(error) = self.tasks.finish_call(task, &call.call, result).await {
            hear(Activity::Note(format!("codex does not know what {} said: {error}", wish.tool)));
        }
    }
}
