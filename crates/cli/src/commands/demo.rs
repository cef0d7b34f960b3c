//! `ostler demo`: a real Codex turn on the embedded scripted model, with a real approval and a real file change.
//!
//! Codex, its home, the workspace and the model are the demo's own; the user's `~/.codex` is neither read nor written.

mod stage;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Args;
use ostler_codex::binary::VersionRequest;
use ostler_codex::driver::ThreadOptions;
use ostler_codex::peer::PeerSettings;
use ostler_codex::secrets::Secrets;
use ostler_codex::thread::TurnInput;
use ostler_model::thread::IfBusy;
use ostler_model::{FailureClass, TurnEnd};

use crate::bench::{Bench, FETCHED_VERSION, fetched_version};
use crate::conversation::{ResultShown, Screen, Shown};
use crate::failure::{Exit, Failure};
use crate::kept::{Kept, Remains};
use crate::running::{self, Interruption};
use crate::terminal::Output;
use crate::turn::{Answers, End, Signs, Watch, Watched};
use stage::Stage;

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
        let stage = interruption.or(Stage::set(&bench, &mut screen)).await?;
        screen.stand_in(&stage.workspace().display().to_string());
        let mut kept = Kept::new(stage.keeper(codex)?, PeerSettings::default(), Secrets::default());
        let work = perform(&stage, &mut kept, arguments, &mut screen);
        let outcome = interruption.or(work).await;
        // Whatever came out, nothing of the demo's Codex may be left running. What it wrote before it failed is kept.
        let failed = outcome.as_ref().is_err_and(|failure| failure.exit == Exit::Failed);
        if outcome.is_err() {
            screen.end_line();
        }
        let ended = kept.end(if failed { Remains::Kept } else { Remains::Removed }).await;
        let outcome = outcome?;
        ended?;
        conclude(&stage, &outcome, &mut screen)
    })
}

async fn perform(
    stage: &Stage,
    kept: &mut Kept,
    arguments: &DemoArguments,
    screen: &mut Screen,
) -> Result<Watched, Failure> {
    let driver = kept.driver().await?;
    if let Some(keeper) = kept.keeper() {
        screen.step(format!("keeper {keeper} owns a codex app-server"));
    }
    screen.step(format!("connected to Codex {}", driver.server().await?.version()));
    let answers = answers(arguments, screen);
    screen.show(&Shown::Prompt { text: PROMPT.to_owned() }.into());
    let opening = driver.start_thread(stage.settings(), ThreadOptions::default());
    let (thread, mut updates) = opening.await?;
    let ticket = thread.send(TurnInput::text(PROMPT), IfBusy::Fail).await?;
    let watch = Watch::new(&thread, Some(&ticket), answers, screen);
    let watched = watch.run(&mut updates, &mut Signs::None).await;
    let failure = match &watched.end {
        End::Turn(result) => result.failure(),
        End::Refused(failure) => Some(failure),
        End::Detached(_) => None,
    };
    match failure {
        Some(failure) if failure.class == FailureClass::ServerGone => {
            let message = format!("codex is gone: {}", failure.message);
            Err(Failure::new(Exit::Failed, message)
                .hint("`ostler keeper list` shows what became of it"))
        }
        _ => Ok(watched),
    }
}

fn answers(arguments: &DemoArguments, screen: &mut Screen) -> Answers {
    if arguments.yes {
        return Answers::Always("--yes");
    }
    if !io::stdin().is_terminal() || screen.is_json() {
        let text = "no terminal to ask on: the demo answers its own questions, as with --yes";
        screen.step(text.to_owned());
        return Answers::Always("no terminal");
    }
    Answers::person(false)
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
fn conclude(stage: &Stage, watched: &Watched, screen: &mut Screen) -> Result<ExitCode, Failure> {
    let found = stage.inspect()?;
    let told = watched.tally.commands_run;
    let (status, exit, text) = match &watched.end {
        End::Turn(result) => match &result.end {
            TurnEnd::Interrupted { .. } => {
                let text = match found.sign_is_changed {
                    true => "you cancelled the turn; the sign was changed before that",
                    false => "you cancelled the turn; the sign is as it was",
                };
                ("interrupted", Exit::Interrupted as u8, text.to_owned())
            }
            TurnEnd::Failed { failure } => ("failed", Exit::Failed as u8, failure.message.clone()),
            TurnEnd::Completed if found.checks_run != told => {
                let run = found.checks_run;
                let text = format!("Codex told of {told} commands, but the folder shows {run}");
                ("completed", Exit::Failed as u8, text)
            }
            TurnEnd::Completed if watched.tally.denied > 0 => {
                ("completed", 0, "what you denied did not run; Codex went on without it".to_owned())
            }
            TurnEnd::Completed if !found.sign_is_right || found.checks_run == 0 => {
                let text = "the sign is not right; `ostler doctor` says whether the sandbox works";
                ("completed", Exit::Failed as u8, text.to_owned())
            }
            TurnEnd::Completed => {
                let text = format!(
                    "Codex ran {told} commands, each after an approval, and changed sign.txt"
                );
                ("completed", 0, text)
            }
        },
        End::Refused(failure) => ("refused", Exit::Failed as u8, failure.message.clone()),
        // Nobody can go from a demo: it would leave its model behind.
        End::Detached(_) => ("detached", Exit::Failed as u8, "the demo was left".to_owned()),
    };
    let workspace = stage.workspace().display().to_string();
    screen.show(
        &Shown::Result(Box::new(ResultShown {
            ok: exit == 0,
            exit,
            status: status.to_owned(),
            text,
            workspace: Some(workspace.clone()),
            ..ResultShown::default()
        }))
        .into(),
    );
    screen.afterword(format!("look at it: {workspace}"));
    screen.afterword("your own Codex: `codex login`, then `ostler run \"PROMPT\"`".to_owned());
    Ok(ExitCode::from(exit))
}
