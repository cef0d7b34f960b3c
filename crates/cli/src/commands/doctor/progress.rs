//! What is still being looked at, on a terminal only.

use std::cell::RefCell;
use std::io::IsTerminal;

use indicatif::ProgressBar;

use super::check::Name;
use crate::terminal::Output;
use crate::terminal::moving_line::{moving_line, style};

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
            let bar = moving_line();
            bar.set_style(style("{spinner} {wide_msg}"));
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
