//! Following a turn on Codex while its user may stop it or speak into it, and Codex may call tools of ours.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ostler_model::TaskId;
use tokio::time::sleep;

use super::meanwhile::Words;
use super::serving::Serving;
use crate::activity::{Activity, Hear};
use crate::ports::{PortError, TaskEnded, TaskNews};
use crate::steering::Controls;

/// A daemon that is replaced is back within seconds.
const STOP_AGAIN: Duration = Duration::from_millis(500);

/// Who follows what.
pub(crate) struct Follower<'a> {
    pub(crate) serving: &'a Serving,
    pub(crate) task: &'a TaskId,
    pub(crate) controls: &'a Controls,
    pub(crate) hear: Hear<'a>,
}

impl Follower<'_> {
    /// How the turn ended that answers the input of this key.
    pub(crate) async fn follow(
        &self,
        key: &str,
        words: &mut Words<'_>,
    ) -> Result<TaskEnded, PortError> {
        let mut news = self.serving.tasks.follow(self.task, key).await?;
        // Told again after the daemon was away; each is run once.
        let mut seen = HashSet::new();
        let mut calls = FuturesUnordered::new();
        let stopping = self.stop();
        tokio::pin!(stopping);
        let mut is_stopped = false;
        loop {
            let is_heard = words.are_heard() && !self.controls.stop.is_cancelled();
            tokio::select! {
                told = news.recv() => match told {
                    Some(TaskNews::Activity(activity)) => (self.hear)(activity),
                    Some(TaskNews::Call(call)) => {
                        if seen.insert(call.call.clone()) {
                            calls.push(self.serving.run(self.task, call, &self.controls.stop, self.hear));
                        }
                    }
                    Some(TaskNews::Waits { why }) => (self.hear)(Activity::Note(why)),
                    Some(TaskNews::Ended(ended)) => return Ok(*ended),
                    Some(TaskNews::Lost { why }) => return Err(PortError::Unreachable(why)),
                    None => return Err(PortError::Unreachable("it went away without a word".to_owned())),
                },
                Some(()) = calls.next() => {}
                () = &mut stopping, if !is_stopped => is_stopped = true,
                () = self.controls.steering.waits(), if is_heard => self.pass_on(words).await,
            }
        }
    }

    /// Until the daemon has taken the wish. The turn ends when Codex says so: until then it may still change things.
    async fn stop(&self) {
        self.controls.stop.cancelled().await;
        let mut is_told = false;
        while let Err(error) = self.serving.tasks.interrupt(self.task).await {
            if !error.may_pass() {
                let text = format!("codex could not be stopped: {error}");
                return (self.hear)(Activity::Note(text));
            }
            if !std::mem::replace(&mut is_told, true) {
                let text = format!("codex could not be stopped yet, it is tried again: {error}");
                (self.hear)(Activity::Note(text));
            }
            sleep(STOP_AGAIN).await;
        }
    }
}
