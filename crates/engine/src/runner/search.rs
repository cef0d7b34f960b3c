//! Looks whether the model of a thread knows what Codex said that it took.

use std::path::PathBuf;
use std::time::Duration;

use ostler_codex::rollout::{Given, given};
use ostler_model::task::Intent;
use ostler_model::task::machine::Signal;
use ostler_model::thread::View;
use ostler_model::{Failure, FailureClass, IntentId, TurnId};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Runner;
use super::recall::texts;

/// Codex answers within a quarter of a second. While its app-server is being replaced nobody does, and the task has other
/// things to hear; the thread is then opened again.
const PATIENCE: Duration = Duration::from_secs(30);

impl Runner {
    /// The loop waits for it: nothing of this task goes on before it is known.
    pub(super) async fn look_for(&mut self, turn: &TurnId, inputs: &[IntentId]) {
        match self.find_missing(turn, inputs).await {
            Ok(missing) => {
                let ids = missing.iter().map(|intent| intent.id.clone()).collect();
                self.intents.extend(missing.into_iter().map(|it| (it.id.clone(), it)));
                self.step(Signal::Looked { missing: ids });
            }
            Err(failure) => {
                tracing::warn!(task = %self.id, reason = %failure.message, "a thread could not be looked through");
                self.step(Signal::LookFailed { failure });
            }
        }
    }

    async fn find_missing(
        &self,
        turn: &TurnId,
        inputs: &[IntentId],
    ) -> Result<Vec<Intent>, Failure> {
        let gone = |message: String| Failure::new(FailureClass::ServerGone, message);
        let task = self.machine.task();
        let (Some(stage), Some(thread)) = (&self.stage, &task.thread) else {
            return Err(gone("the thread is not open".to_owned()));
        };
        let looking = timeout(PATIENCE, stage.seat.driver().look(thread)).await;
        let seen = looking.unwrap_or_else(|_| Err("it could not be looked at in time".to_owned()));
        let (view, file) = seen.map_err(gone)?;
        let intents = self.shared.store.intents(&self.id).await;
        let mut intents = intents.map_err(|error| gone(error.to_string()))?;
        let mut given = read_file(file, turn.clone()).await;
        intents.retain(|intent| {
            inputs.contains(&intent.id)
                // What has no parts, a review or a compaction, is never begun twice.
                && texts(intent).is_some_and(|texts| match &mut given {
                    Some(given) => !given.claim(&texts),
                    None => !is_listed(&view, turn, intent, &texts),
                })
        });
        Ok(intents)
    }
}

/// None if the file cannot be read.
async fn read_file(file: Option<PathBuf>, turn: TurnId) -> Option<Given> {
    let file = file?;
    match spawn_blocking(move || given(&file, &turn)).await {
        Ok(Ok(given)) => Some(given),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a rollout could not be read");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "a rollout could not be read");
            None
        }
    }
}

/// Without the file we know what Codex says, and that is all there is. Where it keeps no ids of ours, the words are looked
/// for in the turn that took them.
fn is_listed(view: &View, turn: &TurnId, intent: &Intent, texts: &[&str]) -> bool {
    view.turns.iter().any(|seen| {
        seen.inputs.iter().any(|input| match &input.input {
            Some(input) => input.as_str() == intent.id.as_str(),
            None => seen.id == *turn && input.text == texts.join("\n"),
        })
    })
}
