//! What a task cannot work without: its working folder, and Codex's file of its thread. A person can bring back both.

use std::path::Path;

use ostler_model::{Failure, FailureClass, Task, ThreadId};

use crate::start::Homes;

/// Codex does not mind: its turn completes, and has done nothing.
pub(super) fn check_folder(task: &Task) -> Result<(), Failure> {
    let folder = &task.settings.cwd;
    if Path::new(folder).is_dir() {
        return Ok(());
    }
    let message = format!(
        "its working folder {folder} is gone; make it again and let the task go on, or go on in another folder with what was \
         said so far: `ostler fork {} --from-log --cwd DIR PROMPT`",
        task.id
    );
    Err(Failure::new(FailureClass::Missing, message))
}

/// What is missing, and what the person can do.
pub(super) fn question(task: &Task, failure: &Failure) -> String {
    match (check_folder(task), &task.thread) {
        (Err(no_folder), _) => no_folder.message,
        (Ok(()), Some(thread)) => no_thread(task, thread).message,
        (Ok(()), None) => failure.message.clone(),
    }
}

/// A link on the way to a folder can come to lead into a Codex home or a folder of ours after the task was started.
pub(super) fn check_writable(homes: &Homes, task: &Task) -> Result<(), Failure> {
    let why = homes.refuses_to_write(&task.settings);
    why.map_or(Ok(()), |why| Err(Failure::new(FailureClass::BadRequest, why)))
}

pub(super) fn no_thread(task: &Task, thread: &ThreadId) -> Failure {
    let message = format!(
        "Codex has lost thread {thread}: there is no file of it below `sessions` in its home; put the file back and let the task go \
         on, or go on in a new thread with what was said so far: `ostler fork {} --from-log PROMPT`",
        task.id
    );
    Failure::new(FailureClass::Missing, message)
}
