//! `ostler run`: one turn of Codex in the foreground, under a keeper that outlives us.
//!
//! Start reading at [`run`]; `session` opens the thread, [`crate::turn`] watches the turn, `ending` says what it came to.

mod arguments;
mod ending;
mod input;
mod login;
mod memory;
mod rights;
mod session;
mod settings;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use ostler_codex::folder_trust::Trust;
use ostler_codex::keeper::StartKeeper;
use ostler_codex::keeper::environment::{EnvironmentRule, given_alone};
use ostler_codex::peer::PeerSettings;
use ostler_codex::secrets::Secrets;
use ostler_codex::wire_log::{WireLog, WireLogSettings};

use crate::bench::Bench;
use crate::commands::keeper::READY_DEADLINE;
use crate::commands::serve::homes;
use crate::conversation::{ResultShown, Screen, Shown};
use crate::failure::{Exit, Failure};
use crate::folder_trust;
use crate::kept::{Kept, Remains};
use crate::places;
use crate::running::{self, Interruption, own_program};
use crate::stored_secrets;
use crate::terminal::Output;
use crate::turn::{End, Signs};
pub(crate) use arguments::{Approval, Busy, RunArguments, Sandbox, Stall};
use memory::{Memory, Remembered};
use session::{Order, Session};

pub(crate) fn run(arguments: &RunArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    // Before signals are listened to: a question can be left with Ctrl-C.
    look_at_folder(arguments, &bench)?;
    let runtime = running::runtime()?;
    let result = runtime.block_on(work(arguments, &bench));
    // A read from stdin that nobody waits for any more cannot be called off.
    runtime.shutdown_background();
    result
}

/// Asks about programs that the folder brings along, or tells that they are not started.
fn look_at_folder(arguments: &RunArguments, bench: &Bench) -> Result<(), Failure> {
    let thread = arguments.resume.as_deref().or(arguments.fork.as_deref());
    let memory = Memory::below(&bench.places.state);
    let remembered = thread.and_then(|id| memory.recall(id).ok().flatten());
    // What cannot be used is told by whoever needs it.
    let Ok(cwd) = settings::folder(arguments, remembered.as_ref()) else { return Ok(()) };
    let home = remembered.and_then(|it| it.codex_home).or_else(|| bench.usual_codex_home());
    folder_trust::look(&bench.places, home.as_deref(), Path::new(&cwd), bench.output)
}

async fn work(arguments: &RunArguments, bench: &Bench) -> Result<ExitCode, Failure> {
    let mut interruption = Interruption::listen()?;
    let mut screen = Screen::new(bench.output);
    let memory = Memory::below(&bench.places.state);
    let mut order = interruption.or(order(arguments, bench, &memory, &screen)).await?;
    let codex = bench.choose(arguments.codex.as_ref());
    let (path, version) = interruption.or(codex).await?;
    let root = bench.places.keepers();
    places::private_folder(&root)?;
    let secrets = Secrets::default();
    let log = arguments.wire_log.as_ref().map(|folder| {
        let registered = secrets.clone();
        WireLog::start(WireLogSettings { registered, ..WireLogSettings::in_folder(folder) })
    });
    let log = log.transpose().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let home = order.remembered.as_ref().and_then(|it| it.codex_home.clone());
    let home = home.or_else(|| bench.codex_home());
    // Its thread is given no servers of ours, so only those in Codex's own file count.
    let usual = home.clone().or_else(|| bench.usual_codex_home());
    let given = usual.map(|home| stored_secrets::given(&bench.places, &home, &BTreeMap::new()));
    let given = given.unwrap_or_default();
    let environment = places::environment();
    let names = given.names().map(str::to_owned).collect();
    order.hide_variables(given_alone(names, &environment, &EnvironmentRule::default()));
    let start = StartKeeper {
        root,
        program: own_program()?,
        codex: path,
        codex_version: Some(version),
        environment,
        environment_rule: EnvironmentRule { codex_home: home, given, ..EnvironmentRule::default() },
        purpose: None,
        extra_arguments: Vec::new(),
        open_files: None,
        ready_deadline: READY_DEADLINE,
    };
    let peer = PeerSettings { tap: log.as_ref().map(WireLog::tap), ..PeerSettings::default() };
    let mut kept = Kept::new(start, peer, secrets);
    let known = order.remembered.as_ref().and_then(|it| it.keeper.clone());
    let joined = order.is_resumed() && known.is_some_and(|keeper| kept.join(&keeper));
    // From here on a second Ctrl-C means something else than the first.
    let mut signs = Signs::listen()?;
    let opening = Session::open(&mut kept, order, joined, &memory, &mut screen);
    let session = match interruption.or(opening).await {
        Ok(session) => session,
        Err(failure) => {
            screen.end_line();
            give_up(&mut kept, joined).await?;
            return Err(failure);
        }
    };
    let thread = session.thread_id();
    let watched = session.watch(&mut screen, &mut signs).await;
    let result = ending::result(&thread, &watched);
    let result = match watched.end {
        End::Detached(_) => {
            kept.leave().await;
            ResultShown { keeper: kept.keeper().map(|keeper| keeper.to_string()), ..result }
        }
        _ => {
            let kept_for_a_look = ending::is_worth_a_look(&watched);
            kept.end(if kept_for_a_look { Remains::Kept } else { Remains::Removed }).await?;
            result
        }
    };
    if let Some(Err(failure)) = close(log).await {
        screen.warn(format!("the wire log is not whole: {failure}"));
    }
    conclude(arguments, result, &mut screen)
}

