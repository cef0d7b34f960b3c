//! Calls of tools that a task's owner runs. Codex waits for them on its connection, so they live as long as that does: nothing of
//! them is on disk, and one that was in somebody's hands when the connection broke is never handed out again.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_codex::thread::{ThreadHandlers, ToolHandler, ToolReply};
use ostler_model::ask::ToolCallAsk;
use ostler_model::decision::ToolOutput;
use ostler_model::task::OfferedTool;
use ostler_model::{ItemId, TaskId};
use thiserror::Error;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

/// How long a call waits for its owner, and how long an owner who took it may be silent.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever reads of a call in the log may be faster than the call itself on its way here.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Words that wait for a call, which hears them at once. One place is always left for its result.
const WORDS: usize = 4;

const NOBODY: &str = "the tool was not run: it belongs to the chat that started this thread, and that chat is not there. \
                      Go on without it, or tell the user to open the conversation again";

const LEFT: &str = "the chat that ran the tool is gone; it is not known whether the tool did its work. Look before you call it again";

const CUT_OFF: &str = "the connection broke while the tool may have been running; it is not known whether it did its work. \
                       Look before you call it again";

/// Why a call is not given, or its result not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolCallError {
    #[error(
        "nobody waits for the tool call {0}: it was answered, its turn has ended, or it was given up"
    )]
    Gone(ItemId),
    #[error("the tool call {0} is in other hands; each is run once")]
    Taken(ItemId),
}

/// All calls that wait, of all tasks.
#[derive(Default)]
pub(crate) struct ToolCalls {
    waiting: Mutex<HashMap<(TaskId, ItemId), Waiting>>,
    opened: Notify,
}

struct Waiting {
    call: ToolCallAsk,
    by: Option<String>,
    words: mpsc::Sender<Word>,
}

enum Word {
    /// Its owner is there.
    Here,
    Done(ToolReply),
}

impl ToolCalls {
    /// For a thread that is opened. `begun` are the calls that were seen on an earlier connection.
    pub(crate) fn handlers(
        self: &Arc<Self>,
        task: &TaskId,
        tools: &[OfferedTool],
        begun: HashSet<ItemId>,
    ) -> ThreadHandlers {
        let begun = Arc::new(Mutex::new(begun));
        let handler = |tool: &OfferedTool| {
            let (calls, task, begun) = (Arc::clone(self), task.clone(), Arc::clone(&begun));
            let run = move |call: ToolCallAsk| {
                let is_first = lock(&begun).insert(call.call.clone());
                let (calls, task) = (Arc::clone(&calls), task.clone());
                async move {
                    match is_first {
                        true => calls.serve(task, call).await,
                        false => failed(CUT_OFF),
                    }
                }
            };
            (tool.name.clone(), ToolHandler::new(run))
        };
        ThreadHandlers { tools: tools.iter().map(handler).collect::<BTreeMap<_, _>>() }
    }

    /// Gives the call to whoever names themselves first. The same again says that they are still there.
    pub(crate) async fn take(
        &self,
        task: &TaskId,
        call: &ItemId,
        by: &str,
    ) -> Result<ToolCallAsk, ToolCallError> {
        let deadline = Instant::now() + ON_ITS_WAY;
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if let Some(waiting) = lock(&self.waiting).get_mut(&(task.clone(), call.clone())) {
                return waiting.take(by);
            }
            if timeout_at(deadline, opened).await.is_err() {
                return Err(ToolCallError::Gone(call.clone()));
            }
        }
    }

    /// What the tool gave back, from whoever took the call.
    pub(crate) fn finish(
        &self,
        task: &TaskId,
        call: &ItemId,
        by: &str,
        reply: ToolReply,
    ) -> Result<(), ToolCallError> {
        let mut all = lock(&self.waiting);
        let key = (task.clone(), call.clone());
        let waiting = all.get(&key).ok_or_else(|| ToolCallError::Gone(call.clone()))?;
        if waiting.by.as_deref() != Some(by) {
            return Err(ToolCallError::Taken(call.clone()));
        }
        let sent = waiting.words.try_send(Word::Done(reply));
        all.remove(&key);
        sent.map_err(|_| ToolCallError::Gone(call.clone()))
    }

    async fn serve(self: Arc<Self>, task: TaskId, call: ToolCallAsk) -> ToolReply {
        let (words, mut heard) = mpsc::channel(WORDS);
        let key = (task, call.call.clone());
        lock(&self.waiting).insert(key.clone(), Waiting { call, by: None, words });
        // Also when the turn ends first, and this is dropped.
        let place = Place { calls: &self, key };
        self.opened.notify_waiters();
        let mut is_taken = false;
        loop {
            match timeout(PATIENCE, heard.recv()).await {
                Ok(Some(Word::Here)) => is_taken = true,
                Ok(Some(Word::Done(reply))) => return reply,
                Ok(None) => return failed(LEFT),
                // From here on nobody can take it, or bring its result; what was brought before counts.
                Err(_) => match (place.clear(), is_taken) {
                    (false, _) => {}
                    (true, true) => return failed(LEFT),
                    (true, false) => return failed(NOBODY),
                },
            }
        }
    }
}

impl Waiting {
    fn take(&mut self, by: &str) -> Result<ToolCallAsk, ToolCallError> {
        let is_other = self.by.as_deref().is_some_and(|taken| taken != by);
        if is_other {
            return Err(ToolCallError::Taken(self.call.call.clone()));
        }
        if self.words.is_closed() {
            return Err(ToolCallError::Gone(self.call.call.clone()));
        }
        // The last place is the result's. Whoever is not heard for so many words says it again soon.
        if self.words.capacity() > 1 {
            self.words.try_send(Word::Here).ok();
        }
        self.by = Some(by.to_owned());
        Ok(self.call.clone())
    }
}

/// A call's place among those that wait.
struct Place<'a> {
    calls: &'a ToolCalls,
    key: (TaskId, ItemId),
}

impl Place<'_> {
    /// False if it was answered.
    fn clear(&self) -> bool {
        lock(&self.calls.waiting).remove(&self.key).is_some()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn failed(text: &str) -> ToolReply {
    ToolReply { succeeded: false, outputs: vec![ToolOutput::Text(text.to_owned())] }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
