//! The one table that turns errors into what a person reads and the exit code a script reads.

mod codex;
mod daemon;
mod keeper;
mod thread;

use std::process::ExitCode;

use serde_json::json;

use crate::terminal::{Output, safe, tell};

/// Why a command ended without doing its job. `docs/exit-codes.md` lists all codes, also those of commands to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    WaitingOnPerson = 4,
    LimitReached = 5,
    DaemonUnreachable = 6,
    Interrupted = 7,
    TryAgainLater = 75,
    TimedOut = 124,
    CtrlC = 130,
}

/// An error at the door: the exit code, what happened, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Tells the person on stderr, a program that asked for JSON on stdout, and gives the exit code.
    pub(crate) fn report(&self, output: Output) -> ExitCode {
        use anstyle::{AnsiColor, Style};
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        tell(&format!("{red}error:{red:#} {}", safe(&self.message)));
        if let Some(hint) = &self.hint {
            tell(&format!("  {}", safe(hint)));
        }
        let Self { exit, message, hint } = self;
        let exit = *exit as u8;
        output.emit(&json!({ "error": { "exit": exit, "message": message, "hint": hint } }));
        ExitCode::from(exit)
    }
}
