//! What was put before the model for an input whose turn has not ended: it is in the file, and nobody is told of it.

use std::io;
use std::path::Path;

use ostler_model::input::ContextPart;

use super::assemble::read;
use super::line::{Event, Line, Response};
use super::tail::read_tail;
use super::{RolloutError, find};

/// What belongs to the next turn stands behind the end of the last one, or in a turn that was cut off. As long as what Codex
/// takes as one input.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// How many of these, from the first one on, the file has since the last turn ended. Blocks.
pub fn context_given(path: &Path, context: &[ContextPart]) -> Result<usize, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let mut said: Vec<(String, String)> = Vec::new();
    let read = read_tail(path, TAIL_BYTES, |line| {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { return };
        let Some(payload) = line.payload else { return };
        match line.kind.as_str() {
            "event_msg" => {
                let event: Event = read(payload);
                if matches!(event.kind.as_str(), "task_complete" | "turn_complete" | "turn_aborted")
                {
                    said.clear();
                }
            }
            "response_item" => {
                let item: Response = read(payload);
                if item.kind == "message" {
                    said.push((item.role, item.content.join("\n")));
                }
            }
            _ => {}
        }
    });
    match read {
        // A thread has no file before its first turn.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(RolloutError::io(path, error)),
        Ok(_) => Ok(found(&said, context)),
    }
}

fn found(said: &[(String, String)], context: &[ContextPart]) -> usize {
    let is = |(said, part): (&(String, String), &ContextPart)| {
        said.0 == part.role.name() && said.1 == part.text
    };
    let runs = |run: &[(String, String)]| run.iter().zip(context).all(is);
    if said.windows(context.len().max(1)).any(runs) {
        return context.len();
    }
    // Codex died while it wrote: then what it has of them is the last that it has.
    let begins = |count: &usize| said.len().checked_sub(*count).and_then(|at| said.get(at..));
    (1..context.len()).rev().find(|count| begins(count).is_some_and(runs)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use ostler_model::input::{ContextPart, ContextRole};

    use super::context_given;

    fn line(role: &str, text: &str) -> String {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}}}"#
        )
    }

    const ENDED: &str = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t1"}}"#;

    fn given(lines: &[&str]) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let part = |role, text: &str| ContextPart { role, text: text.to_owned() };
        let context = [part(ContextRole::Developer, "be kind"), part(ContextRole::User, "hay?")];
        context_given(&path, &context).unwrap()
    }

    #[test]
    fn what_stands_behind_the_last_end_counts_as_far_as_it_goes() {
        let (first, second, other) =
            (line("developer", "be kind"), line("user", "hay?"), line("user", "go"));
        let found = [
            given(&[]),
            given(&[&first, &second, ENDED]),
            given(&[ENDED, &first, &second]),
            given(&[ENDED, &first, &second, &other]),
            given(&[ENDED, &other, &first]),
            given(&[ENDED, &first, &other]),
            given(&[ENDED, &second, &first]),
        ];
        assert_eq!(found, [0, 0, 2, 2, 1, 0, 1]);
        let nowhere = std::path::Path::new("/nowhere/rollout.jsonl");
        assert_eq!(context_given(nowhere, &[]).unwrap(), 0);
    }
}
