//! Answering what a task asks, for those whom the operator has named. The daemon decides whether this caller is one of them.

use std::collections::BTreeMap;

use ostler_model::ask::AskKind;
use ostler_model::decision::GrantHolds;
use ostler_model::task::AskRecord;
use ostler_model::{Decision, QuestionId};
use serde::Deserialize;
use serde_json::json;

use super::shown::{pending, snapshot};
use super::{Bridge, Done, bad, choice, given, id};
use crate::api::AnswerRequest;
use crate::problem::{Problem, Trouble};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Respond {
    pub(super) task_id: String,
    pub(super) request_id: String,
    pub(super) decision: Option<String>,
    pub(super) answers: Option<BTreeMap<String, Answers>>,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answers {
    answers: Vec<String>,
}

impl Bridge {
    pub(super) async fn respond(&self, wish: Respond, client: &str) -> Done {
        let ask = self.ask(&wish, client).await?;
        let decision = decision(&wish, &ask)?;
        let request = AnswerRequest {
            decision,
            reason: wish.reason.and_then(given),
            remember: None,
            surface: None,
        };
        let body = serde_json::to_value(request).map_err(|error| bad(error.to_string()))?;
        let path = format!("/v1/asks/{}/answer", ask.id);
        let answered: AskRecord = self.post(path, body, client).await?;
        let task = self.detail(answered.task.as_str(), client).await;
        // A question of the agent's own has no task.
        let task = task.as_ref().map(snapshot).ok();
        Ok(
            json!({ "request_id": answered.id, "state": answered.state, "decision": answered.decision, "task": task }),
        )
    }

    /// The ask that is meant: by its id, or the only one of the task. If both are named, they must fit.
    async fn ask(&self, wish: &Respond, client: &str) -> Result<AskRecord, Problem> {
        if !wish.request_id.trim().is_empty() {
            let ask = id(&wish.request_id, "request_id")?;
            let ask: AskRecord = self.get(format!("/v1/asks/{ask}"), client).await?;
            self.check_asker(&wish.task_id, &ask, client).await?;
            return Ok(ask);
        }
        let detail = self.detail(&wish.task_id, client).await?;
        let count = detail.asks.len();
        let mut asks = detail.asks.into_iter();
        match (asks.next(), count) {
            (Some(ask), 1) => Ok(ask),
            (Some(first), _) => {
                let shown: Vec<_> =
                    std::iter::once(&first).chain(asks.as_slice()).map(pending).collect();
                Err(bad(format!("the task asks {count} things"))
                    .hint("name the one that is meant by its request_id")
                    .data(json!({ "pending_requests": shown })))
            }
            (None, _) => Err(bad("the task asks nothing").hint("codex_status says how it stands")),
        }
    }

    /// Refuses a request id that belongs to another task than the one that is named: the caller means something else than it would answer.
    async fn check_asker(&self, task: &str, ask: &AskRecord, client: &str) -> Result<(), Problem> {
        // A question of the agent's own has the name of its conversation instead of a task.
        if task.trim().is_empty() || task.trim() == ask.task.as_str() {
            return Ok(());
        }
        let task = self.detail(task, client).await?.task.id;
        if task == ask.task {
            return Ok(());
        }
        let detail = format!("request {} is not of task {task}, but of {}", ask.id, ask.task);
        Err(Problem::new(Trouble::Conflict, detail)
            .hint("codex_status lists the pending_requests of a task; nothing was answered"))
    }
}

/// What was said, as an answer that this question takes. Without a word it is a refusal.
fn decision(wish: &Respond, ask: &AskRecord) -> Result<Decision, Problem> {
    if let Some(answers) = &wish.answers {
        let given = answers.iter();
        let given = given.map(|(id, it)| (QuestionId::new(id.clone()), it.answers.clone()));
        return Ok(Decision::Answers(given.collect()));
    }
    let grant = |holds| match &ask.content.kind {
        AskKind::Permissions(asked) => {
            Some(Decision::Grant { permissions: asked.wanted.clone(), holds })
        }
        _ => None,
    };
    match choice(wish.decision.clone()).as_deref() {
        Some("accept") => Ok(grant(GrantHolds::Turn).unwrap_or(Decision::Once)),
        Some("acceptforsession") => Ok(grant(GrantHolds::Session).unwrap_or(Decision::Session)),
        None | Some("decline") => Ok(Decision::Deny),
        Some("cancel") => Ok(Decision::Cancel),
        Some(other) => Err(bad(format!("{other:?} is no decision"))
            .hint("use accept, acceptForSession, decline or cancel")),
    }
}
