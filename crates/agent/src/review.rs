//! Looking back at a good turn, in the background: is there something to remember, is there something to know how to do?
//!
//! A review works on a copy of the conversation with the memory and skill tools alone, leaves no message behind, and asks nobody:
//! whatever would need a person is denied. It runs on the model's API even if the turn ran on Codex.

mod prompts;

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ostler_model::task::{AskRecord, DecisionRecord};
use ostler_model::{Ask, AskId, Message};

use crate::activity::Activity;
use crate::api::{Entry, ModelApi};
use crate::conversation::Conversation;
use crate::counters::Due;
use crate::own_loop::{Compresses, How, LoopParts, OwnLoop};
use crate::ports::{Asks, PortError};
use crate::state::ConversationState;
use crate::steering::Controls;
use crate::tools::Toolbox;

/// A review that needs more has lost its way.
const ITERATIONS: u32 = 16;

/// The tools that change what is known.
const CHANGING: [&str; 2] = ["memory", "skill_manage"];

/// What a review works with.
pub(crate) struct ReviewParts {
    pub(crate) api: Arc<dyn ModelApi>,
    /// Only memory and skills.
    pub(crate) toolbox: Toolbox,
    pub(crate) model: String,
    pub(crate) effort: Option<String>,
    pub(crate) instructions: String,
    pub(crate) cwd: std::path::PathBuf,
    pub(crate) context_window: u64,
    /// Prompts say what the code allows: the sentence comes from there.
    pub(crate) skill_rules: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Findings {
    /// One for each change that was made.
    pub(crate) changes: Vec<String>,
    /// Why it did not come to its end.
    pub(crate) error: Option<String>,
}

impl Findings {
    /// What the user is shown: one line, or nothing.
    pub(crate) fn line(&self) -> Option<String> {
        match (&self.changes[..], &self.error) {
            ([], None) => None,
            ([], Some(_)) => self.failed(),
            (changes, _) => Some(format!("looked back: {}", changes.join("; "))),
        }
    }

    /// The same, a line for each change.
    pub(crate) fn lines(&self) -> Vec<String> {
        let changes = self.changes.iter().map(|change| format!("looked back: {change}"));
        changes.chain(self.failed()).collect()
    }

    pub(crate) fn failed(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(format!("looking back failed, and is tried again after the next turn: {error}"))
    }
}

pub(crate) async fn review(
    parts: &ReviewParts,
    conversation: &str,
    mut snapshot: Vec<Entry>,
    due: Due,
    controls: &Controls,
) -> Findings {
    snapshot.push(Entry::plain(Message::user(prompts::wish(due, &parts.skill_rules))));
    let mut scratch = Conversation::scratch(conversation, snapshot, ConversationState::default());
    let loop_parts = LoopParts {
        api: &*parts.api,
        toolbox: &parts.toolbox,
        asks: Arc::new(Nobody),
        model: &parts.model,
        effort: parts.effort.as_deref(),
        instructions: &parts.instructions,
        cwd: parts.cwd.clone(),
        context_window: parts.context_window,
        iterations: ITERATIONS,
        compresses: Compresses::No,
        full_percent: 100,
    };
    let heard = Heard::default();
    let hear = |activity: Activity| heard.take(activity);
    let end = OwnLoop::new(&loop_parts, &mut scratch, controls, &hear).run().await;
    let error = match end.how {
        How::Completed | How::Interrupted => None,
        How::Failed(failure) => Some(failure.message),
    };
    let changes = heard.changes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Findings { changes: changes.into_iter().filter_map(|it| it.done).collect(), error }
}

/// Which changes were made, by what their tools said.
#[derive(Default)]
struct Heard {
    changes: Mutex<Vec<Change>>,
}

struct Change {
    call: String,
    wanted: String,
    done: Option<String>,
}

impl Heard {
    fn take(&self, activity: Activity) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        match activity {
            Activity::ToolBegan { call, tool, preview } if CHANGING.contains(&tool.as_str()) => {
                let what = if tool == "memory" { "memory" } else { "skill" };
                changes.push(Change { call, wanted: format!("{what} {preview}"), done: None });
            }
            Activity::ToolEnded { call, is_error: false, .. } => {
                if let Some(change) = changes.iter_mut().find(|it| it.call == call) {
                    change.done = Some(change.wanted.clone());
                }
            }
            _ => {}
        }
    }
}

/// Denies everything.
struct Nobody;

impl Asks for Nobody {
    fn open<'a>(
        &'a self,
        _conversation: &'a str,
        _key: &'a str,
        _cwd: &'a str,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        Box::pin(async { Err(PortError::Refused("a review asks nobody".to_owned())) })
    }

    fn decision<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        Box::pin(async { Err(PortError::Refused("a review asks nobody".to_owned())) })
    }

    fn withdraw<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn show(&self, _activity: Activity) {}
}

#[cfg(test)]
mod tests {
    use super::Findings;

    #[test]
    fn the_user_reads_one_line_or_none() {
        let of = |changes: &[&str], error: Option<&str>| {
            let changes = changes.iter().map(|it| (*it).to_owned()).collect();
            Findings { changes, error: error.map(str::to_owned) }.line()
        };
        let lines = [
            of(&[], None),
            of(&["memory add", "skill create shoeing"], Some("cut")),
            of(&[], Some("no key")),
        ];
        let expected = [
            None,
            Some("looked back: memory add; skill create shoeing"),
            Some("looking back failed, and is tried again after the next turn: no key"),
        ];
        assert_eq!(lines.each_ref().map(Option::as_deref), expected);
    }
}
