//! `ostler demo`: a real Codex turn on the embedded scripted model, with a real approval and a real file change.
//!
//! Codex, its home, the workspace and the model are the demo's own; the user's `~/.codex` is neither read nor written.

mod answers;
mod incoming;
mod stage;
mod turn;

use std::process::ExitCode;

use clap::Args;
use ostler_codex::binary::VersionRequest;

use crate::bench::{Bench, FETCHED_VERSION, fetched_version};
use crate::conversation::{Screen, Shown};
use crate::failure::{Exit, Failure};
use crate::running::{self, Interruption};
use crate::terminal::Output;
use answers::Answers;
use stage::Stage;
use turn::Outcome;

const PROMPT: &str = "Guests laugh at our sign. Please check sign.txt and put it right.";

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Answer Codex's questions with yes instead of asking
    #[arg(long)]
    yes: bool,
    /// Use this Codex version, fetching it if it is not installed
    #[arg(long, value_name = "VERSION")]
    codex: Option<VersionRequest>,
}

pub(crate) fn run(arguments: &DemoArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    running::runtime()?.block_on(async {
        let mut interruption = Interruption::listen()?;
        let mut screen = Screen::new(output);
        let codex = interruption.or(codex(&bench, arguments, &mut screen)).await?;
        let mut stage = interruption.or(Stage::set(&bench, &mut screen)).await?;
        screen.stand_in(&stage.workspace().display().to_string());
        let work = perform(&mut stage, codex, arguments, &mut screen);
        let outcome = interruption.or(work).await;
        // Whatever came out, nothing of the demo's Codex may be left running. What it wrote before it failed is kept.
        let failed = outcome.as_ref().is_err_and(|failure| failure.exit == Exit::Failed);
        if outcome.is_err() {
            screen.end_line();
        }
        let ended = stage.clear(failed).await;
        let outcome = outcome?;
        ended?;
        conclude(&stage, &outcome, &mut screen)
    })
}

async fn perform(
    stage: &mut Stage,
    codex: stage::Codex,
    arguments: &DemoArguments,
    screen: &mut Screen,
) -> Result<Outcome, Failure> {
    let keeper = stage.start_keeper(codex).await?;
    screen.step(format!("keeper {} owns a codex app-server", keeper.id()));
    let mut answers = Answers::choose(arguments.yes, screen);
    turn::play(stage, &keeper.folder.socket(), PROMPT, &mut answers, screen).await
}

/// The Codex in use; if there is none, one is fetched.
async fn codex(
    bench: &Bench,
    arguments: &DemoArguments,
    screen: &mut Screen,
) -> Result<stage::Codex, Failure> {
    let wanted = match &arguments.codex {
        Some(request) => Some(request.clone()),
        None => match bench.find().await {
            Ok(found) => {
                let version = found.version.to_string();
                screen.step(format!("Codex {version} from {}", found.path.display()));
                return Ok(stage::Codex { path: found.path, version });
            }
            Err(failure) if failure.exit == Exit::NotFound => None,
            Err(failure) => return Err(failure),
        },
    };
    let request = match wanted {
        Some(request) => request,
        None => {
            screen
                .step(format!("no Codex on this machine yet: fetching {FETCHED_VERSION} from npm"));
            fetched_version()?
        }
    };
    let installed = bench.install(&request).await?.installed;
    let version = installed.version.to_string();
    screen.step(format!("Codex {version} in {}", installed.folder.display()));
    Ok(stage::Codex { path: installed.binary, version })
}

/// Looks at the folder itself, says what happened and where to go next.
fn conclude(stage: &Stage, outcome: &Outcome, screen: &mut Screen) -> Result<ExitCode, Failure> {
    let found = stage.inspect()?;
    let agrees = found.checks_run == outcome.commands_run;
    let (ok, exit, text) = if outcome.status == "interrupted" {
        (false, Exit::Interrupted as u8, "you cancelled the turn; the sign is as it was".to_owned())
    } else if outcome.status != "completed" {
        (false, Exit::Failed as u8, format!("the turn ended as {}", outcome.status))
    } else if !agrees {
        let text = format!(
            "Codex told of {} commands, but the folder shows {}",
            outcome.commands_run, found.checks_run
        );
        (false, Exit::Failed as u8, text)
    } else if outcome.denied > 0 {
        let text = "what you denied did not run; Codex went on without it".to_owned();
        (true, 0, text)
    } else if !found.sign_is_right || found.checks_run == 0 {
        let text =
            "the sign is not right; `ostler doctor` says whether the sandbox works".to_owned();
        (false, Exit::Failed as u8, text)
    } else {
        let text = format!(
            "Codex ran {} commands, each after an approval, and changed sign.txt",
            outcome.commands_run
        );
        (true, 0, text)
    };
    screen.show(&Shown::Result { ok, text, workspace: stage.workspace().display().to_string() });
    screen.afterword(format!("look at it: {}", stage.workspace().display()));
    screen.afterword("your own Codex: `codex login`, then `ostler doctor`".to_owned());
    Ok(ExitCode::from(exit))
}
