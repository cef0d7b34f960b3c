//! Whether the file has the end of a turn already.

use std::path::Path;

use ostler_model::TurnId;

use super::assemble::read;
use super::line::{Event, Line};
use super::tail::read_tail;
use super::{RolloutError, find};

/// The end of a turn is the last that is written of it, so it stands in the last lines of the file. One line may be as
/// long as a command's output.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the end of a file. Blocks.
pub fn has_ended(path: &Path, turn: &TurnId) -> Result<bool, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let mut running: Option<TurnId> = None;
    let mut ended = false;
    let read = read_tail(path, TAIL_BYTES, |line| {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { return };
        let Some(payload) = line.payload.filter(|_| line.kind == "event_msg") else { return };
        let event: Event = read(payload);
        match event.kind.as_str() {
            "task_started" | "turn_started" => running = event.turn_id,
            "task_complete" | "turn_complete" | "turn_aborted" => {
                // An end without a name is that of the turn before it.
                let of = event.turn_id.or(running.take());
                ended |= of.as_ref() == Some(turn);
            }
            _ => {}
        }
    });
    read.map_err(|error| RolloutError::io(path, error))?;
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::has_ended;

    /// As 0.130.0 writes them.
    const BEGAN: &str = r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t1"}}"#;
    const NAMED: &str = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t1","last_agent_message":"Done."}}"#;
    const ABORTED: &str = r#"{"type":"event_msg","payload":{"type":"turn_aborted","turn_id":null,"reason":"interrupted"}}"#;

    fn ended(lines: &[&str], torn: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        std::fs::write(&path, format!("{}\n{torn}", lines.join("\n"))).unwrap();
        has_ended(&path, &"t1".into()).unwrap()
    }

    #[test]
    fn the_end_counts_once_it_is_written_whole() {
        let half = NAMED.get(..60).unwrap();
        let found = [
            ended(&[BEGAN], ""),
            ended(&[BEGAN], half),
            ended(&[BEGAN, NAMED], ""),
            ended(&[BEGAN, ABORTED], ""),
            ended(&[&BEGAN.replace("t1", "t2"), ABORTED], ""),
            ended(&[BEGAN, &NAMED.replace("t1", "t0")], ""),
        ];
        assert_eq!(found, [false, false, true, true, false, false]);
    }
}
