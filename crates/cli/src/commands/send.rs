//! `ostler send`, `steer`, `interrupt`, `review`, `fork`: more to do for a task.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ostler_model::Input;
use ostler_model::input::{Part, ReviewOf};
use ostler_model::thread::IfBusy;
use ostler_server::api::{Accepted, ForkRequest, SendRequest, StartAnswer};

use super::attach::{self, Manner};
use super::run::Busy;
use super::start::{as_first, tell_started};
use super::wait;
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::prompt::{self, existing};
use crate::running::block_on;
use crate::tasks::{Desk, fresh_key, id};
use crate::terminal::{Output, tell};

/// What all of them take: the task, and what to do afterwards.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    task: String,
    /// Wait until the task is over or needs a person, and end with its exit code
    #[arg(long, conflicts_with = "attach")]
    wait: bool,
    /// Follow the task, and answer what it asks
    #[arg(long)]
    attach: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SendArguments {
    #[command(flatten)]
    target: Target,
    /// What Codex shall do; `-` reads it from stdin, and piped stdin beside a prompt is added to it
    #[arg(conflicts_with = "file")]
    prompt: Option<String>,
    /// Read the prompt from this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// An image to go with the prompt
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// What to do if a turn of the task runs
    #[arg(long, value_enum, default_value_t = Busy::Queue)]
    if_busy: Busy,
    /// The model that answers this; later turns have the task's own again
    #[arg(long)]
    model: Option<String>,
    /// How hard the model thinks about this: minimal, low, medium, high, …
    #[arg(long)]
    effort: Option<String>,
    /// The model and the effort hold for later turns, too
    #[arg(long)]
    stay: bool,
    /// Let the model ask and plan, and change nothing, in this turn
    #[arg(long)]
    plan: bool,
    /// Sending again with the same key sends once
    #[arg(long)]
    key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SteerArguments {
    #[command(flatten)]
    target: Target,
    /// What Codex is told; `-` reads it from stdin
    prompt: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InterruptArguments {
    /// The tasks; the first letters of their ids are enough
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("of").multiple(false))]
pub(crate) struct ReviewArguments {
    #[command(flatten)]
    target: Target,
    /// Against this branch [default: what is not committed]
    #[arg(long, value_name = "BRANCH", group = "of")]
    base: Option<String>,
    /// Of this commit
    #[arg(long, value_name = "COMMIT", group = "of")]
    commit: Option<String>,
    /// Of what this says
    #[arg(long, value_name = "TEXT", group = "of")]
    custom: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArguments {
    #[command(flatten)]
    target: Target,
    /// What Codex shall do in the copy; `-` reads it from stdin
    prompt: Option<String>,
    /// The last turn that is copied [default: all of them]
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// In a new thread that is given what was said so far, for a task whose thread or folder is gone
    #[arg(long, conflicts_with = "turn")]
    from_log: bool,
    /// The folder of the new task [default: the same]
    #[arg(long, value_name = "FOLDER", requires = "from_log")]
    cwd: Option<PathBuf>,
    /// Forking again with the same key forks once
    #[arg(long)]
    key: Option<String>,
}

pub(crate) fn send(arguments: &SendArguments, output: Output) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    submit(target, output, async {
        let text = match &arguments.file {
            Some(file) => prompt::file(file, "the prompt")?,
            None => typed(arguments.prompt.as_deref(), "send", output).await?,
        };
        let mut parts = vec![Part::Text(text)];
        for image in &arguments.image {
            parts.push(Part::ImageFile(existing(image, "the image")?.display().to_string()));
        }
        if arguments.stay && arguments.model.is_none() && arguments.effort.is_none() {
            return Err(Failure::new(Exit::Usage, "--stay needs --model or --effort")
                .hint("give the one that shall hold for later turns, too"));
        }
        let (model, effort) = (arguments.model.clone(), arguments.effort.clone());
        let (stays, plan) = (arguments.stay, arguments.plan);
        Ok(SendRequest {
            input: Some(Input { model, effort, stays, plan, ..Input::message(parts) }),
            if_busy: arguments.if_busy.into(),
            key: arguments.key.clone(),
            ..SendRequest::default()
        })
    })
}

pub(crate) fn steer(arguments: &SteerArguments, output: Output) -> Result<ExitCode, Failure> {
    submit(&arguments.target, output, async {
        let text = typed(arguments.prompt.as_deref(), "steer", output).await?;
        let input = Some(Input::text(text));
        Ok(SendRequest { input, if_busy: IfBusy::SteerOnly, ..SendRequest::default() })
    })
}

pub(crate) fn review(arguments: &ReviewArguments, output: Output) -> Result<ExitCode, Failure> {
    let of = match (&arguments.base, &arguments.commit, &arguments.custom) {
        (Some(branch), _, _) => ReviewOf::BaseBranch(branch.clone()),
        (_, Some(commit), _) => ReviewOf::Commit(commit.clone()),
        (_, _, Some(text)) => ReviewOf::Custom(text.clone()),
        _ => ReviewOf::UncommittedChanges,
    };
    submit(&arguments.target, output, async { Ok(SendRequest::review(of)) })
}

pub(crate) fn interrupt(
    arguments: &InterruptArguments,
    output: Output,
) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let mut result = Ok(ExitCode::SUCCESS);
        for task in &arguments.tasks {
            let path = format!("/v1/tasks/{}/interrupt", id(task)?);
            let done: Result<Accepted, Failure> = desk.post(&path, &serde_json::json!({})).await;
            match done {
                Ok(accepted) => {
                    output.say(&format!("{}: the turn is being ended", accepted.task));
                    output.emit(&accepted);
                }
                // The other tasks are ended all the same.
                Err(failure) if arguments.tasks.len() > 1 => result = Ok(failure.report(output)),
                Err(failure) => return Err(failure),
            }
        }
        result
    })
}

