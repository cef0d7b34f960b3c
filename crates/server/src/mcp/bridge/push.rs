//! What is given to a task that is there: more to do, a word into its turn, its end.

use std::time::Duration;

use ostler_model::Input;
use ostler_model::thread::IfBusy;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::shown::snapshot;
use super::wait::{Until, Waiting};
use super::{Bridge, Done, bad, choice, given, id};
use crate::api::{Accepted, GoalRequest, GoalVerb, SendRequest};
use crate::mcp::table::Call;
use crate::problem::{Problem, Trouble};

/// Codex ends a turn within seconds; a caller that wants to know more waits.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Send {
    pub(super) task_id: String,
    pub(super) prompt: String,
    pub(super) if_busy: Option<String>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) stays: bool,
    pub(super) plan: bool,
    pub(super) key: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Steer {
    pub(super) task_id: String,
    pub(super) instruction: String,
    pub(super) key: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChangeGoal {
    pub(super) task_id: String,
    pub(super) change: Option<GoalVerb>,
    pub(super) objective: Option<String>,
    pub(super) token_budget: Option<u64>,
    pub(super) key: Option<String>,
}

impl Bridge {
    pub(super) async fn send(&self, wish: Send, client: &str) -> Done {
        let task = id(&wish.task_id, "task_id")?;
        let if_busy = match choice(wish.if_busy).as_deref() {
            None | Some("queue") => IfBusy::Queue,
            Some("steer") => IfBusy::Steer,
            Some("interrupt") => IfBusy::Interrupt,
            Some("fail") => IfBusy::Fail,
            Some(other) => {
                return Err(bad(format!("{other:?}: if_busy is queue, steer, interrupt or fail")));
            }
        };
        if wish.prompt.trim().is_empty() {
            return Err(bad("prompt is missing: say what Codex shall do next"));
        }
        let (model, effort) = (wish.model.and_then(given), wish.effort.and_then(given));
        let (stays, plan) = (wish.stays, wish.plan);
        let input = Input { model, effort, stays, plan, ..Input::text(wish.prompt) };
        let request = SendRequest {
            prompt: None,
            input: Some(input),
            if_busy,
            key: wish.key.and_then(given),
        };
        self.give(format!("/v1/tasks/{task}/send"), &request, client).await
    }

    /// Only into a turn that runs: what is meant for one must not begin another.
    pub(super) async fn steer(&self, wish: Steer, client: &str) -> Done {
        if wish.instruction.trim().is_empty() {
            return Err(bad("instruction is missing: say what Codex shall do otherwise"));
        }
        let detail = self.detail(&wish.task_id, client).await?;
        let state = detail.task.state;
        if state.is_over() {
            let text = format!("nothing runs that could be steered: the task is {}", state.name());
            return Err(Problem::new(Trouble::Conflict, text)
                .hint("codex_send gives it more to do, in the same conversation"));
        }
        let (prompt, key) = (Some(wish.instruction), wish.key.and_then(given));
        let request = SendRequest { prompt, input: None, if_busy: IfBusy::SteerOnly, key };
        self.give(format!("/v1/tasks/{}/steer", detail.task.id), &request, client).await
    }

    pub(super) async fn goal(&self, wish: ChangeGoal, client: &str) -> Done {
        let task = id(&wish.task_id, "task_id")?;
        let request = GoalRequest {
            change: wish
                .change
                .ok_or_else(|| bad("change is missing: set, pause, resume or clear"))?,
            objective: wish.objective,
            token_budget: wish.token_budget,
            key: wish.key,
        };
        request.change().map_err(bad)?;
        self.give(format!("/v1/tasks/{task}/goal"), &request, client).await
    }

    /// Ends the turn, and looks whether it has ended: what is told is how it stands, not what was wished.
    pub(super) async fn interrupt(&self, task: &str, call: &Call, client: &str) -> Done {
        let detail = self.detail(task, client).await?;
        let state = detail.task.state;
        if state.is_over() {
            let text = format!("nothing runs that could be ended: the task is {}", state.name());
            return Err(Problem::new(Trouble::Conflict, text).hint("there is nothing to do"));
        }
        let task = detail.task.id;
        let path = format!("/v1/tasks/{task}/interrupt");
        let accepted: Accepted = self.post(path, json!({}), client).await?;
        let waiting = Waiting {
            tasks: vec![task.to_string()],
            until: Until::Over,
            enough: 1,
            patience: INTERRUPT_PATIENCE,
        };
        let waited = self.wait_for(&waiting, call, client).await?;
        let mut shown = match waited.details.first() {
            Some(detail) => snapshot(detail),
            None => snapshot(&self.detail(task.as_str(), client).await?),
        };
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("intent".to_owned(), json!(accepted.intent));
            fields.insert("has_ended".to_owned(), json!(!waited.timed_out));
        }
        Ok(shown)
    }

    async fn give(&self, path: String, request: &impl Serialize, client: &str) -> Done {
        let body = serde_json::to_value(request).map_err(|error| bad(error.to_string()))?;
        let accepted: Accepted = self.post(path, body, client).await?;
        let mut shown: Value = snapshot(&self.detail(accepted.task.as_str(), client).await?);
        if let Some(fields) = shown.as_object_mut() {
            if let Some(unchecked) = accepted.unchecked {
                fields.insert("unchecked".to_owned(), json!(unchecked));
            }
            fields.insert("intent".to_owned(), json!(accepted.intent));
        }
        Ok(shown)
    }
}
