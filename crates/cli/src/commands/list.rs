//! `ostler ls`: the tasks, those that need you first.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use clap::Args;
use ostler_model::{Task, TaskState};
use ostler_server::api::{Change, NotificationList, TaskList};
use tokio::time::{sleep, timeout};

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::prompt::existing;
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, query, time, words};
use crate::terminal::{Output, height};

/// The most that one page has.
const MOST: usize = 500;

/// Of tasks that are over, unless all are wanted.
const OVER: usize = 10;

/// Many changes at once are shown as one, and a table that changes more often cannot be read.
const SETTLE: Duration = Duration::from_millis(150);

/// Ages in the table grow also while nothing happens.
const REDRAW: Duration = Duration::from_secs(5);

/// As much of an id as tells tasks apart and is quick to type.
const SHORT_ID: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Also all tasks that are over
    #[arg(long)]
    all: bool,
    /// Only tasks in these states: queued, working, waiting_for_approval, completed, failed, …
    #[arg(long, value_delimiter = ',', value_parser = state, value_name = "STATE,…")]
    state: Vec<TaskState>,
    /// Only tasks of this folder
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    cd: Option<std::path::PathBuf>,
    /// Go on showing how they stand; with --json, one object per change
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

fn state(word: &str) -> Result<TaskState, String> {
    TaskState::from_name(&word.replace('-', "_")).ok_or_else(|| {
        let known = TaskState::ALL.map(TaskState::name).join(", ");
        format!("there are {known}")
    })
}

