//! `ostler start`: a task in the background. It is on disk when this returns.

mod arguments;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ostler_model::TaskState;
use ostler_server::api::{StartAnswer, StartRequest};

use super::attach::{self, Manner};
use super::wait;
use crate::bench::Bench;
use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::folder_trust;
use crate::places::Places;
use crate::running::block_on;
use crate::tasks::{Desk, fresh_key, words};
use crate::terminal::{Output, tell};
pub(crate) use arguments::TaskArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
The task runs on when this command, your terminal or the daemon ends; `ostler attach ID` comes back to it.
On stdout there is only the id, for scripts: id=$(ostler start \"tidy the notes\")
What is not said here is as the configuration says: `ostler config show tasks`.")]
pub(crate) struct StartArguments {
    #[command(flatten)]
    task: TaskArguments,
    /// Starting again with the same key and the same settings is the first start: it gives the same task
    #[arg(long)]
    key: Option<String>,
    /// Wait until the task is over or needs a person, and end with its exit code
    #[arg(long, conflicts_with = "attach")]
    wait: bool,
    /// Follow the task, and answer what it asks
    #[arg(long)]
    attach: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &StartArguments, output: Output) -> Result<ExitCode, Failure> {
    let answer = block_on(async {
        let request = arguments.task.request(output).await?;
        let key = arguments.key.clone().or_else(|| Some(fresh_key()));
        let request = StartRequest { key, ..request };
        let named = request.codex_home.as_ref().map(PathBuf::from);
        // The daemon goes on with its settings where the config file has become unreadable, and so does a start.
        let usual = || Bench::lay_out(output).ok().and_then(|bench| bench.usual_codex_home());
        let home = named.or_else(usual);
        folder_trust::look(&Places::find()?, home.as_deref(), Path::new(&request.cwd), output)?;
        let mut desk = Desk::open(output, &arguments.reach).await?;
        desk.post_keyed("/v1/tasks", &request).await
    })?;
    let answer = as_first(answer, arguments.key.as_deref());
    let id = answer.task.id.as_str();
    if arguments.attach {
        return attach::follow(id, Manner::default(), &arguments.reach, output);
    }
    tell_started(&answer, output);
    match arguments.wait {
        true => wait::one(id, &arguments.reach, output),
        false => {
            output.emit(&answer);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A key of our own is known only because we had to ask twice; to the person it is the first time.
pub(super) fn as_first(answer: StartAnswer, key: Option<&str>) -> StartAnswer {
    StartAnswer { known: answer.known && key.is_some(), ..answer }
}

/// The id alone on stdout, so that a script can take it; the rest is for people.
pub(super) fn tell_started(answer: &StartAnswer, output: Output) {
    let task = &answer.task;
    if let Some(unchecked) = &answer.unchecked {
        tell(&format!("note: {unchecked}"));
    }
    if !output.is_json() {
        output.say(task.id.as_str());
    }
    let state = match (answer.known, task.state) {
        (true, state) => format!("this key started it before: {}", words::state(state)),
        (false, TaskState::Queued) => "started".to_owned(),
        (false, state) => words::state(state).to_owned(),
    };
    tell(&format!("{state}; follow it with `ostler attach {}`", task.id));
}
