//! `ostler show`: one task, as it stands.

use std::fmt::Write as _;
use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use ostler_server::api::TaskDetail;

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::{Desk, ending, time, words};
use crate::terminal::{Output, safe};

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    id: String,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &ShowArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let detail = desk.detail(&arguments.id).await?;
        output.emit(&detail);
        let mut text = String::new();
        // Writing to a string cannot fail.
        write(&mut text, &detail, time::now()).ok();
        output.say_styled(text.trim_end());
        Ok(ExitCode::SUCCESS)
    })
}

fn write(out: &mut String, detail: &TaskDetail, now: i64) -> std::fmt::Result {
    let task = &detail.task;
    let (bold, dim, state) = (Style::new().bold(), Style::new().dimmed(), words::style(task.state));
    writeln!(out, "{bold}{}{bold:#}", safe(&task.title))?;
    let since = ending::since(task, now);
    writeln!(
        out,
        "{state}{}{state:#} {dim}{since}: {}{dim:#}",
        words::stand(task),
        safe(&words::cause(&task.cause, now))
    )?;
    let settings = &task.settings;
    let codex = task.codex_version.as_deref().or(settings.codex.version.as_deref());
    let spent = &task.spent;
    let work = time::span(i64::try_from(spent.work_ms).unwrap_or(i64::MAX));
    let running = task.tally.running.as_ref();
    let forked = task.forked_from.as_ref().map(|from| format!("{}", from.task));
    let facts = [
        ("task", Some(task.id.to_string())),
        ("folder", Some(settings.cwd.clone())),
        ("sandbox", Some(words::sandbox(&settings.sandbox))),
        ("approval", Some(words::approval(settings.approval).to_owned())),
        ("model", words::model(task)),
        ("codex", codex.map(str::to_owned)),
        ("thread", task.thread.as_ref().map(ToString::to_string)),
        ("keeper", task.keeper.clone()),
        (
            "worktree",
            settings.worktree.as_ref().map(|tree| format!("{} ({})", tree.path, tree.branch)),
        ),
        ("goal", task.goal.as_ref().map(ostler_model::Goal::describe)),
        ("forked from", forked),
        ("started", Some(format!("{} by {}", time::ago(task.created_at, now), task.started_by))),
        ("used", Some(format!("{} turns, {} tokens, {work} at work", spent.turns, spent.tokens))),
        ("this turn", running.map(|running| words::running(running, now))),
        ("retrying", running.and_then(|running| running.retrying.as_ref()).map(words::retrying)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            writeln!(out, "  {dim}{name:<11}{dim:#} {}", safe(&value))?;
        }
    }
    for intent in &detail.intents {
        let text = format!("{} ({})", words::wish(&intent.wish), words::intent(&intent.state));
        writeln!(out, "  {dim}{:<11}{dim:#} {}", "to do", safe(&text))?;
    }
    let result = task.last_result.as_ref();
    if let Some(answer) = result.and_then(|result| result.final_answer.as_ref()) {
        writeln!(out, "\n{}", safe(answer.trim_end()))?;
    }
    for ask in &detail.asks {
        let yellow = words::style(ostler_model::TaskState::WaitingForApproval);
        let asked = words::asked(ask);
        writeln!(out, "\n{yellow}▌{yellow:#} {bold}{}{bold:#}", safe(&asked))?;
        writeln!(out, "{yellow}▌{yellow:#} answer it with `ostler answer {}`", ask.id)?;
    }
    Ok(())
}
