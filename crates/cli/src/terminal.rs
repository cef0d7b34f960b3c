//! Where output goes: JSON on stdout when asked for, human text otherwise; colour only on a terminal.

pub(crate) mod hidden;
pub(crate) mod keys;
pub(crate) mod moving_line;
pub(crate) mod raw;
mod safe;
pub(crate) mod typed;

use std::io::Write;

use serde::Serialize;

pub(crate) use safe::safe;

/// How this run speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Human text: stdout normally, stderr when stdout carries JSON. A closed pipe is not an error. What a terminal would
    /// obey is made visible: paths, keys and the words of other programs may hold anything.
    pub(crate) fn say(self, text: &str) {
        self.say_styled(&safe(text));
    }

    /// The same for text with colours of ours, in which whatever is not ours has gone through [`safe`].
    pub(crate) fn say_styled(self, text: &str) {
        if self.json {
            tell(text);
        } else {
            let mut stdout = anstream::stdout().lock();
            // The reader may have gone (`ostler … | head`); there is nobody left to tell.
            drop(writeln!(stdout, "{text}"));
        }
    }

    /// Human text that may be a piece of a line; where it goes is as for [`Output::say`].
    pub(crate) fn write(self, text: &str) {
        // As above: a reader that left needs no answer.
        if self.json {
            let mut stderr = anstream::stderr().lock();
            drop(stderr.write_all(text.as_bytes()));
        } else {
            let mut stdout = anstream::stdout().lock();
            drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
        }
    }

    /// Something the person should know beside the answer itself: always on stderr.
    pub(crate) fn note(self, text: &str) {
        use anstyle::{AnsiColor, Style};
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        tell(&format!("{yellow}note:{yellow:#} {}", safe(text)));
    }

    /// One JSON value on its own line, only when `--json` was given.
    pub(crate) fn emit(self, value: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(value)
        {
            let mut stdout = std::io::stdout().lock();
            // As above: a reader that left needs no answer.
            drop(writeln!(stdout, "{text}"));
        }
    }
}

/// A line on stderr. When even that cannot be written there is nowhere left to say so, and the exit code counts.
pub(crate) fn tell(text: &str) {
    let mut stderr = anstream::stderr().lock();
    drop(writeln!(stderr, "{text}"));
}

/// A question on stderr, behind which the cursor waits.
pub(crate) fn ask(question: &str) {
    let mut stderr = anstream::stderr().lock();
    drop(stderr.write_all(safe(question).as_bytes()).and_then(|()| stderr.flush()));
}

/// The columns of the terminal that stdout is, or `None` when it is a file or a pipe and nothing need be shortened.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// The lines of the terminal that stdout is.
pub(crate) fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0).then(|| usize::from(size.ws_row))
}
