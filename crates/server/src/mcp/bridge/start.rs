//! Starting a task, with no more rights than the bridge gives.

use ostler_model::Input;
use ostler_model::task::{Approval, SandboxMode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::snapshot;
use super::{Bridge, Done, bad, choice, given};
use crate::api::{StartAnswer, StartRequest};
use crate::problem::{Problem, Trouble};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Start {
    pub(super) prompt: String,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) approval_policy: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) plan: bool,
    pub(super) codex_home: Option<String>,
    pub(super) developer_instructions: Option<String>,
    pub(super) notify_target: Option<String>,
    pub(super) worktree: Option<bool>,
    pub(super) key: Option<String>,
}

/// The fields of [`Start`] in a schema.
pub(super) fn fields() -> Value {
    json!({
        "prompt": { "type": "string", "description": "what to do, with all that Codex must know; it does not see your conversation" },
        "cwd": { "type": "string", "description": "the folder to work in, absolute; where this server was started without it" },
        "model": { "type": "string", "description": "the configured one without it" },
        "sandbox": {
            "type": "string", "enum": ["read-only", "workspace-write"], "default": "read-only",
            "description": "what Codex may change without asking",
        },
        "approval_policy": {
            "type": "string", "enum": ["untrusted", "on-request"], "default": "untrusted",
            "description": "when Codex asks a person: before every command that is not known to be harmless, or when it wants more than the sandbox",
        },
        "developer_instructions": { "type": "string", "description": "what the model is told beside the prompt, for the whole task" },
        "codex_home": { "type": "string", "description": "another CODEX_HOME, absolute, that the operator has named (`homes` in [codex])" },
        "notify_target": {
            "type": "string",
            "description": "whom to tell of the end and of what is asked: a target that the operator has set up, or `local`; you yourself ask with notify_completed",
        },
    })
}

impl Bridge {
    pub(super) async fn start(&self, wish: Start, client: &str) -> Done {
        if wish.prompt.trim().is_empty() {
            return Err(bad("prompt is missing: say what Codex shall do"));
        }
        let sandbox = sandbox(choice(wish.sandbox).as_deref())?;
        let approval = approval(choice(wish.approval_policy).as_deref())?;
        let Some(cwd) = wish.cwd.and_then(given).or_else(|| self.cwd.clone()) else {
            return Err(bad("cwd is missing: name the folder to work in, as an absolute path"));
        };
        let request = StartRequest {
            input: Some(Input { plan: wish.plan, ..Input::text(wish.prompt) }),
            cwd,
            sandbox: Some(sandbox),
            approval: Some(approval),
            model: wish.model.and_then(given),
            effort: wish.effort.and_then(given),
            developer_instructions: wish.developer_instructions.and_then(given),
            codex_home: wish.codex_home.and_then(given),
            worktree: wish.worktree,
            key: wish.key.and_then(given),
            notify: wish.notify_target.and_then(given).map(|target| vec![target]),
            ..StartRequest::default()
        };
        let request = serde_json::to_value(request).map_err(|error| bad(error.to_string()))?;
        let started: StartAnswer = self.post("/v1/tasks".to_owned(), request, client).await?;
        let detail = self.detail(started.task.id.as_str(), client).await?;
        let mut shown = snapshot(&detail);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("known".to_owned(), json!(started.known));
            if let Some(unchecked) = started.unchecked {
                fields.insert("unchecked".to_owned(), json!(unchecked));
            }
            let note = "it runs in the background, also when you are gone; wait for it or look at its status";
            fields.insert("note".to_owned(), json!(note));
        }
        Ok(shown)
    }
}

fn sandbox(word: Option<&str>) -> Result<SandboxMode, Problem> {
    match word {
        None | Some("read-only") => Ok(SandboxMode::ReadOnly),
        Some("workspace-write") => Ok(SandboxMode::WorkspaceWrite),
        Some("danger-full-access") => Err(refused(
            "danger-full-access is not given out here",
            "use workspace-write: Codex asks a person for what goes beyond it",
        )),
        Some(other) => {
            Err(bad(format!("{other:?} is no sandbox")).hint("use read-only or workspace-write"))
        }
    }
}

fn approval(word: Option<&str>) -> Result<Approval, Problem> {
    match word {
        None | Some("untrusted") => Ok(Approval::Untrusted),
        Some("on-request") => Ok(Approval::OnRequest),
        Some("never") => Err(refused(
            "a task that never asks is not started here",
            "use on-request: Codex asks a person only for what goes beyond its sandbox",
        )),
        Some(other) => {
            Err(bad(format!("{other:?} is no approval policy")).hint("use untrusted or on-request"))
        }
    }
}

fn refused(detail: &str, hint: &str) -> Problem {
    Problem::new(Trouble::ScopeMissing, detail).hint(hint)
}
