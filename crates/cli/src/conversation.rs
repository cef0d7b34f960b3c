//! A conversation as a person sees it: one list of things that can be shown, as text for people or as NDJSON for programs.
//!
//! [`translate`] turns what a thread tells into [`shown`], `text` turns that into text, [`Screen`] writes it.

mod diff;
pub(crate) mod shown;
mod text;
pub(crate) mod translate;
pub(crate) mod words;

use std::io::{self, IsTerminal};

use indicatif::ProgressBar;

use crate::terminal::moving_line::{moving_line, style};
use crate::terminal::{Output, safe};
use shown::AskShown;
pub(crate) use shown::{Line, ResultShown, Shown};
use text::Writer;
pub(crate) use text::{Extent, is_cut};

/// A whole unified diff in colour.
pub(crate) fn coloured_diff(diff: &str) -> String {
    diff::coloured(diff, "update", usize::MAX)
}

/// A question as a block that stands out.
pub(crate) fn ask_text(ask: &AskShown, extent: Extent) -> String {
    Writer::default().ask(ask, extent)
}

/// Shows a conversation in the way this run speaks.
#[derive(Debug)]
pub(crate) struct Screen {
    output: Output,
    writer: Writer,
    /// The question behind which the cursor stands.
    prompt: Option<String>,
    /// The line that moves while nothing comes.
    moving: Option<ProgressBar>,
}

impl Screen {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, writer: Writer::default(), prompt: None, moving: None }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.output.is_json()
    }

    /// Whether a person sees what is written for people.
    pub(crate) fn is_seen(&self) -> bool {
        match self.output.is_json() {
            true => io::stderr().is_terminal(),
            false => io::stdout().is_terminal(),
        }
    }

    /// Paths below this folder are shown to people without it; JSON keeps them whole.
    pub(crate) fn stand_in(&mut self, folder: &str) {
        self.writer.stand_in(folder);
    }

    pub(crate) fn step(&mut self, text: String) {
        self.show(&Shown::Step { text }.into());
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.show(&Shown::Warning { text }.into());
    }

    pub(crate) fn show(&mut self, line: &Line) {
        self.output.emit(line);
        let text = self.writer.render(line);
        self.say(&text);
    }

    /// What a person may want to do next. Only for people: the last JSON value is the result.
    pub(crate) fn afterword(&mut self, text: String) {
        let text = self.writer.render(&Shown::Step { text }.into());
        self.say(&text);
    }

    /// Puts a question to the person. Programs were told when it came.
    pub(crate) fn put(&mut self, ask: &AskShown, extent: Extent) {
        let text = self.writer.ask(ask, extent);
        self.say(&text);
    }

    /// A question at the end of which the cursor waits. Only for people.
    pub(crate) fn prompt(&mut self, text: String) {
        self.stand_still();
        self.output.write(&text);
        self.prompt = Some(text);
    }

    /// Whether a question is before the person.
    pub(crate) fn is_asking(&self) -> bool {
        self.prompt.is_some()
    }

    /// A note about what was typed. Only for people.
    pub(crate) fn warn_person(&mut self, text: &str) {
        let text = self.writer.render(&Shown::Warning { text: text.to_owned() }.into());
        self.say(&text);
    }

    /// The person has answered, and so begun a new line.
    pub(crate) fn answered(&mut self) {
        self.prompt = None;
    }

    /// Takes the question off: what comes next begins a new line.
    pub(crate) fn take_off(&mut self) {
        if self.prompt.take().is_some() {
            self.output.write("\n");
        }
    }

    /// Begins a new line if the cursor stands in the middle of one, before somebody else speaks.
    pub(crate) fn end_line(&mut self) {
        self.take_off();
        self.stand_still();
        let end = self.writer.end_line();
        self.output.write(end);
    }

    /// Shows that somebody is at work although nothing comes. Only on a terminal, and only on a line of its own.
    pub(crate) fn move_on(&mut self) {
        let is_free = self.prompt.is_none() && !self.writer.is_mid_line();
        if self.moving.is_some() || !is_free || !self.is_seen() || !io::stderr().is_terminal() {
            return;
        }
        let what = match self.writer.activity() {
            Some(activity) => format!("running: {}", safe(activity).replace('\n', " ")),
            None => "Codex is at work".to_owned(),
        };
        let bar = moving_line();
        bar.set_style(style("{spinner:.cyan} {elapsed:>3} {wide_msg:.dim}"));
        bar.set_message(what);
        self.moving = Some(bar);
    }

    fn stand_still(&mut self) {
        if let Some(bar) = self.moving.take() {
            bar.finish_and_clear();
        }
    }

    /// Writes, also while a question is open: it is put again behind what was written.
    fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.stand_still();
        match self.prompt.take() {
            None => self.output.write(text),
            Some(prompt) => {
                self.output.write(&format!("\n{text}"));
                self.output.write(&prompt);
                self.prompt = Some(prompt);
            }
        }
    }
}
