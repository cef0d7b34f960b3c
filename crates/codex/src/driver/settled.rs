//! Looking at a thread until its file has what Codex knows.
//!
//! Codex says that a thread is at rest before the end of its turn is in the thread's file, and reads from that file how the
//! turn ended (0.130.0; 0.142.5 on a busy machine): for a moment a completed turn is listed as interrupted, without its
//! last message, or not at all. Whoever comes back in that moment would take the turn for lost, or give its input again. It
//! may also be listed as completed before its last message is; once its end is in the file, so is the message.

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
    /// Whether all that it said is written down.
    Answer(TurnId),
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
            Some(Doubt::End(turn) | Doubt::Answer(turn)) if begin.elapsed() < PATIENCE => {
                match end_in_file(path, &turn).await {
                    Ok(false) => tokio::time::sleep(BETWEEN_LOOKS).await,
                    // What stands there now may be newer than what was listed.
                    Ok(true) => return look_with_file(server, thread).await,
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

async fn end_in_file(path: &str, turn: &TurnId) -> Result<bool, String> {
    let (path, turn) = (PathBuf::from(path), turn.clone());
    let read = tokio::task::spawn_blocking(move || has_ended(&path, &turn)).await;
    read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Only a thread at rest is in doubt: of one at work, events tell the rest.
fn doubt(view: &View, under_way: UnderWay<'_>) -> Option<Doubt> {
    if view.state != SeenState::Idle {
        return None;
    }
    let is_sure =
        |seen: &&SeenTurn| matches!(seen.end, Some(SaidEnd::Completed | SaidEnd::Failed(_)));
    let is_completed = |seen: &SeenTurn| seen.end == Some(SaidEnd::Completed);
    if let Some(turn) = under_way.turn {
        return match view.turns.iter().find(|seen| seen.id == *turn) {
            Some(seen) if is_completed(seen) => Some(Doubt::Answer(turn.clone())),
            Some(seen) if is_sure(&seen) => None,
            _ => Some(Doubt::End(turn.clone())),
        };
    }
    for input in under_way.inputs {
        // The latest: the same words may have been said long ago.
        match view.turns.iter().rev().find(|seen| has(seen, input)) {
            None => return Some(Doubt::Arrival),
            Some(seen) if !is_sure(&seen) => return Some(Doubt::End(seen.id.clone())),
            Some(seen) if is_completed(seen) => return Some(Doubt::Answer(seen.id.clone())),
            Some(_) => {}
        }
    }
    None
}

/// Whether the input stands in this turn.
pub(super) fn has(turn: &SeenTurn, (id, words): &(InputId, String)) -> bool {
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

    fn of_a_known_turn(state: SeenState, turns: Vec<SeenTurn>) -> Option<Doubt> {
        let turn = "t".into();
        doubt(&View { state, turns }, UnderWay { turn: Some(&turn), inputs: &[] })
    }

    #[test]
    fn only_a_turn_at_rest_is_in_doubt() {
        let t = |end| vec![listed("t", end, Vec::new())];
        let idle = SeenState::Idle;
        let found = [
            of_a_known_turn(idle, t(Some(SaidEnd::Interrupted))),
            of_a_known_turn(idle, t(None)),
            of_a_known_turn(idle, Vec::new()),
            of_a_known_turn(idle, t(Some(SaidEnd::Completed))),
            of_a_known_turn(idle, t(Some(SaidEnd::Failed(None)))),
            of_a_known_turn(SeenState::Active, t(None)),
        ];
        let end = || Some(Doubt::End("t".into()));
        assert_eq!(found, [end(), end(), end(), Some(Doubt::Answer("t".into())), None, None]);
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
        let completed = vec![listed("t", Some(SaidEnd::Completed), by_id())];
        assert_eq!(of_an_input(idle, completed), Some(Doubt::Answer("t".into())));
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
