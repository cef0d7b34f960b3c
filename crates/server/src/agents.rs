//! What an agent may do to tasks that are there already.
//!
//! Whoever speaks into a task, stops it or copies it acts for whoever started it. Which task an agent belongs to is not always known,
//! since what runs in a sandbox can hardly be looked at. So the line is drawn where it is known for sure: what a person has started is
//! theirs, and agents touch only what an agent has started.

use ostler_model::{AuditKind, Task};

use crate::problem::{Problem, Trouble};
use crate::{Caller, Standing};

/// Refuses an agent that would touch what a person has started, and notes in the daemon's log that it tried.
pub(crate) fn may_touch(caller: &Caller, task: &Task, to_do: &str) -> Result<(), Problem> {
    let Standing::Agent { why, .. } = &caller.standing else { return Ok(()) };
    // Not everybody who comes with a token was looked at; what its holder may is what the token is good for.
    if caller.key.is_some() || Caller::is_name_of_agent(&task.started_by) {
        return Ok(());
    }
    let (task, starter, who) = (&task.id, &task.started_by, caller.name());
    tracing::warn!(%task, who, pid = caller.pid, why, "an agent was refused: it tried to {to_do} a task of {starter}");
    let detail = format!(
        "an agent may not {to_do} task {task}, which {starter} has started: the caller {why}"
    );
    Err(Problem::new(Trouble::AgentRefused, detail)
        .hint("let a person do it, from a terminal of their own")
        .audited(AuditKind::AgentRefused))
}
