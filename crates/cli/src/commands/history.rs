//! `ostler why`, `ostler receipts`, `ostler diff`: what happened, and what is proven of it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Args;
use ostler_engine::TaskDiff;
use ostler_model::TaskState;
use ostler_model::auto_review::AutoVerdict;
use ostler_model::task::{AskClosed, AskRecord, Intent, IntentState};
use ostler_server::api::{Receipts, Reviewed, Turn, Turns, Why};
use serde_json::json;

use super::notify;
use crate::conversation;
use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, id, time, words};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct TaskArgument {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    id: String,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    task: TaskArgument,
    /// Only of this turn, by its number
    #[arg(long, value_name = "NUMBER")]
    turn: Option<u32>,
}

/// Every state that the task has been in, and why.
pub(crate) fn why(arguments: &TaskArgument, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let why: Why = desk.get(&format!("/v1/tasks/{}/why", id(&arguments.id)?)).await?;
        output.emit(&why);
        let now = time::now();
        let rows: Vec<Vec<Cell>> = why
            .steps
            .iter()
            .map(|step| {
                vec![
                    Cell::dim(step.seq.to_string()),
                    Cell::dim(time::ago(step.at, now)),
                    Cell::styled(words::state(step.to), words::style(step.to)),
                    Cell::plain(words::cause(&step.cause, now)),
                ]
            })
            .collect();
        output.say_styled(&table(&["SEQ", "WHEN", "STATE", "BECAUSE"], &rows));
        Ok(ExitCode::SUCCESS)
    })
}

/// What somebody wanted done, and whether it was.
pub(crate) fn receipts(arguments: &TaskArgument, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let path = format!("/v1/tasks/{}/receipts", id(&arguments.id)?);
        let receipts: Receipts = desk.get(&path).await?;
        output.emit(&receipts);
        let now = time::now();
        let mut rows: Vec<(i64, Vec<Cell>)> = receipts
            .intents
            .iter()
            .map(|intent| (intent.at, intent_row(intent, now)))
            .chain(receipts.decided.iter().filter_map(|ask| decided_row(ask, now)))
            .collect();
        rows.extend(receipts.reviewed.iter().map(|reviewed| reviewed_row(reviewed, now)));
        rows.sort_by_key(|(at, _)| *at);
        let rows: Vec<Vec<Cell>> = rows.into_iter().map(|(_, row)| row).collect();
        output.say_styled(&table(&["WHEN", "WISH", "WHAT BECAME OF IT", ""], &rows));
        if !receipts.notifications.is_empty() {
            output.say_styled(&format!("\n{}", notify::rows(&receipts.notifications)));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn intent_row(intent: &Intent, now: i64) -> Vec<Cell> {
    let state = match &intent.state {
        IntentState::Done { .. } => TaskState::Completed,
        IntentState::NotDone { .. } | IntentState::Unknown { .. } => TaskState::Failed,
        IntentState::Pending | IntentState::Sent { .. } => TaskState::Queued,
    };
    vec![
        Cell::dim(time::ago(intent.at, now)),
        Cell::plain(intent.wish.name()),
        Cell::styled(words::intent(&intent.state), words::style(state)),
        Cell::plain(words::wish(&intent.wish)),
    ]
}

/// What Codex's own reviewer decided.
fn reviewed_row(reviewed: &Reviewed, now: i64) -> (i64, Vec<Cell>) {
    let state = match reviewed.review.verdict {
        AutoVerdict::Approved => TaskState::Completed,
        _ => TaskState::Failed,
    };
    let row = vec![
        Cell::dim(time::ago(reviewed.at, now)),
        Cell::plain("review"),
        Cell::styled(reviewed.review.verdict.name().replace('_', " "), words::style(state)),
        Cell::plain(reviewed.review.describe()),
    ];
    (reviewed.at, row)
}

/// An ask that no person decided.
fn decided_row(ask: &AskRecord, now: i64) -> Option<(i64, Vec<Cell>)> {
    let decision = ask.decision.as_ref()?;
    let (became, state) = match &ask.closed {
        Some(AskClosed::Answered) => ("Codex has the answer".to_owned(), TaskState::Completed),
        Some(other) => (words::ask_closed(other), TaskState::Failed),
        None => ("handed to Codex, not proven yet".to_owned(), TaskState::Queued),
    };
    let said = conversation::words::decision(&decision.decision);
    let row = vec![
        Cell::dim(time::ago(decision.at, now)),
        Cell::plain("answer"),
        Cell::styled(became, words::style(state)),
        Cell::plain(format!(
            "{said}, by {}: {}",
            decision.by.describe(),
            ask.content.kind.summary()
        )),
    ];
    Some((decision.at, row))
}

/// What the task has changed.
pub(crate) fn diff(arguments: &DiffArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.task.reach).await?;
        let task = desk.task(&arguments.task.id).await?;
        if let (Some(tree), None) = (&task.settings.worktree, arguments.turn) {
            let changed: TaskDiff = desk.get(&format!("/v1/tasks/{}/diff", task.id)).await?;
            if changed.diff.is_empty() {
                output.say("nothing was changed in its worktree");
            }
            show(&changed.diff, output);
            output.emit(&json!({ "task": task.id, "worktree": tree, "diff": changed.diff }));
            return Ok(ExitCode::SUCCESS);
        }
        let turns: Turns = desk.get(&format!("/v1/tasks/{}/turns", task.id)).await?;
        let is_wanted = |turn: &&Turn| arguments.turn.is_none_or(|number| turn.number == number);
        let diffs: Vec<_> = turns
            .turns
            .iter()
            .filter(is_wanted)
            .filter_map(|turn| Some((turn, turn.result.as_ref()?.diff.as_ref()?)))
            .collect();
        if diffs.is_empty() {
            output.say("nothing was changed by file changes of Codex");
        }
        let is_one = diffs.len() == 1;
        for (turn, diff) in &diffs {
            if !is_one && io::stdout().is_terminal() {
                let bold = anstyle::Style::new().bold();
                output.say_styled(&format!("{bold}turn {}{bold:#}", turn.number));
            }
            show(diff, output);
        }
        let diffs: Vec<_> = diffs
            .iter()
            .map(|(turn, diff)| json!({ "turn": turn.turn, "number": turn.number, "diff": diff }))
            .collect();
        output.emit(&json!({ "task": task.id, "diffs": diffs }));
        Ok(ExitCode::SUCCESS)
    })
}

/// In colour for people, as it is for programs: `ostler diff ID | git apply`.
fn show(diff: &str, output: Output) {
    match (output.is_json(), io::stdout().is_terminal()) {
        (true, _) => {}
        (false, true) => output.write(&conversation::coloured_diff(diff)),
        (false, false) => output.write(diff),
    }
}
