//! A task as it is written down first, with its first input.

use ostler_model::task::{ForkedFrom, Intent, IntentState, TaskSettings, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{Event, Input, IntentId, Task, TaskId, TaskState, TurnId};
use ostler_store::{Batch, StartKey, Write};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::shared::now;

/// The most characters of a title.
const TITLE: usize = 120;

pub(super) fn intent_id(task: &TaskId, key: Option<&str>) -> IntentId {
    match key {
        None => IntentId::new(Uuid::now_v7().to_string()),
        Some(key) => {
            let hash = Sha256::digest(format!("{task}\n{key}"));
            let bytes: [u8; 16] =
                std::array::from_fn(|at| hash.get(at).copied().unwrap_or_default());
            IntentId::new(uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string())
        }
    }
}

/// Twelve hexadecimal digits of the random part: short to type, and no two tasks of one second begin alike.
pub fn fresh_task_id() -> TaskId {
    let random = Uuid::now_v7().simple().to_string();
    TaskId::new(random.get(20..).unwrap_or_default())
}

pub(crate) fn new_task(
    settings: TaskSettings,
    input: Input,
    by: String,
    forked_from: Option<ForkedFrom>,
    id: &TaskId,
    key: Option<(String, StartKey)>,
) -> (Task, Batch) {
    let at = now();
    let intent = Intent {
        // Whoever knows the key finds what became of the first input, as of any other.
        id: intent_id(id, key.as_ref().map(|(key, _)| key.as_str())),
        task: id.clone(),
        wish: Wish::Send { input, if_busy: IfBusy::Queue },
        by: by.clone(),
        at,
        state: IntentState::Pending,
    };
    let title = match &intent.wish {
        Wish::Send { input, .. } => input.summary(TITLE),
        _ => String::new(),
    };
    let task = Task {
        id: id.clone(),
        state: TaskState::Queued,
        cause: ostler_model::task::Cause::Submitted { intent: intent.id.clone() },
        title,
        budget: settings.budget,
        settings,
        started_by: by.clone(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: ostler_model::task::Spent::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: at,
        updated_at: at,
        ended_at: None,
        last_seq: 0,
        forked_from,
    };
    let mut batch = Batch::new();
    let key = key.map(|(_, key)| key);
    batch.push(Write::NewTask { task: Box::new(task.clone()), key });
    batch.push(Write::Intent(Box::new(intent.clone())));
    batch.event(id, at, Event::Created { settings: Box::new(task.settings.clone()), by });
    batch.event(id, at, Event::Intended { intent: Box::new(intent) });
    (task, batch)
}

/// A copy of a task from one of its turns on.
pub fn fork_of(parent: &Task, turn: Option<TurnId>) -> Option<ForkedFrom> {
    let thread = parent.thread.clone()?;
    Some(ForkedFrom { task: parent.id.clone(), thread, turn })
}
