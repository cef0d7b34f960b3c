//! `ostler answer`: a person decides what Codex asked. The first answer counts.

mod decision;
mod talk;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ostler_model::task::AskRecord;
use ostler_server::api::AnswerRequest;

use crate::conversation::{Screen, Shown, words};
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::prompt;
use crate::running::{self, Interruption};
use crate::tasks::{Desk, id, time};
use crate::terminal::Output;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("reach_of_rule").multiple(false), after_help = "\
Without a word you are shown the question and asked, on a terminal. `always` allows it and makes a rule of it, which decides
the same question from then on: in the folder of the task, unless --task or --everywhere says otherwise, and until it is
removed, unless --for says how long. With --for, --here, --task or --everywhere, `deny` makes a rule as well.
An agent cannot answer: nothing that runs below an app-server may.")]
pub(crate) struct AnswerArguments {
    /// The ask, as `ostler asks` lists it; its first letters are enough
    #[arg(value_name = "ASK")]
    ask: String,
    #[arg(value_enum)]
    word: Option<Word>,
    /// Why not; the model is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The answer to a question, or a field of a form, by its name or its number; `NAME=-` reads it from stdin, where no
    /// other program sees it
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "word")]
    set: Vec<String>,
    /// How long the rule holds: 30m, 2h, 7d
    #[arg(long = "for", value_name = "DURATION", value_parser = time::duration, requires = "word")]
    holds: Option<Duration>,
    /// The rule holds in the folder of the task and below
    #[arg(long, group = "reach_of_rule", requires = "word")]
    here: bool,
    /// The rule holds everywhere
    #[arg(long, group = "reach_of_rule", requires = "word")]
    everywhere: bool,
    /// The rule holds in this task
    #[arg(long, group = "reach_of_rule", requires = "word")]
    task: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// Yes, this once
    Once,
    /// Yes, and not asked again in this session
    Session,
    /// Yes, and a rule is made of it
    Always,
    /// No; the turn goes on
    Deny,
    /// No, and the turn ends
    Cancel,
}

pub(crate) fn run(arguments: &AnswerArguments, output: Output) -> Result<ExitCode, Failure> {
    let runtime = running::runtime()?;
    let result = runtime.block_on(work(arguments, output));
    // A read from stdin that nobody waits for any more cannot be called off.
    runtime.shutdown_background();
    result
}

async fn work(arguments: &AnswerArguments, output: Output) -> Result<ExitCode, Failure> {
    let mut interruption = Interruption::listen()?;
    let mut desk = interruption.or(Desk::open(output, &arguments.reach)).await?;
    let ask: AskRecord =
        interruption.or(desk.get(&format!("/v1/asks/{}", id(&arguments.ask)?))).await?;
    if !ask.state.takes_a_decision() {
        return Err(too_late(&ask));
    }
    let request = match arguments.word {
        Some(word) => decision::of_word(&ask, word, arguments)?,
        None if !arguments.set.is_empty() => {
            let given = interruption.or(with_stdin(&arguments.set, output)).await?;
            decision::of_values(&ask, &given)?
        }
        None => {
            let mut screen = Screen::new(output);
            if !(io::stdin().is_terminal() && screen.is_seen()) {
                return Err(Failure::new(Exit::Usage, "there is no terminal to ask on")
                    .hint(decision::hint(&ask)));
            }
            if let Some(agent) = &ask.agent {
                let text = format!("the sub-agent {} asks", agent.describe());
                screen.show(&Shown::Step { text }.into());
            }
            let talk = interruption.or(talk::with_person(&ask, &mut screen)).await;
            screen.end_line();
            match talk? {
                Some(request) => request,
                None => {
                    output.say("left open");
                    return Ok(ExitCode::from(Exit::WaitingOnPerson as u8));
                }
            }
        }
    };
    let path = format!("/v1/asks/{}/answer", ask.id);
    let answered: AskRecord = interruption.or(desk.post(&path, &request)).await?;
    tell(&answered, &request, output);
    Ok(ExitCode::SUCCESS)
}

/// What is secret must not stand in a command line, which every program of the machine can read.
async fn with_stdin(given: &[String], output: Output) -> Result<Vec<String>, Failure> {
    let mut given = given.to_vec();
    let mut from_stdin = given.iter_mut().filter(|pair| pair.ends_with("=-"));
    let Some(pair) = from_stdin.next() else { return Ok(given) };
    if from_stdin.next().is_some() {
        return Err(Failure::new(Exit::Usage, "only one value can be read from stdin")
            .hint("give the others as NAME=VALUE"));
    }
    let read = prompt::read(Some("-"), output).await?;
    let read = read.ok_or_else(|| Failure::new(Exit::Usage, "there is nothing on stdin"))?;
    pair.pop();
    pair.push_str(read.text.trim_end_matches(['\r', '\n']));
    Ok(given)
}

fn tell(answered: &AskRecord, request: &AnswerRequest, output: Output) {
    let said = words::decision(&answered.content.shown(request.decision.clone()));
    let rule = if request.remember.is_some() { "; a rule was made of it" } else { "" };
    output.say(&format!("{}: {said}{rule}", answered.id));
    output.emit(answered);
}

fn too_late(ask: &AskRecord) -> Failure {
    match &ask.decision {
        Some(decided) => {
            Failure::new(Exit::Failed, format!("{} decided it before", decided.by.describe()))
        }
        None => Failure::new(Exit::Failed, "it needs no answer any more")
            .hint(format!("`ostler logs {}` says what became of it", ask.task)),
    }
}
