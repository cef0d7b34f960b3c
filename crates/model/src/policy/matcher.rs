//! What a rule is about.

use serde::{Deserialize, Serialize};

use super::fit::Fit;
use super::folder::{Folder, in_folder};
use super::host::HostPattern;
use super::words::Words;
use crate::ask::{
    AskKind, CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, FileChangeKind, FileDiff,
    Permissions,
};
use crate::command_line::CommandLine;

/// What stands in these is run or obeyed by tools later, so a rule for the folder around them does not allow it. Codex
/// protects them inside a writable folder for the same reason.
const GUARDED: [&str; 4] = [".git", ".codex", ".agents", ".ostler"];

/// What a rule is about. Stored, so a variant keeps its name and meaning for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Matcher {
    /// This command and no other word after it.
    Command(Words),
    /// Commands that begin with these words.
    CommandPrefix(Words),
    /// Connections, whatever is spoken over them.
    Host(HostPattern),
    /// Calls of one tool of an MCP server, with whatever arguments.
    Tool { server: String, tool: String },
    /// Changes of files in this folder and below.
    FilesBelow(Folder),
    /// A sandbox that is widened by this much or less.
    Permissions(Permissions),
}

impl Matcher {
    /// How well this is what is asked. `cwd` is where relative paths begin.
    pub(super) fn fit(&self, kind: &AskKind, cwd: &str) -> Fit {
        match (self, kind) {
            (Self::Command(words), AskKind::Command(ask)) => {
                command(ask, words, |argv| argv == words.as_slice())
            }
            (Self::CommandPrefix(words), AskKind::Command(ask)) => {
                command(ask, words, |argv| argv.starts_with(words.as_slice()))
            }
            (Self::Host(pattern), AskKind::Command(ask)) => connection(ask, pattern),
            (Self::Tool { server, tool }, AskKind::Elicitation(ask)) => {
                tool_call(ask, server, tool)
            }
            (Self::FilesBelow(folder), AskKind::FileChange(ask)) => files(ask, folder, cwd),
            (Self::FilesBelow(folder), AskKind::Permissions(ask)) => written(&ask.wanted, folder),
            (Self::FilesBelow(folder), AskKind::Command(CommandAsk { extra: Some(extra), .. })) => {
                written(extra, folder)
            }
            (Self::Permissions(granted), AskKind::Permissions(ask)) => {
                widening(&ask.wanted, granted)
            }
            (
                Self::Permissions(granted),
                AskKind::Command(CommandAsk { extra: Some(extra), .. }),
            ) => widening(extra, granted).min(Fit::Unclear),
            _ => Fit::Misses,
        }
    }
}

fn command(ask: &CommandAsk, words: &Words, fits: impl Fn(&[String]) -> bool) -> Fit {
    let Some(text) = &ask.command else { return Fit::Misses };
    let line =
        if ask.writes_to_running { CommandLine::typed(text) } else { CommandLine::read(text) };
    let fit = match &line {
        CommandLine::Simple { argv } if fits(argv) => Fit::Fits,
        _ => Fit::unclear_when(line.could_run(words.as_slice())),
    };
    // A rule for a command says nothing of a wider sandbox or of a connection.
    if ask.extra.is_some() || ask.network.is_some() { fit.min(Fit::Unclear) } else { fit }
}

fn connection(ask: &CommandAsk, pattern: &HostPattern) -> Fit {
    let Some(target) = &ask.network else { return Fit::Misses };
    let is_all = ask.command.is_none() && ask.extra.is_none() && !ask.writes_to_running;
    let fit = pattern.fit(&target.host);
    if is_all { fit } else { fit.min(Fit::Unclear) }
}

fn tool_call(ask: &ElicitationAsk, server: &str, tool: &str) -> Fit {
    match &ask.want {
        ElicitationWant::ToolApproval { tool: Some(asked), .. } => {
            Fit::when(ask.server == server && asked == tool)
        }
        ElicitationWant::ToolApproval { tool: None, .. } => Fit::unclear_when(ask.server == server),
        ElicitationWant::Form(_) | ElicitationWant::Url(_) | ElicitationWant::Other(_) => {
            Fit::Misses
        }
    }
}

fn files(ask: &FileChangeAsk, folder: &Folder, cwd: &str) -> Fit {
    let fits = || ask.files.iter().map(|file| file_fit(file, folder, cwd));
    // All of them, or some of them. Which files an ask without any is about is not known.
    let all = fits().min().unwrap_or(Fit::Unclear);
    let some = fits().max().unwrap_or(Fit::Unclear).min(Fit::Unclear);
    let fit = all.max(some);
    match &ask.grant_root {
        // This is a folder for the whole session, so it is more than these files.
        Some(root) => fit.max(folder.meets(root)).min(Fit::Unclear),
        None => fit,
    }
}

fn file_fit(file: &FileDiff, folder: &Folder, cwd: &str) -> Fit {
    let fit = below(&file.path, folder, cwd);
    match &file.change {
        FileChangeKind::Add
        | FileChangeKind::Delete
        | FileChangeKind::Update { moved_to: None } => fit,
        FileChangeKind::Update { moved_to: Some(target) } => {
            let target = below(target, folder, cwd);
            if fit == target { fit } else { Fit::Unclear }
        }
        // Nobody here knows what such a change does.
        FileChangeKind::Other(_) => fit.min(Fit::Unclear),
    }
}

fn below(path: &str, folder: &Folder, cwd: &str) -> Fit {
    let path = in_folder(cwd, path);
    let is_guarded =
        folder.below(&path).any(|part| GUARDED.iter().any(|name| part.eq_ignore_ascii_case(name)));
    let fit = folder.holds(&path);
    if is_guarded { fit.min(Fit::Unclear) } else { fit }
}

/// Whether a wider sandbox would let commands write there.
fn written(permissions: &Permissions, folder: &Folder) -> Fit {
    let fits = permissions.write.iter().map(|path| folder.meets(path));
    fits.max().unwrap_or(Fit::Misses).min(Fit::Unclear)
}

fn widening(wanted: &Permissions, granted: &Permissions) -> Fit {
    if *wanted == Permissions::default() {
        return Fit::Misses;
    }
    if wanted.is_within(granted) {
        // A path that is not whole, and a finer rule of Codex's, may mean something else in another folder.
        let is_whole = |path: &String| Folder::try_from(path.clone()).is_ok();
        let is_plain =
            wanted.rules.is_empty() && wanted.read.iter().chain(&wanted.write).all(is_whole);
        return if is_plain { Fit::Fits } else { Fit::Unclear };
    }
    let overlaps = |wanted: &[String], granted: &[String]| {
        wanted.iter().any(|path| {
            granted.iter().any(|folder| match Folder::try_from(folder.clone()) {
                Ok(folder) => folder.meets(path) > Fit::Misses,
                Err(_) => true,
            })
        })
    };
    Fit::unclear_when(
        (wanted.network == Some(true) && granted.network == Some(true))
            || overlaps(&wanted.read, &granted.read)
            || overlaps(&wanted.write, &granted.write)
            || wanted.rules.iter().any(|rule| granted.rules.contains(rule)),
    )
}
