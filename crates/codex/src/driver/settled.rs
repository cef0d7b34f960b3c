//! Looking at a thread until its file has what Codex knows.
//!
//! Codex says that a thread is at rest before the end of its turn is in the thread's file, and reads from that file how the
//! turn ended (0.130.0; 0.142.5 on a busy machine): for a moment a completed turn is listed as interrupted, or without its
//! last message. Whoever comes back in that moment would take the turn for lost.

use std::path::PathBuf;
use std::time::Duration;

use ostler_model::thread::{SaidEnd, SeenState, View};
use ostler_model::{ThreadId, TurnId};
use tokio::time::Instant;

use super::look::look_with_file;
use crate::app_server::AppServer;
use crate::rollout::has_ended;

/// Codex writes within milliseconds, and within a second on a busy disk. A turn that somebody else interrupted is in the
/// file as well, so only a file that cannot be read is waited for in vain.
const PATIENCE: Duration = Duration::from_secs(10);

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How the thread stands. `ran` is the turn that ran when we last heard, if its process is still the same.
pub(super) async fn look_settled(
    server: &AppServer,
    thread: &ThreadId,
    ran: Option<&TurnId>,
) -> Result<(View, Option<String>), String> {
    let begin = Instant::now();
    loop {
        let (view, file) = look_with_file(server, thread).await?;
        let (Some(turn), Some(path)) = (ran, &file) else { return Ok((view, file)) };
        if !is_in_doubt(&view, turn) || begin.elapsed() >= PATIENCE {
            return Ok((view, file));
        }
        let (path, turn) = (PathBuf::from(path), turn.clone());
        let ended = tokio::task::spawn_blocking(move || has_ended(&path, &turn)).await;
        match ended {
            Ok(Ok(false)) => tokio::time::sleep(BETWEEN_LOOKS).await,
            // What stands there now may be newer than what was listed.
            Ok(Ok(true)) => return look_with_file(server, thread).await,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a rollout could not be read");
                return Ok((view, file));
            }
            Err(error) => {
                tracing::warn!(%error, "a rollout could not be read");
                return Ok((view, file));
            }
        }
    }
}

/// Whether what is listed may be what was written up to now, and not what there is.
fn is_in_doubt(view: &View, turn: &TurnId) -> bool {
    let listed = view.turns.iter().find(|seen| seen.id == *turn);
    let has_end = listed
        .is_some_and(|seen| matches!(seen.end, Some(SaidEnd::Completed | SaidEnd::Failed(_))));
    view.state == SeenState::Idle && !has_end
}

#[cfg(test)]
mod tests {
    use ostler_model::thread::{SaidEnd, SeenState, SeenTurn, View};

    use super::is_in_doubt;

    fn doubts(state: SeenState, end: Option<SaidEnd>) -> bool {
        let turn = SeenTurn { id: "t".into(), end, inputs: Vec::new(), items: Vec::new() };
        is_in_doubt(&View { state, turns: vec![turn] }, &"t".into())
    }

    #[test]
    fn only_a_turn_at_rest_without_a_sure_end_is_in_doubt() {
        let found = [
            doubts(SeenState::Idle, Some(SaidEnd::Interrupted)),
            doubts(SeenState::Idle, None),
            is_in_doubt(&View { state: SeenState::Idle, turns: Vec::new() }, &"t".into()),
            doubts(SeenState::Idle, Some(SaidEnd::Completed)),
            doubts(SeenState::Idle, Some(SaidEnd::Failed(None))),
            doubts(SeenState::Active, None),
        ];
        assert_eq!(found, [true, true, true, false, false, false]);
    }
}
