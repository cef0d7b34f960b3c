//! `ostler trust`: which folders may bring programs along.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ostler_codex::folder_trust::{Answer, Brought, Look, Record, brought, digest};
use serde_json::json;

use crate::daemon::refuse_agents;
use crate::failure::{Exit, Failure};
use crate::folder_trust::{file, is_attended, is_yes, line, record};
use crate::places::Places;
use crate::prompt::existing;
use crate::tasks::table::{Cell, table};
use crate::tasks::time;
use crate::terminal::{Output, safe, tell};

#[derive(Debug, Args)]
#[command(after_help = "\
A folder's own .codex can name MCP servers, hooks and rules, which Codex starts as you, outside of its sandbox. Ostler lets it do so only
in folders that you trust here, whatever Codex's own config.toml says; that file is not changed. A folder is trusted as it is
now: when its .codex changes, or a file that it names, it is not trusted any more until you say so again. Folders below it that have
a .codex of their own are trusted on their own; git worktrees of it with the same .codex are trusted with it.")]
pub(crate) struct TrustArguments {
    /// The folder with the .codex
    #[arg(value_name = "DIR", required_unless_present_any = ["list", "remove"])]
    folder: Option<PathBuf>,
    /// List the folders that were decided about
    #[arg(long, conflicts_with_all = ["folder", "remove", "yes"])]
    list: bool,
    /// Trust this folder no longer
    #[arg(long, value_name = "DIR", conflicts_with_all = ["folder", "yes"])]
    remove: Option<PathBuf>,
    /// Trust it without a question
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(arguments: &TrustArguments, output: Output) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    match (&arguments.folder, &arguments.remove) {
        (Some(folder), _) => trust(&places, folder, arguments.yes, output)?,
        (None, Some(folder)) => remove(&places, folder, output)?,
        (None, None) => list(&places, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn trust(places: &Places, folder: &Path, yes: bool, output: Output) -> Result<(), Failure> {
    let folder = existing(folder, "the folder")?;
    let folder = folder.canonicalize().unwrap_or(folder);
    let looked = digest(&folder).and_then(|digest| Ok((digest, brought(&folder)?)));
    let (shown, all) = looked.map_err(|error| {
        let failure = Failure::from(error);
        match (Look { cwd: &folder, trust: None, codex_home: None }).ignored().first() {
            Some(above) => failure.hint(format!("{} has one", above.folder.display())),
            None => failure,
        }
    })?;
    refuse_agents(places, "trust a folder")?;
    let say = |text: String| tell(&safe(&text));
    say(format!("{} brings along:", folder.display()));
    for brought in &all {
        let mark = if brought.is_program { "RUNS" } else { "    " };
        say(format!("  {mark} {}", line(brought)));
    }
    say("what is marked is started by Codex as you, or told what Codex knows, outside of its sandbox".to_owned());
    let is_agreed = match yes {
        true => true,
        false if is_attended(places, output) => is_yes("trust this folder as it is now? [y/N] "),
        false => {
            return Err(Failure::new(
                Exit::Usage,
                "there is no terminal to ask on, so nothing was decided",
            )
            .hint(format!(
                "`ostler trust --yes {}` trusts it without a question",
                folder.display()
            )));
        }
    };
    if digest(&folder)? != shown {
        return Err(Failure::new(Exit::Failed, "the folder changed while it was shown")
            .hint("nothing was decided; look at it again"));
    }
    let answer = if is_agreed { Answer::Trusted } else { Answer::Declined };
    record(places, &folder, shown, answer)?;
    let words = if is_agreed { "is trusted" } else { "is not trusted" };
    output.say(&format!("{} {words}", folder.display()));
    let each = |Brought { file, what, is_program }: &Brought| json!({ "file": file, "what": what, "is_program": is_program });
    let brings: Vec<_> = all.iter().map(each).collect();
    output.emit(&json!({ "folder": folder, "is_trusted": is_agreed, "brings": brings }));
    Ok(())
}

fn remove(places: &Places, folder: &Path, output: Output) -> Result<(), Failure> {
    // One that is gone is named as it was.
    let given = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let folder = given.canonicalize().unwrap_or(given);
    refuse_agents(places, "say which folders are trusted")?;
    if !file(places).remove(&folder)? {
        let message = format!("nothing was decided about {}", folder.display());
        return Err(Failure::new(Exit::NotFound, message).hint("`ostler trust --list` lists all"));
    }
    output.say(&format!("{} is trusted no longer; threads that are open go on", folder.display()));
    output.emit(&json!({ "folder": folder, "is_trusted": false }));
    Ok(())
}

fn list(places: &Places, output: Output) -> Result<(), Failure> {
    let known = file(places).read()?;
    let state = |record: &Record| match (record.answer, digest(&record.folder)) {
        (Answer::Declined, _) => "not trusted",
        (Answer::Trusted, Ok(digest)) if digest == record.digest => "trusted",
        (Answer::Trusted, _) => "changed, so not trusted",
    };
    let folders: Vec<_> = known
        .iter()
        .map(|it| json!({ "folder": it.folder, "state": state(it), "decided_at": it.at }))
        .collect();
    output.emit(&json!({ "folders": folders }));
    if known.is_empty() {
        output.say("no folder is trusted; `ostler trust DIR` shows what one brings along");
        return Ok(());
    }
    let row = |it: &Record| {
        let folder = it.folder.display().to_string();
        let when = Cell::dim(time::ago(it.at, time::now()));
        vec![Cell::plain(folder), Cell::plain(state(it)), when]
    };
    let rows: Vec<Vec<Cell>> = known.iter().map(row).collect();
    output.say_styled(&table(&["FOLDER", "", "DECIDED"], &rows));
    Ok(())
}
