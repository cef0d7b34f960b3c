//! Commands as they run: what was called, its output while it comes, how it ended.

use std::fmt::Write as _;

use super::style::{BOLD, DIM, GREEN, RED};
use crate::terminal::safe;

/// Lines of a command's output that are shown; the rest is counted. A screen has about this many to spare.
const OUTPUT_LINES: usize = 20;

/// Characters of one line of output. A minified file would fill the screen.
const LINE_CHARACTERS: usize = 400;

/// The commands that run, oldest first.
#[derive(Debug, Default)]
pub(super) struct Commands {
    running: Vec<Running>,
    /// Whose output stands last on the screen.
    last: Option<String>,
}

#[derive(Debug)]
struct Running {
    item: String,
    command: String,
    is_named: bool,
    lines: usize,
    /// How much of the output has come in pieces.
    bytes: usize,
    /// The line that has not ended yet.
    partial: String,
}

impl Commands {
    /// Nothing is shown yet: most commands are done at once, and one that must be allowed is shown with the question.
    pub(super) fn begin(&mut self, item: &str, command: &str) {
        self.forget(item);
        self.running.push(Running {
            item: item.to_owned(),
            command: command.to_owned(),
            is_named: false,
            lines: 0,
            bytes: 0,
            partial: String::new(),
        });
    }

    pub(super) fn forget(&mut self, item: &str) {
        self.running.retain(|running| running.item != item);
    }

    pub(super) fn newest(&self) -> Option<&str> {
        self.running.last().map(|running| running.command.as_str())
    }

    /// Something else stands on the screen below the last output.
    pub(super) fn interrupt(&mut self) {
        self.last = None;
    }

    /// The lines that are whole now.
    pub(super) fn output(&mut self, item: &str, delta: &str) -> String {
        let is_last = self.last.as_deref() == Some(item);
        let Some(running) = self.running.iter_mut().find(|running| running.item == item) else {
            return String::new();
        };
        running.partial.push_str(delta);
        running.bytes += delta.len();
        let Some(end) = running.partial.rfind('\n') else { return String::new() };
        let rest = running.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut running.partial, rest);
        let mut out = String::new();
        for line in whole.lines() {
            if running.lines < OUTPUT_LINES {
                if !running.is_named {
                    out.push_str(&headline(&running.command));
                } else if !is_last && out.is_empty() {
                    // Another command has spoken in between.
                    out.push_str(&format!("{DIM}│ from {}{DIM:#}\n", safe(&running.command)));
                }
                running.is_named = true;
                out.push_str(&output_line(line));
            }
            running.lines += 1;
        }
        self.last = Some(item.to_owned());
        out
    }

    /// How it ended, and its output if that has not been shown yet.
    pub(super) fn end(&mut self, item: &str, command: &str, output: &str, end: &str) -> String {
        let position = self.running.iter().position(|running| running.item == item);
        let running = position.map(|position| self.running.remove(position));
        let was_last = self.last.as_deref() == Some(item);
        let mut out = String::new();
        let lines = match running {
            Some(mut running) if running.is_named => {
                let partial = std::mem::take(&mut running.partial);
                if !was_last {
                    out.push_str(&format!("{DIM}│ from {}{DIM:#}\n", safe(command)));
                }
                if !partial.is_empty() {
                    if running.lines < OUTPUT_LINES {
                        out.push_str(&output_line(&partial));
                    }
                    running.lines += 1;
                }
                out.push_str(&unheard(output, running.bytes));
                running.lines
            }
            // What was cut on the way is in the whole.
            _ => {
                let lines = output.lines().count();
                if lines == 0 {
                    return format!("{BOLD}${BOLD:#} {}  {end}\n", safe(command));
                }
                out.push_str(&headline(command));
                out.extend(output.lines().take(OUTPUT_LINES).map(output_line));
                lines
            }
        };
        if lines > OUTPUT_LINES {
            out.push_str(&format!("{DIM}│ … {} more lines{DIM:#}\n", lines - OUTPUT_LINES));
        }
        // Writing into a String cannot fail.
        let _written: std::fmt::Result = writeln!(out, "{DIM}└{DIM:#} {end}");
        out
    }
}

/// How it ended, in a word and with the time it took.
pub(super) fn end(status: &str, exit_code: Option<i64>, duration_ms: Option<u64>) -> String {
    let (mark, end) = match (status, exit_code) {
        ("completed", Some(0) | None) => (GREEN, "ok".to_owned()),
        // Codex's word for a command that was ended from outside.
        ("completed" | "failed", Some(..0)) => (RED, "killed".to_owned()),
        ("completed" | "failed", Some(code)) => (RED, format!("exit {code}")),
        (status, _) => (RED, safe(status).into_owned()),
    };
    let took = duration_ms.map(|ms| match ms {
        0..10_000 => format!(", {ms} ms"),
        _ => format!(", {} s", ms / 1000),
    });
    format!("{mark}{end}{mark:#}{DIM}{}{DIM:#}", took.unwrap_or_default())
}

/// Codex does not send what a command says before it listens, but the whole output has it (0.142.5, 0.166.0).
fn unheard(output: &str, heard_bytes: usize) -> String {
    let missing = output.len().checked_sub(heard_bytes).and_then(|end| output.get(..end));
    let missing = missing.unwrap_or_default();
    if missing.trim().is_empty() {
        return String::new();
    }
    let mut out = format!("{DIM}│ and before all that:{DIM:#}\n");
    out.extend(missing.lines().take(OUTPUT_LINES).map(output_line));
    out
}

fn headline(command: &str) -> String {
    format!("{BOLD}${BOLD:#} {}\n", safe(command))
}

/// A line as the program meant it to look: its colours are dropped, and of what it wrote over itself the last counts.
fn output_line(line: &str) -> String {
    let plain = anstream::adapter::strip_str(line.trim_end_matches('\r')).to_string();
    let plain = plain.rsplit('\r').next().unwrap_or_default();
    let cut = match plain.char_indices().nth(LINE_CHARACTERS) {
        Some((at, _)) => format!("{}…", plain.get(..at).unwrap_or_default()),
        None => plain.to_owned(),
    };
    format!("{DIM}│{DIM:#} {}\n", safe(&cut))
}
