//! `ostler goal`: what Codex works towards over many turns, which it starts by itself.

use std::process::ExitCode;

use clap::Args;
use ostler_model::Goal;
use ostler_server::api::{Accepted, GoalRequest, GoalVerb};

use super::wait;
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::{Desk, fresh_key, id};
use crate::terminal::{Output, safe, tell};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").multiple(false))]
#[command(after_help = "\
Without a change it shows the goal. While a goal is active, Codex starts turn after turn by itself, and the task is at work.
It stops when the goal is complete, blocked or paused, or has used its tokens. Interrupting the task pauses its goal.")]
pub(crate) struct GoalArguments {
    /// The task; the first letters of its id are enough
    #[arg(value_name = "TASK")]
    task: String,
    /// Set this objective, in place of the one that is there
    #[arg(group = "change")]
    objective: Option<String>,
    /// Stop when Codex has used this many tokens on the goal
    #[arg(long, value_name = "TOKENS", requires = "objective")]
    token_budget: Option<u64>,
    /// Let the running turn end, and start no other
    #[arg(long, group = "change")]
    pause: bool,
    /// Go on with a goal that stands still
    #[arg(long, group = "change")]
    resume: bool,
    /// Take the goal away
    #[arg(long, group = "change")]
    clear: bool,
    /// Wait until the task is over or needs a person, and end with its exit code
    #[arg(long, requires = "change")]
    wait: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &GoalArguments, output: Output) -> Result<ExitCode, Failure> {
    let Some(verb) = verb(arguments) else { return show(arguments, output) };
    let accepted: Accepted = block_on(async {
        let request = GoalRequest {
            change: verb,
            objective: arguments.objective.clone(),
            token_budget: arguments.token_budget,
            key: Some(fresh_key()),
        };
        request.change().map_err(|message| Failure::new(Exit::Usage, message))?;
        let mut desk = Desk::open(output, &arguments.reach).await?;
        desk.post_keyed(&format!("/v1/tasks/{}/goal", id(&arguments.task)?), &request).await
    })?;
    let task = accepted.task.as_str();
    if arguments.wait {
        return wait::one(task, &arguments.reach, output);
    }
    tell(&format!("written down; `ostler receipts {task}` says what became of it"));
    output.emit(&accepted);
    Ok(ExitCode::SUCCESS)
}

fn verb(arguments: &GoalArguments) -> Option<GoalVerb> {
    match arguments {
        GoalArguments { objective: Some(_), .. } => Some(GoalVerb::Set),
        GoalArguments { pause: true, .. } => Some(GoalVerb::Pause),
        GoalArguments { resume: true, .. } => Some(GoalVerb::Resume),
        GoalArguments { clear: true, .. } => Some(GoalVerb::Clear),
        _ => None,
    }
}

fn show(arguments: &GoalArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let task = desk.task(&arguments.task).await?;
        match &task.goal {
            Some(goal) => output.say(&safe(&Goal::describe(goal))),
            None => output.say("the task has no goal"),
        }
        output.emit(&task.goal);
        Ok(ExitCode::SUCCESS)
    })
}
