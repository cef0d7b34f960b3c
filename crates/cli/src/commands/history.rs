//! `ostler why`, `ostler receipts`, `ostler diff`: what happened, and what is proven of it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Args;
use ostler_engine::{DiffFrom, TaskDiff};
use ostler_model::TaskState;
use ostler_model::auto_review::AutoVerdict;
use ostler_model::task::{AskClosed, AskRecord, Intent, IntentState};
use ostler_server::api::{Receipts, Reviewed, Why};

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
        let query = match arguments.turn {
            Some(number) => format!("turn={number}"),
            None => "turns=all".to_owned(),
        };
        let changed: TaskDiff = desk.get(&format!("/v1/tasks/{}/diff?{query}", task.id)).await?;
        match &changed.from {
            DiffFrom::Worktree { .. } if changed.diff.is_empty() => {
                output.say("nothing was changed in its worktree");
            }
            DiffFrom::Worktree { .. } => {}
            DiffFrom::Disk { notes } => {
                notes.iter().for_each(|note| output.note(note));
                if changed.diff.is_empty() {
                    output.say("nothing has changed on disk");
                }
            }
            DiffFrom::Unknown { why, turns } => {
                output.note(&format!("what changed on disk is not known: {why}"));
                output.note(match turns {
                    0 => "Codex told of no patches of its own; what commands wrote is not known",
                    _ => "this is what Codex patched itself; what commands wrote is not in it",
                });
            }
        }
        show(&changed.diff, output);
        output.emit(&changed);
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
