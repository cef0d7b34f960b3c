//! Calls of tools and what they gave back: arguments and contents of the two messages of a pair.

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{Command, FileChange, Outcome, ToolCall, ToolPlace};
use serde_json::{Value, json};

use super::{cut, json};

pub(crate) fn command_arguments(command: &Command) -> String {
    let mut arguments = json!({ "command": script(&command.command), "cwd": command.cwd });
    if command.by_user
        && let Value::Object(object) = &mut arguments
    {
        // Without this, a person's own command reads as if the model had run it.
        object.insert("by".to_owned(), Value::from("user"));
    }
    json::write(&arguments, cut::RESULT)
}

pub(crate) fn command_content(command: &Command, outcome: &Outcome) -> String {
    let output = cut::text(&command.output, cut::OUTPUT);
    if let Some(ended) = without_exit(command, outcome) {
        return lines([mark(&ended), Some(output)]);
    }
    let exit = command.exit_code.filter(|code| *code != 0).map(|code| format!("[exit {code}]"));
    // The exit code says more than that it failed.
    let mark = if exit.is_some() && *outcome == Outcome::Failed { None } else { mark(outcome) };
    lines([mark, exit, Some(output)])
}

/// How a command ended that gave no exit code of its own.
///
/// Codex tells a command that was killed as interrupted, with an exit code of -1, or with the one that its shell gave for the
/// signal (SIGKILL, SIGTERM), by version and by who was faster; whoever reads it finds one form. It has -1 also for what was
/// refused or could not be started.
fn without_exit(command: &Command, outcome: &Outcome) -> Option<Outcome> {
    match (outcome, command.exit_code) {
        (Outcome::Interrupted, _) => Some(Outcome::Interrupted),
        (Outcome::Declined, _) => Some(Outcome::Declined),
        (_, Some(137 | 143)) => Some(Outcome::Interrupted),
        (_, Some(..=-1)) if command.output.trim_end().ends_with(REJECTED) => {
            Some(Outcome::Declined)
        }
        (_, Some(..=-1)) if command.output.starts_with(NOT_STARTED) => Some(Outcome::Failed),
        (_, Some(..=-1)) => Some(Outcome::Interrupted),
        _ => None,
    }
}

/// The last words of a command whose connection was refused; 0.130.0 to 0.166.0.
const REJECTED: &str = "rejected by user";

/// The first words of one that could not be started.
const NOT_STARTED: &str = "execution error";

pub(crate) fn patch_arguments(change: &FileChange) -> String {
    let file = |file: &FileDiff| {
        let (added, removed) = line_counts(file);
        let mut entry = json!({
            "kind": kind(&file.change), "path": file.path, "added": added, "removed": removed,
        });
        if let (Some(moved), Value::Object(object)) = (moved_to(&file.change), &mut entry) {
            object.insert("move_path".to_owned(), Value::from(moved));
        }
        entry
    };
    let changes: Vec<_> = change.files.iter().map(file).collect();
    json::write(&json!({ "changes": changes }), cut::RESULT)
}

pub(crate) fn patch_content(change: &FileChange, outcome: &Outcome) -> String {
    let status = format!("apply_patch status={}, {} change(s)", word(outcome), change.files.len());
    let files = change.files.iter().map(|file| {
        let (added, removed) = line_counts(file);
        let target = moved_to(&file.change).map(|path| format!(" -> {path}")).unwrap_or_default();
        format!("{} {}{target} (+{added} -{removed})", kind(&file.change), file.path)
    });
    let all: Vec<_> = std::iter::once(status).chain(files).collect();
    lines([mark(outcome), Some(cut::text(&all.join("\n"), cut::RESULT))])
}

/// Arguments that are no object are put into one, because a call's arguments must be one.
pub(crate) fn call_arguments(call: &ToolCall) -> String {
    let value = match call.arguments.as_deref().map(json::read) {
        None | Some(Value::Null) => json!({}),
        Some(object @ Value::Object(_)) => object,
        Some(other) => json!({ "arguments": other }),
    };
    json::write(&value, cut::RESULT)
}

pub(crate) fn call_content(call: &ToolCall, outcome: &Outcome) -> String {
    let error = call.error.as_ref().map(|message| {
        format!("[error] {}", json::write(&json!({ "message": message }), cut::ERROR))
    });
    let failed =
        call.succeeded == Some(false) && matches!(outcome, Outcome::Succeeded | Outcome::Unknown);
    let mark = if failed { mark(&Outcome::Failed) } else { mark(outcome) };
    // An error says more than that it failed.
    let mark = mark.filter(|mark| error.is_none() || mark != "[failed]");
    let result = call.result.as_ref().map(|result| json::write(&json::read(result), cut::RESULT));
    let result = result.or_else(|| match (&call.place, call.succeeded) {
        (ToolPlace::Client { .. }, Some(succeeded)) => Some(format!("success={succeeded}")),
        _ => None,
    });
    lines([mark, error, result])
}

/// Lines that were added and removed.
pub(crate) fn line_counts(file: &FileDiff) -> (usize, usize) {
    match &file.change {
        // Of a new or a removed file Codex tells the whole text, not a diff.
        FileChangeKind::Add => (file.diff.lines().count(), 0),
        FileChangeKind::Delete => (0, file.diff.lines().count()),
        FileChangeKind::Update { .. } | FileChangeKind::Other(_) => {
            // Before the first hunk there may be the names of the files, which begin with the same signs.
            let hunks = file.diff.find("@@").and_then(|start| file.diff.get(start..));
            let lines = || hunks.unwrap_or(&file.diff).lines();
            let count = |sign: char| lines().filter(|line| line.starts_with(sign)).count();
            (count('+'), count('-'))
        }
    }
}

/// What a shell was told to run: Codex hands every command to the person's shell (`/bin/bash -lc '…'`), which neither
/// the model wrote nor anybody wants to read again and again. Any other command line stays as it is.
pub(crate) fn script(command: &str) -> String {
    let words = shell_words(command);
    match words.as_deref() {
        Some([shell, flag, script]) if is_shell(shell) && (flag == "-lc" || flag == "-c") => {
            script.clone()
        }
        _ => command.to_owned(),
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish")
}

/// The words of a command line as a shell splits it; none if a quote is not closed or a shell would do more than split.
fn shell_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        inner => quoted.push(inner),
                    }
                }
            }
            '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            special @ ('"' | '\\' | '$' | '`') => quoted.push(special),
                            other => quoted.extend(['\\', other]),
                        },
                        inner => quoted.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

fn mark(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Succeeded | Outcome::Unknown => None,
        other => Some(format!("[{}]", word(other))),
    }
}

/// Codex's word for it, which hosts know.
pub(crate) fn word(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Running => "running",
        Outcome::Succeeded => "completed",
        Outcome::Failed => "failed",
        Outcome::Declined => "declined",
        Outcome::Interrupted => "interrupted",
        Outcome::Unknown => "unknown",
        Outcome::Other(word) => word,
    }
}

fn kind(change: &FileChangeKind) -> &str {
    match change {
        FileChangeKind::Add => "add",
        FileChangeKind::Delete => "delete",
        FileChangeKind::Update { .. } => "update",
        FileChangeKind::Other(word) => word,
    }
}

fn moved_to(change: &FileChangeKind) -> Option<&str> {
    match change {
        FileChangeKind::Update { moved_to } => moved_to.as_deref(),
        _ => None,
    }
}

fn lines<const COUNT: usize>(lines: [Option<String>; COUNT]) -> String {
    let said = lines.into_iter().flatten().filter(|line| !line.is_empty());
    said.collect::<Vec<_>>().join("\n")
}
