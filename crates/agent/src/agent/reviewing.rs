//! The review that runs in the background: one at a time, never in the user's way.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::ReviewTelling;
use crate::activity::Activity;
use crate::api::Entry;
use crate::counters::Due;
use crate::review::{ReviewParts, review};
use crate::steering::Controls;

/// Whoever leaves waits no longer than this for what is learnt from the last turn.
pub(super) const CLOSING_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(super) struct Reviewing {
    running: Option<(JoinHandle<()>, Controls)>,
    /// What a review that came to nothing was to look at.
    owed: Arc<Mutex<Option<Due>>>,
}

impl Reviewing {
    pub(super) fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|(work, _)| !work.is_finished())
    }

    /// What is due again, once.
    pub(super) fn take_owed(&self) -> Option<Due> {
        if self.is_running() {
            return None;
        }
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn begin(
        &mut self,
        parts: ReviewParts,
        conversation: String,
        snapshot: Vec<Entry>,
        due: Due,
        later: Arc<dyn Fn(Activity) + Send + Sync>,
        telling: ReviewTelling,
    ) {
        let controls = Controls::default();
        let held = controls.clone();
        // One that is cut off has come to nothing, too.
        let owed = Arc::clone(&self.owed);
        let set = move |due| *owed.lock().unwrap_or_else(PoisonError::into_inner) = due;
        set(Some(due));
        let work = tokio::spawn(async move {
            let findings = review(&parts, &conversation, snapshot, due, &controls).await;
            if findings.error.is_none() && !controls.stop.is_cancelled() {
                set(None);
            }
            match telling {
                // That nothing is learnt is told in any case.
                ReviewTelling::Nothing => {
                    findings.failed().into_iter().for_each(|line| later(Activity::Note(line)));
                }
                ReviewTelling::OneLine => {
                    findings.line().into_iter().for_each(|line| later(Activity::Note(line)));
                }
                ReviewTelling::Everything => {
                    findings.lines().into_iter().for_each(|line| later(Activity::Note(line)));
                }
            }
        });
        self.running = Some((work, held));
    }

    /// Lets a review come to its end, up to a bound. Gives what is due again.
    pub(super) async fn close(self) -> Option<Due> {
        if let Some((mut work, controls)) = self.running
            && tokio::time::timeout(CLOSING_PATIENCE, &mut work).await.is_err()
        {
            controls.stop.cancel();
            work.abort();
        }
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
