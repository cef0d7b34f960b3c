//! Shows an install at work: a moving bar on a terminal, one line for each phase elsewhere, nothing beside JSON.

use std::io::IsTerminal;

use indicatif::ProgressBar;
use ostler_codex::binary::{InstallPhase, InstallProgress};

use crate::terminal::moving_line::{moving_line, style};
use crate::terminal::{self, Output};

const BAR: &str = "{spinner} {msg} [{wide_bar}] {decimal_bytes}/{decimal_total_bytes} {percent}%";
const COUNTER: &str = "{spinner} {msg} {decimal_bytes} unpacked, {elapsed}";
const SPINNER: &str = "{spinner} {wide_msg}";

pub(crate) enum Progress {
    Bar { bar: ProgressBar, shown: &'static str },
    Lines { last: Option<InstallPhase> },
    Silent,
}

impl Progress {
    pub(crate) fn new(output: Output) -> Self {
        if output.is_json() {
            return Self::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { last: None };
        }
        Self::Bar { bar: moving_line(), shown: "" }
    }

    pub(crate) fn show(&mut self, progress: &InstallProgress) {
        match self {
            Self::Bar { bar, shown } => {
                let wanted = match (progress.phase, progress.expected_bytes) {
                    (InstallPhase::Fetching, Some(_)) => BAR,
                    (InstallPhase::Fetching, None) => COUNTER,
                    _ => SPINNER,
                };
                if *shown != wanted {
                    bar.set_style(style(wanted));
                    *shown = wanted;
                }
                if let Some(expected) = progress.expected_bytes {
                    // Both packages together are a little larger than the one whose size is known.
                    bar.set_length(expected.max(progress.unpacked_bytes));
                }
                bar.set_message(describe(progress));
                bar.set_position(progress.unpacked_bytes);
            }
            Self::Lines { last } => {
                if *last != Some(progress.phase) {
                    terminal::tell(&describe(progress));
                    *last = Some(progress.phase);
                }
            }
            Self::Silent => {}
        }
    }
}

/// Also when the install is interrupted, nothing half drawn stays on the screen.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Self::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

fn describe(progress: &InstallProgress) -> String {
    let version = progress.version.as_ref().map_or_else(String::new, ToString::to_string);
    match progress.phase {
        InstallPhase::Asking => "asking the npm registry for the newest Codex".to_owned(),
        InstallPhase::Waiting => format!("waiting for another install of Codex {version}"),
        InstallPhase::Fetching => format!("fetching Codex {version}"),
        InstallPhase::Verifying => format!("checking Codex {version}"),
    }
}
