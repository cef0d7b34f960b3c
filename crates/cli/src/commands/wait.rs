//! `ostler wait`: until tasks are over, or need a person.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ostler_model::{Task, TaskId};
use ostler_server::api::Change;
use serde::Serialize;
use tokio::time::timeout;

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::{Desk, ending, time, words};
use crate::terminal::moving_line::{moving_line, style};
use crate::terminal::{Output, safe};

/// Between the wish of somebody and what it does to the task are some commits, and sometimes Codex.
const SETTLING: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "\
Ends with the exit code of the task: 0 completed, 1 failed, 4 it waits for a person, 5 a limit, 7 interrupted, 75 try later.
Of several tasks the first code that is not 0 counts, in the order they were named. 124: the time is over.")]
pub(crate) struct WaitArguments {
    /// The tasks; the first letters of their ids are enough
    #[arg(value_name = "TASK", required = true)]
    ids: Vec<String>,
    /// Give up after this long: 90s, 10m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    timeout: Option<Duration>,
    /// One of them is enough
    #[arg(long)]
    any: bool,
    /// Go on waiting while a person is asked
    #[arg(long)]
    through_asks: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

/// What a program is told.
#[derive(Serialize)]
struct Waited<'a> {
    exit: u8,
    tasks: Vec<&'a Task>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// A task that needs a person is waited for no longer.
    UntilAsked,
    ThroughAsks,
}

pub(crate) fn run(arguments: &WaitArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let mut ids = Vec::new();
        for typed in &arguments.ids {
            ids.push(desk.task(typed).await?.id);
        }
        let patience = match arguments.through_asks {
            true => Patience::ThroughAsks,
            false => Patience::UntilAsked,
        };
        let enough = if arguments.any { 1 } else { ids.len() };
        let waiting = wait(&mut desk, &ids, enough, patience);
        let tasks = match arguments.timeout {
            None => waiting.await?,
            Some(time) => timeout(time, waiting).await.unwrap_or_else(|_| {
                let message = format!("not over after {} s", time.as_secs());
                Err(Failure::new(Exit::TimedOut, message)
                    .hint("the task goes on; `ostler ls` shows it"))
            })?,
        };
        Ok(tell(&tasks, output))
    })
}

/// For `start --wait`.
pub(super) fn one(id: &str, reach: &ReachArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, reach).await?;
        let tasks = wait(&mut desk, &[TaskId::new(id)], 1, Patience::UntilAsked).await?;
        Ok(tell(&tasks, output))
    })
}

fn tell(tasks: &[Task], output: Output) -> ExitCode {
    let codes = tasks.iter().map(|task| ending::exit(task).unwrap_or(0));
    let exit = codes.into_iter().find(|code| *code != 0).unwrap_or(0);
    let now = time::now();
    for task in tasks {
        let style = words::style(task.state);
        let cause = words::cause(&task.cause, now);
        output.say_styled(&format!(
            "{} {style}{}{style:#}: {}",
            task.id,
            words::state(task.state),
            safe(&cause)
        ));
    }
    output.emit(&Waited { exit, tasks: tasks.iter().collect() });
    ExitCode::from(exit)
}

/// Those that are waited for no longer, in the order they were named.
async fn wait(
    desk: &mut Desk<'_>,
    ids: &[TaskId],
    enough: usize,
    patience: Patience,
) -> Result<Vec<Task>, Failure> {
    let bar = (io::stderr().is_terminal() && !desk.output.is_json()).then(moving_line);
    if let Some(bar) = &bar {
        bar.set_style(style("{spinner:.cyan} {elapsed:>3} {wide_msg:.dim}"));
    }
    let mut breaks = 0;
    loop {
        // Before the tasks are looked at: what changes from now on is told.
        let mut changes = desk.lines("/v1/changes").await?;
        loop {
            let mut done = BTreeMap::new();
            let mut is_settling = false;
            for (at, id) in ids.iter().enumerate() {
                let detail = desk.detail(id.as_str()).await?;
                let is_about_to_move = detail.is_about_to_move();
                let task = detail.task;
                if let Some(bar) = bar.as_ref().filter(|_| ids.len() == 1) {
                    bar.set_message(format!("{}: {}", words::state(task.state), safe(&task.title)));
                }
                let is_done = match patience {
                    Patience::UntilAsked => ending::exit(&task).is_some(),
                    Patience::ThroughAsks => task.state.is_over(),
                };
                if is_done && is_about_to_move {
                    is_settling = true;
                } else if is_done {
                    done.insert(at, task);
                }
            }
            if let Some(bar) = bar.as_ref().filter(|_| ids.len() > 1) {
                bar.set_message(format!("{} of {} are done", done.len(), ids.len()));
            }
            if done.len() >= enough {
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                return Ok(done.into_values().collect());
            }
            let patience = if is_settling { SETTLING } else { Duration::MAX };
            // What it is about to do may be no change of state, which alone is told.
            if let Ok(false) = timeout(patience, ours(&mut changes, ids)).await {
                break;
            }
            breaks = 0;
        }
        breaks += 1;
        desk.after_a_break(breaks).await?;
    }
}

/// Waits until one of these has changed; false if the daemon has gone.
async fn ours(changes: &mut ostler_server::client::Lines, ids: &[TaskId]) -> bool {
    loop {
        match changes.next::<Change>().await {
            Ok(Some(Change::Task { task, .. })) if !ids.contains(&task) => {}
            Ok(Some(_)) => return true,
            Ok(None) | Err(_) => return false,
        }
    }
}
