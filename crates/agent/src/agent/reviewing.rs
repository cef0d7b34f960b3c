//! The review that runs in the background: one at a time, never in the user's way.

use std::sync::Arc;
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
}

impl Reviewing {
    pub(super) fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|(work, _)| !work.is_finished())
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
        let work = tokio::spawn(async move {
            let findings = review(&parts, &conversation, snapshot, due, &controls).await;
            match telling {
                ReviewTelling::Nothing => {}
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

    pub(super) async fn close(self) {
        let Some((mut work, controls)) = self.running else { return };
        if tokio::time::timeout(CLOSING_PATIENCE, &mut work).await.is_err() {
            controls.stop.cancel();
            work.abort();
        }
    }
}
