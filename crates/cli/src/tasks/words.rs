//! Our words for how tasks stand, the same in every command.

use anstyle::{AnsiColor, Style};
use ostler_model::task::{
    AskClosed, AskRecord, Awaited, Cause, Edge, IntentState, ModelChoice, NotDone, Receipt,
    Retrying, Running, Sandbox, SandboxMode, Wish,
};
use ostler_model::{Task, TaskState};

use super::time;
use crate::conversation::words;

/// In a few letters, for tables.
pub(crate) fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::WaitingForApproval => "needs approval",
        TaskState::WaitingForUserInput => "needs an answer",
        other => other.name(),
    }
}

/// How a task stands, in a few letters. One whose model is not reached does not work.
pub(crate) fn stand(task: &Task) -> &'static str {
    if let Cause::Waiting { on, .. } = &task.cause
        && matches!(task.state, TaskState::Parked | TaskState::Recovering)
    {
        return match on {
            Awaited::AppServer => "waits for app-server",
            Awaited::Codex => "needs a Codex",
            Awaited::Model => "waits for model",
            Awaited::Login => "needs a login",
        };
    }
    match (task.state, &task.tally.running) {
        (TaskState::Working, Some(Running { retrying: Some(_), .. })) => "retrying model",
        (other, _) => state(other),
    }
}

/// How far the turn has come.
pub(crate) fn running(running: &Running, now: i64) -> String {
    let elapsed = time::span(now.saturating_sub(running.began_at));
    format!("{elapsed} so far, {} tokens", running.tokens)
}

/// The model and the effort that the task has, and those of the running turn where they are others.
pub(crate) fn model(task: &Task) -> Option<String> {
    let usual = task.tally.usual.clone().unwrap_or_default();
    let own = ModelChoice {
        model: task.settings.model.clone().or(usual.model),
        effort: task.settings.effort.clone().or(usual.effort),
        plan: false,
    };
    let text = choice(&own);
    let of_turn = task.tally.chosen.as_ref().filter(|_| task.tally.running.is_some());
    match (text.is_empty(), of_turn.map(choice)) {
        (true, None) => None,
        (false, None) => Some(text),
        (true, Some(turn)) => Some(format!("{turn} (this turn only)")),
        (false, Some(turn)) => Some(format!("{text}; {turn} (this turn only)")),
    }
}

fn choice(choice: &ModelChoice) -> String {
    let effort = choice.effort.as_ref().map(|effort| format!("effort {effort}"));
    let plan = choice.plan.then(|| "plan mode".to_owned());
    [choice.model.clone(), effort, plan].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn retrying(retrying: &Retrying) -> String {
    let (since, message) = (time::at(retrying.since), &retrying.failure.message);
    let times = match retrying.attempts {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    };
    format!("the model since {since}, {times} failed: {message}")
}

pub(crate) fn style(state: TaskState) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match state {
        TaskState::WaitingForApproval | TaskState::WaitingForUserInput => {
            colour(AnsiColor::Yellow).bold()
        }
        TaskState::Parked => colour(AnsiColor::Yellow),
        TaskState::Starting | TaskState::Working | TaskState::Recovering => colour(AnsiColor::Cyan),
        TaskState::Completed => colour(AnsiColor::Green),
        TaskState::Failed => colour(AnsiColor::Red),
        TaskState::Queued | TaskState::Cancelled => Style::new().dimmed(),
    }
}

/// Whether nothing goes on before a person has done something.
pub(crate) fn needs_a_person(task: &Task) -> bool {
    task.state.waits_for_a_person()
        || (task.state == TaskState::Parked
            && (task.wake_at.is_none() || task.cause.needs_a_person()))
}

pub(crate) fn cause(cause: &Cause, now: i64) -> String {
    match cause {
        Cause::LimitReached { failure, until } => {
            format!("{}; it goes on at {}", failure.message, time::until(*until, now))
        }
        Cause::Waiting { on, failure, since, until, .. } => {
            let next = match until {
                Some(until) => format!("next try at {}", time::until(*until, now)),
                None => failure.advice(),
            };
            let (what, since) = (on.describe(), time::at(*since));
            format!("waiting for {what} since {since}: {}; {next}", failure.message)
        }
        Cause::BudgetUsed { edge } => format!("its budget is used: {}", edge_words(edge)),
        other => other.describe(),
    }
}

