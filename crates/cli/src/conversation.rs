//! A conversation as a person sees it: one list of things that can be shown, as text for people or as NDJSON for programs.

mod diff;
mod text;
pub(crate) mod translate;

use serde::Serialize;

use crate::terminal::Output;
use text::Writer;

/// One thing to show. The JSON form is part of our interface: fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Shown {
    /// Something we did ourselves.
    Step {
        text: String,
    },
    Prompt {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// A piece of Codex's text, as it comes.
    Text {
        item: String,
        delta: String,
    },
    /// The whole text, which counts; the pieces may have been cut.
    TextDone {
        item: String,
        text: String,
    },
    Command {
        item: String,
        command: String,
        cwd: Option<String>,
    },
    CommandDone {
        item: String,
        command: String,
        status: String,
        exit_code: Option<i64>,
        duration_ms: Option<u64>,
        output: String,
    },
    Ask {
        what: String,
        command: Option<String>,
        files: Vec<FileShown>,
        cwd: Option<String>,
        reason: Option<String>,
        choices: Vec<String>,
    },
    Answer {
        decision: String,
        by: String,
    },
    FileChange {
        item: String,
        status: String,
        files: Vec<FileShown>,
    },
    Usage {
        input_tokens: u64,
        cached_input_tokens: u64,
        output_tokens: u64,
    },
    Warning {
        text: String,
    },
    TurnDone {
        status: String,
        error: Option<String>,
    },
    /// The last line.
    Result {
        ok: bool,
        text: String,
        workspace: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileShown {
    pub(crate) path: String,
    pub(crate) change: String,
    pub(crate) diff: String,
}

/// Shows a conversation in the way this run speaks.
#[derive(Debug)]
pub(crate) struct Screen {
    output: Output,
    writer: Writer,
    /// The cursor stands behind a question.
    at_prompt: bool,
}

impl Screen {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, writer: Writer::default(), at_prompt: false }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.output.is_json()
    }

    /// Paths below this folder are shown to people without it; JSON keeps them whole.
    pub(crate) fn stand_in(&mut self, folder: &str) {
        self.writer.stand_in(folder);
    }

    pub(crate) fn step(&mut self, text: String) {
        self.show(&Shown::Step { text });
    }

    /// What a person may want to do next. Only for people: the last JSON value is the result.
    pub(crate) fn afterword(&mut self, text: String) {
        let text = self.writer.render(&Shown::Step { text });
        self.output.write(&text);
    }

    /// Begins a new line if the cursor stands in the middle of one, before somebody else speaks.
    pub(crate) fn end_line(&mut self) {
        if std::mem::take(&mut self.at_prompt) | self.writer.is_mid_line() {
            self.output.write("\n");
        }
    }

    /// A question at the end of which the cursor waits. Only for people.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.at_prompt = true;
        self.output.write(text);
    }

    pub(crate) fn show(&mut self, shown: &Shown) {
        self.at_prompt = false;
        self.output.emit(shown);
        let text = self.writer.render(shown);
        if !text.is_empty() {
            self.output.write(&text);
        }
    }
}
