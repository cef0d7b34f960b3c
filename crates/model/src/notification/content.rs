//! What is said. It is taken when the thing happens and never changes: every attempt says the same.

use serde::{Deserialize, Serialize};

use super::occasion::Kind;
use crate::ask::Ask;
use crate::id::AskId;
use crate::task::{Cause, Task, TaskState};

/// The most characters of an answer that a message carries. The whole of it stays with the task.
const ANSWER: usize = 16 * 1024;

/// The most characters of anything else: a command line can be a whole script.
const LINE: usize = 2 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub title: String,
    pub state: TaskState,
    /// Why it stands there.
    pub why: String,
    pub cwd: String,
    pub started_by: String,
    /// The agent's final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// There is more of the answer than stands here.
    #[serde(default, skip_serializing_if = "is_false")]
    pub answer_is_cut: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Unix milliseconds at which a parked task goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on_at: Option<i64>,
    /// The task on the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// What a person is asked, and where they answer. Nothing in it lets anybody answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub ask: AskId,
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that asks the person.
    pub answer_with: String,
    /// It was told before, and nobody has answered.
    #[serde(default, skip_serializing_if = "is_false")]
    pub again: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Content {
    /// Of a task that has come to stand as it does. `page` is where the page is.
    pub fn of_state(task: &Task, kind: Kind, page: Option<&str>) -> Self {
        let tells_of_a_turn = match &task.cause {
            Cause::StartFailed { .. } | Cause::Withdrawn { .. } => false,
            _ => matches!(kind, Kind::Finished | Kind::Failed | Kind::Cancelled),
        };
        let answer = task.last_result.as_ref().filter(|_| tells_of_a_turn);
        let answer = answer.and_then(|result| result.final_answer.as_deref());
        let bounded = answer.map(|answer| bounded(answer, ANSWER));
        Self {
            answer_is_cut: answer != bounded.as_deref(),
            answer: bounded,
            goes_on_at: task.wake_at.filter(|_| kind == Kind::Parked),
            ..Self::plain(task, page)
        }
    }

    /// Of an ask that waits for a person.
    pub fn of_ask(
        task: &Task,
        ask: &AskId,
        content: &Ask,
        again: bool,
        page: Option<&str>,
    ) -> Self {
        let asked = Asked {
            ask: ask.clone(),
            what: bounded(&content.kind.summary(), LINE),
            reason: content.reason.as_deref().map(|reason| bounded(reason, LINE)),
            answer_with: format!("ostler answer {ask}"),
            again,
        };
        let why = match again {
            true => "it was asked before, and nobody has answered".to_owned(),
            false => "it waits for a person".to_owned(),
        };
        Self { why, asked: Some(asked), ..Self::plain(task, page) }
    }

    fn plain(task: &Task, page: Option<&str>) -> Self {
        let link = page.map(|page| format!("{}/#/tasks/{}", page.trim_end_matches('/'), task.id));
        Self {
            title: task.title.clone(),
            state: task.state,
            why: bounded(&task.cause.describe(), LINE),
            cwd: task.settings.cwd.clone(),
            started_by: task.started_by.clone(),
            answer: None,
            answer_is_cut: false,
            asked: None,
            goes_on_at: None,
            link,
        }
    }
}

/// No more than so many characters.
pub(super) fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => text.get(..at).unwrap_or_default().to_owned(),
        None => text.to_owned(),
    }
}