fn edge_words(edge: &Edge) -> String {
    match edge {
        Edge::Tokens { used, most } => format!("{used} of {most} tokens"),
        Edge::WorkTime { used_ms, most_ms } => {
            let span = |ms: u64| time::span(i64::try_from(ms).unwrap_or(i64::MAX));
            format!("{} of {} at work", span(*used_ms), span(*most_ms))
        }
        Edge::Turns { used, most } => format!("{used} of {most} turns"),
    }
}

pub(crate) fn wish(wish: &Wish) -> String {
    match wish {
        Wish::Send { input, .. } => {
            let (model, effort) = (input.model.clone(), input.effort.clone());
            match choice(&ModelChoice { model, effort, plan: input.plan }) {
                chosen if chosen.is_empty() => input.summary(60),
                chosen if input.stays => {
                    format!("{} [{chosen}, for later turns too]", input.summary(60))
                }
                chosen => format!("{} [{chosen}]", input.summary(60)),
            }
        }
        Wish::Interrupt => "end the turn".to_owned(),
        Wish::Goal { goal } => goal.describe(),
        Wish::Answer { ask, decision, .. } => format!("{ask}: {}", words::decision(decision)),
    }
}

/// What became of an intent: ran, did not run, or unknown.
pub(crate) fn intent(state: &IntentState) -> String {
    match state {
        IntentState::Pending => "waits for its time".to_owned(),
        IntentState::Sent { .. } => "handed to Codex, not proven yet".to_owned(),
        IntentState::Done { receipt: Receipt::Taken { turn } } => format!("ran, in turn {turn}"),
        IntentState::Done { receipt: Receipt::Answered } => "Codex has the answer".to_owned(),
        IntentState::Done { receipt: Receipt::Interrupted { turn } } => {
            format!("turn {turn} was ended")
        }
        IntentState::Done { receipt: Receipt::GoalChanged } => "Codex has it".to_owned(),
        IntentState::Done { receipt: Receipt::Nothing } => "there was nothing to do".to_owned(),
        IntentState::NotDone { why } => format!("did not run: {}", not_done(why)),
        IntentState::Unknown { why } => format!("unknown: {why}"),
    }
}

fn not_done(why: &NotDone) -> String {
    match why {
        NotDone::Refused { failure } => failure.message.clone(),
        NotDone::Withdrawn { by } => format!("{by} took it back"),
        NotDone::Decided { by } => format!("{by} was first"),
        NotDone::TooLate => "it came too late".to_owned(),
        NotDone::Needless => "what it was about was given again instead".to_owned(),
        NotDone::NotOffered => "the question does not take that answer".to_owned(),
    }
}

/// What is asked, and which sub-agent asks.
pub(crate) fn asked(ask: &AskRecord) -> String {
    let what = ask.content.kind.summary();
    match &ask.agent {
        Some(agent) => format!("{}: {what}", agent.describe()),
        None => what,
    }
}

pub(crate) fn ask_closed(how: &AskClosed) -> String {
    match how {
        AskClosed::Answered => "Codex has the answer".to_owned(),
        AskClosed::Withdrawn { reason } => {
            words::ask_end(&ostler_model::thread::AskEnd::Withdrawn { reason: *reason })
        }
        AskClosed::Declined { reason } => format!("declined: {reason}"),
        AskClosed::Refused => "refused: this version of ostler cannot answer it".to_owned(),
        AskClosed::Served => "served".to_owned(),
        AskClosed::Overtaken => "overtaken: the task went on without it".to_owned(),
    }
}

pub(crate) fn sandbox(sandbox: &Sandbox) -> String {
    let mut text = sandbox_mode(sandbox.mode).to_owned();
    if !sandbox.writable_roots.is_empty() {
        text.push_str(&format!(" and {}", sandbox.writable_roots.join(", ")));
    }
    if sandbox.network && sandbox.mode != SandboxMode::DangerFullAccess {
        text.push_str(" with network");
    }
    text
}

fn sandbox_mode(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}

pub(crate) fn approval(approval: ostler_model::task::Approval) -> &'static str {
    use ostler_model::task::Approval;
    match approval {
        Approval::Untrusted => "untrusted",
        Approval::OnRequest => "on-request",
        Approval::Never => "never",
    }
}
