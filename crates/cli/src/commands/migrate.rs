//! `ostler migrate`: the MCP servers of other programs, our own tools, plugins and permissions, for Codex.
//!
//! What the files say is [`gather`]'s to find out, what it means for Codex is `ostler-config`'s. By default it is kept in a
//! file of ours and given to Codex with each thread ([`overlay`]); with `--write` it goes into Codex's own file ([`write`]),
//! after real Codex has loaded the new text in a scratch home ([`trial`]). [`undo`] takes both back.

mod config_file;
mod gather;
mod ledger;
pub(crate) mod overlay;
mod own_tools;
mod plugins;
mod report;
mod trial;
mod undo;
mod write;

use gather::Secrets;
pub(crate) use gather::Wanted;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::terminal::Output;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads a host agent's YAML (mcp_servers) and the JSON files of Claude Desktop and Claude Code, Cursor, Windsurf, Cline,
VS Code, Zed, Gemini, Goose, opencode and others. Secrets in them are stored in a file that only you can read and given to
Codex's environment; --no-secrets stores none, and the report says which variables to set.
Without --write, your config.toml stays as it is: Codex gets the servers with each thread of `ostler chat`, and of all
tasks if for_tasks = true stands in [migrate].
Exit code: 0 if all was taken, 1 if something had to be left out or could not be done.")]
pub(crate) struct MigrateArguments {
    /// A file to take servers from, as often as wanted, besides those of [migrate] and of earlier runs
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,

    /// Forget the files of earlier runs: take servers from --from and [migrate] alone
    #[arg(long, requires = "from")]
    pub(crate) only: bool,

    /// The Codex home; without it, CODEX_HOME, codex.home or ~/.codex
    #[arg(long, value_name = "CODEX_HOME")]
    pub(crate) to: Option<PathBuf>,

    /// Write into Codex's config.toml, between markers
    #[arg(long, conflicts_with = "undo")]
    pub(crate) write: bool,

    /// The permission profile that is written as default_permissions, or `none`
    #[arg(long, value_name = "PROFILE", requires = "write")]
    pub(crate) permissions: Option<String>,

    /// A folder whose project Codex is told to trust, as often as wanted
    #[arg(long, value_name = "FOLDER", requires = "write")]
    pub(crate) trust: Vec<PathBuf>,

    /// Store no secrets, and remove those of earlier runs: you set the variables yourself
    #[arg(long, conflicts_with = "undo")]
    pub(crate) no_secrets: bool,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Take back what was migrated
    #[arg(long, conflicts_with = "from")]
    pub(crate) undo: bool,
}

impl MigrateArguments {
    fn wanted(&self) -> Wanted<'_> {
        let secrets = if self.no_secrets { Secrets::LeftOut } else { Secrets::Stored };
        Wanted { from: &self.from, only: self.only, secrets }
    }
}

pub(crate) fn run(arguments: &MigrateArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    let report = block_on(async {
        let home = codex_home(&bench, arguments)?;
        match (arguments.undo, arguments.write) {
            (true, _) => undo::run(&bench, &home, threads(&bench, &home), arguments.dry_run).await,
            (false, true) => write::run(&bench, &home, arguments).await,
            (false, false) => {
                overlay::run(&bench, &home, arguments.wanted(), arguments.dry_run).await
            }
        }
    })?;
    output.say(report.text(|path| bench.short(path)).trim_end());
    output.emit(&report);
    // What was left out needs somebody's eye; what was kept is as it was wanted.
    Ok(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is given with threads goes to the Codex that is usually used.
fn threads(bench: &Bench, home: &Path) -> undo::Threads {
    let usual = bench.usual_codex_home();
    match usual.is_none_or(|usual| write::same_folder(&usual, home)) {
        true => undo::Threads::Too,
        false => undo::Threads::Left,
    }
}

fn codex_home(bench: &Bench, arguments: &MigrateArguments) -> Result<PathBuf, Failure> {
    let wanted = arguments.to.clone().or_else(|| bench.usual_codex_home()).ok_or_else(|| {
        Failure::new(Exit::Usage, "cannot tell where the Codex home is")
            .hint("say it with --to, or set HOME")
    })?;
    std::path::absolute(&wanted).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot use {}: {error}", wanted.display()))
    })
}