pub(crate) fn run(arguments: &ListArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        match arguments.watch {
            true => watch(&mut desk, arguments).await?,
            false => {
                let list = read(&mut desk, arguments).await?;
                output.emit(&list);
                show(&list, arguments, output);
                if !output.is_json() {
                    tell_unread(&mut desk).await?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn read(desk: &mut Desk<'_>, arguments: &ListArguments) -> Result<TaskList, Failure> {
    let cwd = match &arguments.cd {
        Some(folder) => {
            let folder = existing(folder, "the folder")?.display().to_string();
            format!("&cwd={}", query(&folder))
        }
        None => String::new(),
    };
    let page = |states: &[TaskState], limit: usize| {
        let states = states.iter().map(|state| state.name()).collect::<Vec<_>>().join(",");
        format!("/v1/tasks?limit={limit}{cwd}&state={states}")
    };
    if !arguments.state.is_empty() || arguments.all {
        let mut list: TaskList = desk.get(&page(&arguments.state, MOST)).await?;
        while let Some(before) = list.next.take().filter(|_| arguments.all) {
            let path = format!("{}&before={}", page(&arguments.state, MOST), query(&before));
            let more: TaskList = desk.get(&path).await?;
            list.tasks.extend(more.tasks);
            list.next = more.next;
        }
        list.tasks.sort_by_key(rank);
        return Ok(list);
    }
    let (over, open): (Vec<TaskState>, Vec<TaskState>) =
        TaskState::ALL.into_iter().partition(|state| state.is_over());
    // Those that wait for their time have a page of their own, or many of them would push off what works or needs somebody.
    let (queued, begun): (Vec<TaskState>, Vec<TaskState>) =
        open.into_iter().partition(|state| *state == TaskState::Queued);
    let mut list: TaskList = desk.get(&page(&queued, MOST)).await?;
    for (states, limit) in [(&begun, MOST), (&over, OVER)] {
        let more: TaskList = desk.get(&page(states, limit)).await?;
        list.tasks.extend(more.tasks);
    }
    // One that moved from one page to the next in between is on both.
    list.tasks
        .sort_by(|one, other| (&one.id, -one.updated_at).cmp(&(&other.id, -other.updated_at)));
    list.tasks.dedup_by(|one, other| one.id == other.id);
    list.tasks.sort_by_key(rank);
    Ok(list)
}

/// Those that need somebody stand first, those that are over last, the newest first among equals.
fn rank(task: &Task) -> (u8, i64) {
    let group = match task.state {
        _ if words::needs_a_person(task) => 0,
        state if state.is_at_work() => 1,
        TaskState::Parked => 2,
        TaskState::Queued => 3,
        _ => 4,
    };
    (group, -task.updated_at)
}

fn show(list: &TaskList, arguments: &ListArguments, output: Output) {
    output.say_styled(&text(list, arguments, time::now()));
}

/// What tasks told whoever looks here.
async fn tell_unread(desk: &mut Desk<'_>) -> Result<(), Failure> {
    let list: NotificationList = desk.get("/v1/notifications?unread=true&limit=1").await?;
    match list.unread {
        0 => {}
        1 => desk.output.say("1 notification is new: ostler notify"),
        many => desk.output.say(&format!("{many} notifications are new: ostler notify")),
    }
    Ok(())
}

fn text(list: &TaskList, arguments: &ListArguments, now: i64) -> String {
    let count: u64 = list.counts.values().sum();
    if list.tasks.is_empty() {
        return match count {
            0 => "no tasks yet; start one with `ostler start \"…\"`".to_owned(),
            1 => "the one task there is does not fit; `ostler ls --all` shows it".to_owned(),
            count => format!("none of the {count} tasks fits; `ostler ls --all` shows them"),
        };
    }
    let rows: Vec<Vec<Cell>> = list.tasks.iter().map(|task| row(task, now)).collect();
    let mut text = table(&["ID", "STATE", "SINCE", "TITLE"], &rows);
    let hidden = count.saturating_sub(u64::try_from(list.tasks.len()).unwrap_or(u64::MAX));
    let dim = Style::new().dimmed();
    if hidden > 0 && arguments.state.is_empty() && arguments.cd.is_none() {
        text.push_str(&format!("\n{dim}and {hidden} more: ostler ls --all{dim:#}"));
    }
    let waiting = list.tasks.iter().filter(|task| words::needs_a_person(task)).count();
    if waiting > 0 {
        let bold = Style::new().bold();
        let need = if waiting == 1 { "1 task needs" } else { &format!("{waiting} tasks need") };
        text.push_str(&format!("\n{bold}{need} you: ostler asks{bold:#}"));
    }
    text
}

fn row(task: &Task, now: i64) -> Vec<Cell> {
    let id: String = task.id.as_str().chars().take(SHORT_ID).collect();
    vec![
        Cell::plain(id),
        Cell::styled(words::stand(task), words::style(task.state)),
        Cell::dim(time::span(now.saturating_sub(task.ended_at.unwrap_or(task.updated_at)))),
        Cell::plain(task.title.clone()),
    ]
}

/// What is higher than the terminal cannot be drawn over; the last lines say what is left out.
fn fitting(text: &str, height: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match height {
        Some(height) if lines.len() >= height => {
            let kept = height.saturating_sub(2);
            let more = lines.len() - kept;
            let kept = lines.iter().take(kept).copied().collect::<Vec<_>>().join("\n");
            format!("{kept}\n… {more} more lines")
        }
        _ => text.to_owned(),
    }
}

async fn watch(desk: &mut Desk<'_>, arguments: &ListArguments) -> Result<(), Failure> {
    let mut changes = desk.lines("/v1/changes").await?;
    let (mut drawn, mut breaks) = (0, 0);
    loop {
        let list = read(desk, arguments).await?;
        desk.output.emit(&list);
        if !desk.output.is_json() {
            let text = fitting(&text(&list, arguments, time::now()), height());
            // Back to the first line, and nothing below it is left.
            let back = if drawn > 0 { format!("\u{1b}[{drawn}A\r\u{1b}[J") } else { String::new() };
            let is_seen = std::io::IsTerminal::is_terminal(&std::io::stdout());
            desk.output.write(&format!("{}{text}\n", if is_seen { &back } else { "" }));
            drawn = text.lines().count();
        }
        let change = match desk.output.is_json() {
            true => changes.next::<Change>().await,
            false => match timeout(REDRAW, changes.next::<Change>()).await {
                Ok(change) => change,
                Err(_) => continue,
            },
        };
        sleep(SETTLE).await;
        if !matches!(change, Ok(Some(_))) {
            breaks += 1;
            changes = desk.after_a_break(breaks).await?.lines("/v1/changes").await?;
            continue;
        }
        breaks = 0;
    }
}
