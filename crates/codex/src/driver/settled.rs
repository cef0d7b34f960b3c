//! Looking at a thread until its file has what Codex knows.
//!
//! Codex says that a thread is at rest before the end of its turn is in the thread's file, and reads from that file how the
//! turn ended (0.130.0; 0.142.5 on a busy machine): for a moment a completed turn is listed as interrupted, without its
//! last message, or not at all. Whoever comes back in that moment would take the turn for lost, or give its input again.

use std::path::PathBuf;
use std::time::Duration;

use ostler_model::thread::{SaidEnd, SeenState, SeenTurn, View};
use ostler_model::{InputId, ThreadId, TurnId};
use tokio::time::Instant;

use super::look::look_with_file;
use super::open_again::START_PATIENCE;
use crate::app_server::AppServer;
use crate::rollout::has_ended;

/// What was under way when we last heard, in a process that is still the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnderWay<'a> {
    /// None if nobody heard it begin.
    pub(super) turn: Option<&'a TurnId>,
    /// What Codex may have, with its words.
    pub(super) inputs: &'a [(InputId, String)],
}

/// What may be listed as it was written up to now, and not as it is.
#[derive(Debug, PartialEq, Eq)]
enum Doubt {
    /// How this turn ended.
    End(TurnId),
    /// Whether an input has arrived.
    Arrival,
}

/// Codex writes within milliseconds, and within a second on a busy disk. A turn that somebody else interrupted is in the
/// file as well, so only a file that cannot be read is waited for in vain.
const PATIENCE: Duration = Duration::from_secs(10);

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How the thread stands, once nothing of what was under way is in doubt.
pub(super) async fn look_settled(
    server: &AppServer,
    thread: &ThreadId,
    under_way: Option<UnderWay<'_>>,
) -> Result<(View, Option<String>), String> {
    let begin = Instant::now();
    loop {
        let (view, file) = look_with_file(server, thread).await?;
        let (Some(under_way), Some(path)) = (under_way, &file) else { return Ok((view, file)) };
        match doubt(&view, under_way) {
            Some(Doubt::Arrival) if begin.elapsed() < START_PATIENCE => {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            Some(Doubt::End(turn)) if begin.elapsed() < PATIENCE => {
                let path = PathBuf::from(path);
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
            _ => return Ok((view, file)),
        }
    }
}

/// Only a thread at rest is in doubt: of one at work, events tell the rest.
fn doubt(view: &View, under_way: UnderWay<'_>) -> Option<Doubt> {
    if view.state != SeenState::Idle {
        return None;
    }
    let is_sure =
        |seen: &&SeenTurn| matches!(seen.end, Some(SaidEnd::Completed | SaidEnd::Failed(_)));
    if let Some(turn) = under_way.turn {
        let listed = view.turns.iter().find(|seen| seen.id == *turn);
        return (!listed.as_ref().is_some_and(is_sure)).then(|| Doubt::End(turn.clone()));
    }
    for input in under_way.inputs {
        // The latest: the same words may have been said long ago.
        match view.turns.iter().rev().find(|seen| has(seen, input)) {
            None => return Some(Doubt::Arrival),
            Some(seen) if !is_sure(&seen) => return Some(Doubt::End(seen.id.clone())),
            Some(_) => {}
        }
    }
    None
}

fn has(turn: &SeenTurn, (id, words): &(InputId, String)) -> bool {
    turn.inputs.iter().any(|seen| match &seen.input {
        Some(seen) => seen == id,
        None => seen.text == *words,
    })
}

#[cfg(test)]
mod tests {
    use ostler_model::InputId;
    use ostler_model::thread::{SaidEnd, SeenInput, SeenState, SeenTurn, View};

    use super::{Doubt, UnderWay, doubt};

    fn listed(id: &str, end: Option<SaidEnd>, inputs: Vec<SeenInput>) -> SeenTurn {
        SeenTurn { id: id.into(), end, inputs, items: Vec::new() }
    }

    fn is_known_turn_in_doubt(state: SeenState, end: Option<SaidEnd>) -> bool {
        let view = View { state, turns: vec![listed("t", end, Vec::new())] };
        let turn = "t".into();
        doubt(&view, UnderWay { turn: Some(&turn), inputs: &[] }).is_some()
    }

    #[test]
    fn only_a_turn_at_rest_without_a_sure_end_is_in_doubt() {
        let turn = "t".into();
        let empty = View { state: SeenState::Idle, turns: Vec::new() };
        let found = [
            is_known_turn_in_doubt(SeenState::Idle, Some(SaidEnd::Interrupted)),
            is_known_turn_in_doubt(SeenState::Idle, None),
            doubt(&empty, UnderWay { turn: Some(&turn), inputs: &[] }).is_some(),
            is_known_turn_in_doubt(SeenState::Idle, Some(SaidEnd::Completed)),
            is_known_turn_in_doubt(SeenState::Idle, Some(SaidEnd::Failed(None))),
            is_known_turn_in_doubt(SeenState::Active, None),
        ];
        assert_eq!(found, [true, true, true, false, false, false]);
    }

    fn of_an_input(state: SeenState, turns: Vec<SeenTurn>) -> Option<Doubt> {
        let inputs = [(InputId::new("ours"), "trot".to_owned())];
        doubt(&View { state, turns }, UnderWay { turn: None, inputs: &inputs })
    }

    #[test]
    fn a_turn_that_nobody_heard_begin_is_known_by_its_input() {
        let by_id = || vec![SeenInput { input: Some("ours".into()), text: String::new() }];
        let by_words = || vec![SeenInput { input: None, text: "trot".to_owned() }];
        let other = || vec![SeenInput { input: Some("other".into()), text: "trot".to_owned() }];
        let interrupted = || Some(SaidEnd::Interrupted);
        let end = |turn: &str| Some(Doubt::End(turn.into()));
        let idle = SeenState::Idle;

        assert_eq!(of_an_input(idle, vec![listed("t", interrupted(), by_id())]), end("t"));
        assert_eq!(of_an_input(idle, vec![listed("t", None, by_words())]), end("t"));
        assert_eq!(of_an_input(idle, vec![listed("t", Some(SaidEnd::Completed), by_id())]), None);
        let again = vec![
            listed("t1", Some(SaidEnd::Completed), by_words()),
            listed("t2", interrupted(), by_words()),
        ];
        assert_eq!(of_an_input(idle, again), end("t2"));
        // It may be about to be listed.
        assert_eq!(of_an_input(idle, Vec::new()), Some(Doubt::Arrival));
        let others = vec![listed("t", Some(SaidEnd::Completed), other())];
        assert_eq!(of_an_input(idle, others), Some(Doubt::Arrival));
        assert_eq!(of_an_input(SeenState::Active, Vec::new()), None);
    }

    #[test]
    fn where_nothing_was_under_way_nothing_is_in_doubt() {
        let view = View {
            state: SeenState::Idle,
            turns: vec![listed("t", Some(SaidEnd::Interrupted), Vec::new())],
        };
        assert_eq!(doubt(&view, UnderWay { turn: None, inputs: &[] }), None);
    }
}