/// Everything that can be wrong with what was typed is found before anything is started.
async fn order(
    arguments: &RunArguments,
    bench: &Bench,
    memory: &Memory,
    screen: &Screen,
) -> Result<Order, Failure> {
    let thread = arguments.resume.as_deref().or(arguments.fork.as_deref());
    let remembered: Option<Remembered> = match thread {
        Some(id) => memory.recall(id)?,
        None => None,
    };
    let trust = Some(Trust::of(folder_trust::file(&bench.places)));
    let mut settings = settings::settings(arguments, remembered.as_ref(), trust)?;
    let homes = homes(&bench.places, bench.config.config());
    if let Some(why) =
        settings.writable_folders().find_map(|folder| homes.refuses(Path::new(folder)))
    {
        return Err(Failure::new(Exit::Usage, why));
    }
    homes.narrow(&mut settings.sandbox);
    let present = rights::look(&bench.places.keepers(), &settings.approval_policy, screen)?;
    let input = input::read(arguments, bench.output).await?;
    if input.is_none() && arguments.resume.is_none() {
        return Err(Failure::new(Exit::Usage, "there is no prompt")
            .hint("give one, as in `ostler run \"tidy the notes\"`, or pipe it in"));
    }
    Order::new(arguments, settings, remembered, present, input)
}

/// Ends what was started for nothing. A keeper that ran before us is not ours to end.
async fn give_up(kept: &mut Kept, joined: bool) -> Result<(), Failure> {
    match joined {
        true => kept.leave().await,
        false => kept.end(Remains::Removed).await?,
    }
    Ok(())
}

async fn close(log: Option<WireLog>) -> Option<Result<(), ostler_codex::wire_log::WireLogFailure>> {
    match log {
        Some(log) => Some(log.close().await),
        None => None,
    }
}

/// The last words: what came out, and how to go on.
fn conclude(
    arguments: &RunArguments,
    result: ResultShown,
    screen: &mut Screen,
) -> Result<ExitCode, Failure> {
    let exit = result.exit;
    let thread = result.thread.clone().unwrap_or_default();
    let keeper = result.keeper.clone();
    screen.show(&Shown::Result(Box::new(result)).into());
    if let Some(keeper) = keeper {
        screen.afterword(format!("come back: ostler run --resume {thread}"));
        screen.afterword(format!("end it: ostler keeper stop --now {keeper}"));
    } else if !arguments.ephemeral {
        screen.afterword(format!("go on: ostler run --resume {thread} \"…\""));
    }
    Ok(ExitCode::from(exit))
}
