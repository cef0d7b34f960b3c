//! The difference between two recorded states, with all that has to be said of it.

use std::collections::BTreeSet;
use std::path::Path;

use ostler_model::task::SandboxMode;
use ostler_model::{Task, TaskId, TurnId};

use super::record::{Record, State, TurnRecord};
use super::{OnDisk, tree, wait_for};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiskDiffOf {
    /// Since the task began.
    All,
    /// The last turn, or the one that runs.
    Last,
    Turn(TurnId),
}

/// What changed on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiskDiff {
    Known {
        /// Unified; empty if nothing changed.
        diff: String,
        /// What has to be known to read it.
        notes: Vec<String>,
    },
    Unknown {
        why: String,
    },
}

/// Two states, and what is to be said of them.
struct Span {
    before: State,
    after: State,
    notes: Vec<String>,
}

impl OnDisk {
    pub(crate) async fn diff(&self, task: &Task, of: &DiskDiffOf) -> DiskDiff {
        let seen = self.seen(&task.id);
        wait_for(&seen).await;
        let _turn = seen.turn.acquire().await;
        let mut record = self.read(&task.id).await;
        let span = match of {
            DiskDiffOf::All => self.all(task, &mut record).await,
            DiskDiffOf::Last => self.last(task, &mut record).await,
            DiskDiffOf::Turn(turn) => match find(&record, turn) {
                Some(recorded) => Some(span_of(recorded)),
                None if task.turn.as_ref() == Some(turn) => self.last(task, &mut record).await,
                None => None,
            },
        };
        if !seen.is_witnessed {
            self.unloaded(&task.id);
        }
        let Some(span) = span else {
            let why = "the daemon was not there when the turn began or ended, or it was before such changes were recorded";
            return DiskDiff::Unknown { why: why.to_owned() };
        };
        let mut span = span;
        span.notes.extend(beyond(task, &record));
        self.compare(&task.id, &record, span).await
    }

    async fn all(&self, task: &Task, record: &mut Record) -> Option<Span> {
        let before = record.begin.clone()?;
        let mut notes = notes_of(&record.turns);
        let last = record.turns.last().cloned();
        let ended = task.last_result.as_ref().map(|result| &result.turn);
        let after = match last.filter(|last| task.turn.is_none() && Some(&last.turn) == ended) {
            Some(last) => last.after,
            None => {
                if task.turn.is_none() {
                    notes.push(
                        "the end of its last turn was not seen: this is the folder as it is now"
                            .to_owned(),
                    );
                }
                self.state(&task.id, task, record).await
            }
        };
        Some(Span { before, after, notes })
    }

    async fn last(&self, task: &Task, record: &mut Record) -> Option<Span> {
        if task.turn.is_some() {
            let last = record.turns.last().map(|last| last.after.clone());
            let before = record.before.clone().or(last)?;
            let after = self.state(&task.id, task, record).await;
            let notes = vec!["the turn still runs: this is the folder as it is now".to_owned()];
            return Some(Span { before, after, notes });
        }
        let ended = task.last_result.as_ref()?;
        find(record, &ended.turn).map(span_of)
    }

    async fn compare(&self, task: &TaskId, record: &Record, span: Span) -> DiskDiff {
        let Span { before, after, mut notes } = span;
        let (before, after, nested, withheld) = match (before, after) {
            (State::Unknown { why }, _) | (_, State::Unknown { why }) => {
                return DiskDiff::Unknown { why };
            }
            (
                State::Tree { tree: before, withheld: mut earlier, .. },
                State::Tree { tree, nested, withheld },
            ) => {
                earlier.extend(withheld);
                (before, tree, nested, earlier)
            }
        };
        let Some(place) = &record.place else {
            return DiskDiff::Unknown { why: "its folder is not recorded".to_owned() };
        };
        if !nested.is_empty() {
            let nested: Vec<String> = nested.into_iter().collect();
            notes.push(format!(
                "repositories inside of the folder are not looked into: {}",
                nested.join(", ")
            ));
        }
        if !withheld.is_empty() {
            let withheld: Vec<String> = withheld.into_iter().collect();
            notes.push(format!(
                "these hold a secret, so they are not kept and what changed in them is not here: {}",
                withheld.join(", ")
            ));
        }
        if before == after {
            return DiskDiff::Known { diff: String::new(), notes };
        }
        let own = self.folder_of(task);
        match tree::compare(&self.inner.git, &own, place, &before, &after).await {
            Ok(diff) => DiskDiff::Known { diff, notes },
            Err(why) => DiskDiff::Unknown { why },
        }
    }
}

/// Where it may write besides its folder.
fn beyond(task: &Task, record: &Record) -> Option<String> {
    let sandbox = &task.settings.sandbox;
    let top = record.top()?.display();
    let is_inside =
        |root: &String| Path::new(root).starts_with(record.top().unwrap_or(Path::new("/")));
    match sandbox.mode {
        SandboxMode::DangerFullAccess => {
            Some(format!("it may write everywhere; what it changed outside of {top} is not here"))
        }
        _ if sandbox.writable_roots.iter().all(is_inside) => None,
        _ => Some(format!(
            "it may also write to {}; what it changed outside of {top} is not here",
            sandbox.writable_roots.join(", ")
        )),
    }
}

fn find<'record>(record: &'record Record, turn: &TurnId) -> Option<&'record TurnRecord> {
    record.turns.iter().find(|known| known.turn == *turn)
}

fn span_of(turn: &TurnRecord) -> Span {
    let notes = notes_of(std::slice::from_ref(turn));
    Span { before: turn.before.clone(), after: turn.after.clone(), notes }
}

fn notes_of(turns: &[TurnRecord]) -> Vec<String> {
    let mut notes = Vec::new();
    let others: BTreeSet<&str> =
        turns.iter().flat_map(|turn| &turn.others).map(TaskId::as_str).collect();
    if !others.is_empty() {
        let others: Vec<&str> = others.into_iter().collect();
        notes.push(format!(
            "other tasks worked in the same folder at the same time, and what they changed is here too: {}",
            others.join(", ")
        ));
    }
    if turns.iter().any(|turn| turn.is_late) {
        notes.push(
            "the daemon was not there all the while: what changed after the turn, before it was back, is here too"
                .to_owned(),
        );
    }
    notes
}