pub(crate) fn fork(arguments: &ForkArguments, output: Output) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    let answer: StartAnswer = block_on(async {
        let prompt = typed(arguments.prompt.as_deref(), "fork", output).await?;
        let cwd = arguments.cwd.as_ref().map(|cwd| existing(cwd, "the folder")).transpose()?;
        let request = ForkRequest {
            prompt: Some(prompt),
            turn: arguments.turn.clone(),
            from_log: arguments.from_log,
            cwd: cwd.map(|cwd| cwd.display().to_string()),
            key: arguments.key.clone().or_else(|| Some(fresh_key())),
        };
        let mut desk = Desk::open(output, &target.reach).await?;
        desk.post_keyed(&format!("/v1/tasks/{}/fork", id(&target.task)?), &request).await
    })?;
    let answer = as_first(answer, arguments.key.as_deref());
    let task = answer.task.id.as_str();
    if target.attach {
        return attach::follow(task, Manner::default(), &target.reach, output);
    }
    tell_started(&answer, output);
    match target.wait {
        true => wait::one(task, &target.reach, output),
        false => {
            output.emit(&answer);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn submit(
    target: &Target,
    output: Output,
    request: impl Future<Output = Result<SendRequest, Failure>>,
) -> Result<ExitCode, Failure> {
    let accepted: Accepted = block_on(async {
        let mut request = request.await?;
        request.key.get_or_insert_with(fresh_key);
        let mut desk = Desk::open(output, &target.reach).await?;
        desk.post_keyed(&format!("/v1/tasks/{}/send", id(&target.task)?), &request).await
    })?;
    let task = accepted.task.as_str();
    if let Some(unchecked) = &accepted.unchecked {
        tell(&format!("note: {unchecked}"));
    }
    if target.attach {
        return attach::follow(task, Manner::default(), &target.reach, output);
    }
    if target.wait {
        return wait::one(task, &target.reach, output);
    }
    tell(&format!("written down; `ostler receipts {task}` says what became of it"));
    output.emit(&accepted);
    Ok(ExitCode::SUCCESS)
}

async fn typed(prompt: Option<&str>, command: &str, output: Output) -> Result<String, Failure> {
    let read = prompt::read(prompt, output).await?.map(|prompt| prompt.text);
    read.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
        Failure::new(Exit::Usage, "there is no prompt")
            .hint(format!("give one, as in `ostler {command} TASK \"…\"`, or pipe it in"))
    })
}
