//! What is still being looked at, on a terminal only.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::check::Name;
use crate::terminal::Output;

/// Fast enough for the spinner to look alive.
const TICK: Duration = Duration::from_millis(120);

/// As many of the longest names as fit a line of 80 columns.
const NAMED: usize = 4;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    open: RefCell<Vec<Name>>,
}

impl Progress {
    pub(super) fn new(output: Output) -> Self {
        let shown = !output.is_json() && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = ProgressBar::no_length();
            // The template is a constant; were it wrong, the default style would be shown.
            bar.set_style(
                ProgressStyle::with_template("{spinner} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { bar, open: RefCell::new(Name::ALL.to_vec()) }
    }

    pub(super) fn done(&self, name: Name) {
        let mut open = self.open.borrow_mut();
        open.retain(|open| *open != name);
        if let Some(bar) = &self.bar {
            let words: Vec<&str> = open.iter().take(NAMED).map(|name| name.word()).collect();
            let more = match open.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            bar.set_message(format!("looking at {}{more}", words.join(", ")));
        }
    }
}

/// Also when the doctor is interrupted, nothing half drawn stays on the screen.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
