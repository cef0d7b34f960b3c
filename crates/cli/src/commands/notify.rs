//! `ostler notify`: who was told what became of tasks, what was given up, and sending it again.

use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use ostler_model::notification::{Kind, State};
use ostler_model::{Notification, TaskState};
use ostler_server::api::{NotificationList, NotificationsRead, Previews};
use serde_json::json;

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, id, time, words};
use crate::terminal::Output;

/// A page for a terminal.
const PAGE: usize = 50;

#[derive(Debug, Args)]
#[command(after_help = "\
A notification keeps its name for good: whoever gets it twice knows it by that. What was given up stays until
retention removes it, and `--replay` sends it again under the same name.
Who is told is said by `ostler start --notify` and by the [notify.NAME] sections of the configuration.")]
pub(crate) struct NotifyArguments {
    /// Only of this task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// Show what the task would tell as it stands, and send nothing
    #[arg(long, requires = "task", conflicts_with_all = ["replay", "dead"])]
    dry_run: bool,
    /// Send this one again; the first letters of its name are enough
    #[arg(long, value_name = "DELIVERY", conflicts_with_all = ["task", "dead"])]
    replay: Option<String>,
    /// Only what was given up
    #[arg(long)]
    dead: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &NotifyArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        match (&arguments.replay, &arguments.task) {
            (Some(delivery), _) => replay(&mut desk, delivery).await?,
            (None, Some(task)) if arguments.dry_run => preview(&mut desk, task).await?,
            (None, task) => list(&mut desk, task.as_deref(), arguments.dead).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn replay(desk: &mut Desk<'_>, delivery: &str) -> Result<(), Failure> {
    let path = format!("/v1/notifications/{}/replay", id(delivery)?);
    let row: Notification = desk.post(&path, &json!({})).await?;
    desk.output.emit(&row);
    desk.output.say(&format!("{} is sent again to {}", row.id, row.target));
    Ok(())
}

async fn preview(desk: &mut Desk<'_>, task: &str) -> Result<(), Failure> {
    let path = format!("/v1/tasks/{}/notifications/preview", id(task)?);
    let previews: Previews = desk.get(&path).await?;
    let output = desk.output;
    output.emit(&previews);
    if previews.previews.is_empty() {
        output.say("it names nobody; `ostler start --notify TARGET` does");
    }
    let bold = Style::new().bold();
    for preview in &previews.previews {
        let what = match (&preview.problem, preview.is_unwanted) {
            (Some(problem), _) => format!("nothing: {problem}"),
            (None, true) => format!("nothing: it does not want to hear of {}", preview.kind),
            (None, false) => preview.kind.to_string(),
        };
        output.say_styled(&format!("{bold}{}{bold:#} would be told {what}", preview.target));
        if let Some(sending) = preview.sending.as_ref().filter(|_| !preview.is_unwanted) {
            output.say(&format!("to {}", sending.to));
            output.say(&serde_json::to_string_pretty(&sending.body).unwrap_or_default());
        }
    }
    Ok(())
}

async fn list(desk: &mut Desk<'_>, task: Option<&str>, only_dead: bool) -> Result<(), Failure> {
    let task = task.map(id).transpose()?;
    let mut path = format!("/v1/notifications?limit={PAGE}");
    if let Some(task) = task {
        path.push_str(&format!("&task={task}"));
    }
    if only_dead {
        path.push_str(&format!("&state={}", State::Failed.name()));
    }
    let list: NotificationList = desk.get(&path).await?;
    let output = desk.output;
    output.emit(&list);
    if list.notifications.is_empty() {
        output.say(if only_dead { "nothing was given up" } else { "nobody was told anything yet" });
        return Ok(());
    }
    output.say_styled(&rows(&list.notifications));
    if list.notifications.iter().any(|row| row.state == State::Failed) {
        output.say("send one again with `ostler notify --replay DELIVERY`");
    }
    let has_unread = list.notifications.iter().any(|row| row.is_unread);
    if let (true, false, Some(up_to)) = (has_unread, output.is_json(), list.newest) {
        // Whoever may not say so has still seen them.
        let read = NotificationsRead { up_to, task: task.map(ToOwned::to_owned) };
        drop(desk.post::<NotificationsRead>("/v1/notifications/read", &read).await);
    }
    Ok(())
}

/// As a table.
pub(super) fn rows(notifications: &[Notification]) -> String {
    let now = time::now();
    let rows: Vec<Vec<Cell>> = notifications
        .iter()
        .map(|row| {
            let target = if row.target.is_empty() { "nobody" } else { &row.target };
            let delivery: String = row.id.as_str().chars().take(8).collect();
            let task: String = row.task.as_str().chars().take(8).collect();
            let kind = Cell::styled(row.kind.name(), words::style(state_like(row.kind)));
            vec![
                Cell::plain(delivery),
                Cell::plain(task),
                Cell::dim(time::ago(row.at, now)),
                kind,
                Cell::plain(target),
                Cell::styled(became(row, now), words::style(outcome_like(row.state))),
                Cell::plain(row.content.title.clone()),
            ]
        })
        .collect();
    table(&["DELIVERY", "TASK", "WHEN", "WHAT", "TARGET", "WHAT BECAME OF IT", "TITLE"], &rows)
}

/// In the colour of the state that is told.
fn state_like(kind: Kind) -> TaskState {
    match kind {
        Kind::Finished => TaskState::Completed,
        Kind::Failed => TaskState::Failed,
        Kind::NeedsApproval | Kind::NeedsInput => TaskState::WaitingForApproval,
        Kind::Parked => TaskState::Parked,
        Kind::Cancelled => TaskState::Cancelled,
    }
}

fn outcome_like(state: State) -> TaskState {
    match state {
        State::Pending | State::NoTarget => TaskState::Queued,
        State::Sent => TaskState::Completed,
        State::Failed => TaskState::Failed,
    }
}

fn became(row: &Notification, now: i64) -> String {
    let last = row.tries.last().map(|tried| tried.why.as_str());
    match (row.state, &row.receipt, row.due_at) {
        (State::Sent, Some(proof), _) if row.is_unread => format!("{}, new", proof.answer),
        (State::Sent, Some(proof), _) => format!("sent: {}", proof.answer),
        (State::Sent, None, _) => "sent".to_owned(),
        (State::Pending, _, Some(at)) if row.attempts > 0 => {
            format!("again at {}: {}", time::until(at, now), last.unwrap_or_default())
        }
        (State::Pending, _, _) => "about to be sent".to_owned(),
        (State::Failed, _, _) => format!("given up: {}", last.unwrap_or_default()),
        (State::NoTarget, _, _) => last.unwrap_or("nobody is to be told").to_owned(),
    }
}
