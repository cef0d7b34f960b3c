//! `ostler replay`: a recorded conversation, played through the code that drives threads.

use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Args;
use ostler_codex::replay::{Replayed, ReplayedTurn, replay};
use ostler_codex::wire_log::{self, ReadError};
use ostler_model::message::{Message, Role};
use ostler_model::{TurnEnd, TurnResult};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::terminal::{Output, safe};

/// Lines of one message that are shown; the whole is in the JSON.
const SHOWN_LINES: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// A wire log, as `ostler run --wire-log` writes it
    file: PathBuf,
}

/// One line of the JSON form. Fields are added, never renamed.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Message { thread: &'a str, turn: &'a str, message: &'a Message },
    Turn { thread: &'a str, turn: &'a str, result: Option<&'a TurnResult> },
    Result { turns: usize, unfinished: usize, open_asks: usize },
}

pub(crate) fn run(arguments: &ReplayArguments, output: Output) -> Result<ExitCode, Failure> {
    let recording =
        wire_log::read(&arguments.file).map_err(|error| unreadable(arguments, &error))?;
    let replayed = replay(recording).map_err(|error| unreadable(arguments, &error))?;
    for turn in &replayed.turns {
        show(turn, output);
    }
    conclude(&replayed, output);
    Ok(ExitCode::SUCCESS)
}

fn show(turn: &ReplayedTurn, output: Output) {
    let (thread, id) = (turn.thread.as_str(), turn.turn.as_str());
    for message in &turn.messages {
        output.emit(&Line::Message { thread, turn: id, message });
        output.say_styled(text(message).trim_end());
    }
    output.emit(&Line::Turn { thread, turn: id, result: turn.result.as_ref() });
    let dim = Style::new().dimmed();
    output.say_styled(&format!("{dim}── turn {} · {}{dim:#}", safe(id), safe(&ending(turn))));
}

fn conclude(replayed: &Replayed, output: Output) {
    let turns = replayed.turns.len();
    let unfinished = replayed.turns.iter().filter(|turn| turn.result.is_none()).count();
    let open_asks = replayed.open_asks.len();
    output.emit(&Line::Result { turns, unfinished, open_asks });
    let mut text = format!("{turns} turn{} replayed", if turns == 1 { "" } else { "s" });
    if unfinished > 0 {
        text.push_str(&format!(", {unfinished} not ended when the recording does"));
    }
    if open_asks > 0 {
        text.push_str(&format!(", {open_asks} asks still open"));
    }
    output.say(&text);
}

fn ending(turn: &ReplayedTurn) -> String {
    match turn.result.as_ref().map(|result| &result.end) {
        None => "not ended".to_owned(),
        Some(TurnEnd::Completed) => "completed".to_owned(),
        Some(TurnEnd::Interrupted { .. }) => "interrupted".to_owned(),
        Some(TurnEnd::Failed { failure }) => {
            format!("failed: {} ({})", failure.message, failure.class.name())
        }
    }
}

fn text(message: &Message) -> String {
    let colour = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
    let (style, name) = match message.role {
        Role::User => (colour(AnsiColor::Cyan), "user"),
        Role::Assistant => (colour(AnsiColor::Green), "assistant"),
        Role::Tool => (colour(AnsiColor::Yellow), "tool"),
    };
    let mut text = format!("{style}{name}{style:#}\n");
    for line in message.content.iter().flat_map(|content| content.lines()).take(SHOWN_LINES) {
        text.push_str(&format!("  {}\n", safe(line)));
    }
    let lines = message.content.iter().flat_map(|content| content.lines()).count();
    if lines > SHOWN_LINES {
        text.push_str(&format!("  … {} more lines\n", lines - SHOWN_LINES));
    }
    for call in &message.tool_calls {
        let (name, arguments) = (&call.function.name, &call.function.arguments);
        text.push_str(&format!("  → {} {}\n", safe(name), safe(arguments)));
    }
    text
}

fn unreadable(arguments: &ReplayArguments, error: &ReadError) -> Failure {
    let path = arguments.file.display();
    let exit = match error {
        ReadError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::Failed,
    };
    Failure::new(exit, format!("{path}: {error}"))
        .hint("a recording is made with `ostler run --wire-log FOLDER`")
}
