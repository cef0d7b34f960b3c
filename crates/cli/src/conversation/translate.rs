//! What a thread tells, as things to show. This is the only place that maps one to the other.

mod ask;
mod item;

pub(crate) use ask::{agents_ask, ask};

use ostler_codex::thread::{Agent, Notice, ThreadUpdate, Told};
use ostler_model::thread::{AskEnd, DeltaKind, StrayReason, Update};
use ostler_model::{Failure, FailureClass, TurnEnd, TurnResult};

use super::shown::{AgentShown, ErrorShown, Line, Shown, StepShown, TurnShown};
use super::words;

/// What a person sees of an update; nothing for a few of them.
pub(crate) fn line(told: &ThreadUpdate) -> Option<Line> {
    let shown = match &told.what {
        Told::Wire(_) => return None,
        Told::Update(told) => update(told)?,
        Told::Notice(told) => notice(told)?,
    };
    Some(Line { agent: told.agent.as_ref().map(agent), shown })
}

fn agent(agent: &Agent) -> AgentShown {
    AgentShown {
        thread: agent.thread.to_string(),
        name: agent.name.clone(),
        role: agent.role.clone(),
    }
}

/// What a person sees of a thread's own news.
pub(crate) fn update(update: &Update) -> Option<Shown> {
    Some(match update {
        Update::TurnBegan { turn } => Shown::TurnBegan { turn: turn.to_string() },
        Update::InputQueued { .. } => {
            Shown::Step { text: "the prompt waits for the running turn to end".to_owned() }
        }
        Update::InputTaken { turn, .. } => Shown::Taken { turn: turn.to_string() },
        // The result says it, with all that is known.
        Update::InputRefused { .. } => return None,
        Update::ItemBegan { item, .. } => return item::began(item),
        Update::Delta { item, kind, text, .. } => {
            let (item, delta) = (item.to_string(), text.clone());
            match kind {
                DeltaKind::Message | DeltaKind::Plan => Shown::Text { item, delta },
                DeltaKind::Reasoning => Shown::Thinking { item, delta },
                DeltaKind::Output => Shown::Output { item, delta },
            }
        }
        Update::ItemEnded { item, how, .. } => return item::ended(item, *how),
        Update::AskOpened { ask: id, content } => Shown::Ask(Box::new(ask(id, content))),
        Update::AskClosed { ask, how: AskEnd::Decided { decision, by } } => Shown::Answer {
            id: ask.to_string(),
            decision: words::decision(decision),
            by: by.clone(),
        },
        Update::AskClosed { ask, how } => {
            Shown::AskClosed { id: ask.to_string(), text: words::ask_end(how) }
        }
        Update::DecisionRefused { why, .. } => warning(&words::decision_refusal(why)),
        Update::Usage { usage, .. } => Shown::Usage { usage: *usage },
        Update::Plan { plan, .. } => Shown::Plan {
            explanation: plan.explanation.clone(),
            steps: plan
                .steps
                .iter()
                .map(|step| StepShown {
                    text: step.text.clone(),
                    status: words::plan_status(step.status).to_owned(),
                })
                .collect(),
            percent: plan.percent(),
        },
        Update::Diff { diff, .. } => Shown::Diff { diff: diff.clone() },
        Update::Compacted { .. } => {
            Shown::Step { text: "Codex summed the history up to make room".to_owned() }
        }
        Update::Goal { goal: Some(goal) } => {
            Shown::Step { text: format!("goal {}: {}", goal.status.describe(), goal.objective) }
        }
        // Each opening of a thread says so.
        Update::Goal { goal: None } => return None,
        Update::AutoReview { review, .. } => Shown::Step { text: review.describe() },
        Update::Retrying { failure, attempt, for_ms, .. } => Shown::Retrying {
            class: failure.class.name().to_owned(),
            message: failure.message.clone(),
            attempt: *attempt,
            for_ms: *for_ms,
        },
        Update::Stalled { quiet_ms, found, retrying, .. } => {
            let mut text = words::finding(found);
            if let Some(failure) = retrying {
                text = format!("{text}; Codex is trying again after: {}", failure.message);
            }
            Shown::Stalled { quiet_ms: *quiet_ms, found: text }
        }
        Update::Stray { why: StrayReason::Duplicate, .. } => return None,
        Update::Stray { item, .. } => return item.as_ref().and_then(item::stray),
        Update::Disconnected { reason } => {
            warning(&format!("the connection to Codex broke: {reason}"))
        }
        Update::Reconnected => Shown::Step { text: "connected to Codex again".to_owned() },
        Update::TurnEnded { result } => Shown::TurnDone(Box::new(turn(result))),
    })
}

/// What a person sees of what belongs to no turn.
pub(crate) fn notice(notice: &Notice) -> Option<Shown> {
    Some(match notice {
        Notice::Warning { text } => warning(text),
        // Codex reports them with every call; only what is nearly used up is worth a line.
        Notice::RateLimits { used_percent: Some(used), .. } if *used >= NEARLY_USED_UP_PERCENT => {
            warning(&format!("{used} % of the account's allowance is used"))
        }
        Notice::RateLimits { .. } => return None,
        Notice::McpServer { name, error: Some(error), .. } => {
            warning(&format!("MCP server {name} does not start: {error}"))
        }
        Notice::McpServer { error: None, .. } => return None,
        Notice::ModelRerouted { from, to } => {
            warning(&format!("the model {from} was replaced by {to}"))
        }
        Notice::Renewed { thread } => {
            warning(&format!("Codex had forgotten the thread; its work goes on in {thread}"))
        }
        Notice::LeftBehind => warning("what follows is not shown: nobody read for too long"),
        Notice::Login { succeeded: false, error } => {
            warning(&format!("the login failed: {}", error.as_deref().unwrap_or("no reason given")))
        }
        Notice::Archived => warning("the thread was archived by somebody else"),
        Notice::Account { .. }
        | Notice::Login { .. }
        | Notice::Settings { .. }
        | Notice::Unloaded
        | Notice::Other { .. } => return None,
        Notice::Odd { text } => warning(&format!("codex said something odd: {text}")),
    })
}

/// Below this nobody needs to hurry.
const NEARLY_USED_UP_PERCENT: i64 = 90;

fn warning(text: &str) -> Shown {
    Shown::Warning { text: text.to_owned() }
}

pub(crate) fn turn(result: &TurnResult) -> TurnShown {
    let (status, interrupted_by, error) = match &result.end {
        TurnEnd::Completed => ("completed", None, None),
        TurnEnd::Interrupted { by } => ("interrupted", Some(by.describe()), None),
        TurnEnd::Failed { failure } => ("failed", None, Some(error(failure))),
    };
    TurnShown {
        turn: result.turn.to_string(),
        status: status.to_owned(),
        interrupted_by,
        error,
        usage: result.usage,
        retries: result.retries,
        compacted: result.compacted,
        elapsed_ms: result.elapsed_ms,
    }
}

pub(crate) fn error(failure: &Failure) -> ErrorShown {
    let resets_at = match failure.class {
        FailureClass::UsageLimit { resets_at } => resets_at,
        _ => None,
    };
    ErrorShown {
        class: failure.class.name().to_owned(),
        message: failure.message.clone(),
        details: failure.details.clone(),
        http_status: failure.http_status,
        resets_at,
        advice: failure.advice(),
        evidence: failure.evidence.clone(),
    }
}
