//! Every recording in `tests/recordings` is played through the code that drives threads. See the README there.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ostler_codex::replay::{Replayed, ReplayedTurn, replay};
use ostler_codex::wire_log;
use ostler_model::message::Role;
use ostler_model::thread::Update;
use ostler_model::{Message, TurnEnd};

const WRITE_EXPECTED: &str = "OSTLER_WRITE_EXPECTED";

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    files
}

fn play(path: &Path) -> Replayed {
    replay(wire_log::read(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The messages as a person would check them.
fn written(replayed: &Replayed) -> String {
    let mut text = String::new();
    for turn in &replayed.turns {
        for message in &turn.messages {
            writeln!(text, "{}", serde_json::to_string(message).unwrap()).unwrap();
        }
        writeln!(text, "-- {}", end(turn)).unwrap();
    }
    text
}

fn end(turn: &ReplayedTurn) -> String {
    match turn.result.as_ref().map(|result| &result.end) {
        None => "not ended".to_owned(),
        Some(TurnEnd::Completed) => "completed".to_owned(),
        Some(TurnEnd::Interrupted { by }) => format!("interrupted by {by:?}"),
        Some(TurnEnd::Failed { failure }) => format!("failed: {}", failure.class.name()),
    }
}

/// Never two neighbours of one role, never a tool message without the call right before it.
fn alternates(messages: &[Message]) -> bool {
    let mut before: Option<&Message> = None;
    messages.iter().all(|message| {
        let fits = match (before, message.role) {
            (Some(before), role) if before.role == role => false,
            (before, Role::Tool) => before.is_some_and(|before| {
                before.tool_calls.iter().any(|call| Some(&call.id) == message.tool_call_id.as_ref())
            }),
            _ => true,
        };
        before = Some(message);
        fits
    })
}

#[test]
fn every_recording_keeps_what_must_always_hold() {
    let files = recordings();
    assert!(!files.is_empty(), "no recordings");
    for path in files {
        let replayed = play(&path);
        let name = path.display();
        assert!(!replayed.turns.is_empty(), "{name}: no turn");
        assert_eq!(written(&replayed), written(&play(&path)), "{name}: not the same twice");
        let (mut began, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut open = BTreeSet::new();
        for (thread, update) in &replayed.updates {
            match update {
                Update::TurnBegan { turn } => {
                    assert!(began.insert((thread, turn.clone())), "{name}: {turn} began twice");
                }
                Update::TurnEnded { result } => {
                    let turn = (thread, result.turn.clone());
                    assert!(began.contains(&turn), "{name}: {turn:?} ended and never began");
                    assert!(ended.insert(turn), "{name}: {} ended twice", result.turn);
                    let left: Vec<_> = open.iter().filter(|(of, _)| *of == thread).collect();
                    assert!(left.is_empty(), "{name}: {left:?} open at the end of the turn");
                }
                Update::AskOpened { ask, .. } => {
                    assert!(open.insert((thread, ask.clone())), "{name}: {ask} asked twice");
                }
                Update::AskClosed { ask, .. } => {
                    assert!(open.remove(&(thread, ask.clone())), "{name}: {ask} closed twice");
                }
                _ => {}
            }
        }
        for turn in &replayed.turns {
            assert!(alternates(&turn.messages), "{name}: {:#?}", turn.messages);
        }
    }
}

#[test]
fn recordings_with_expected_messages_give_exactly_those() {
    #[expect(clippy::disallowed_methods, reason = "tests have no door that could hand it down")]
    let writes = std::env::var_os(WRITE_EXPECTED).is_some();
    let mut compared = 0;
    for path in recordings() {
        let expected = path.with_extension("txt");
        let found = written(&play(&path));
        if writes {
            std::fs::write(&expected, &found).unwrap();
        }
        if let Ok(expected) = std::fs::read_to_string(&expected) {
            assert_eq!(found, expected, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 0, "no recording has its expected messages beside it");
}
