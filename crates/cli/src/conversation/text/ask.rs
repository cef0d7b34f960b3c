//! A question, as a block that stands out from the rest.

use std::fmt::Write as _;

use super::super::diff;
use super::super::shown::AskShown;
use super::Writer;
use super::style::{BOLD, DIM, YELLOW};
use crate::chat::markdown::columns;
use crate::terminal::safe;

/// Lines of a command or of another text that are shown before the person asks for the rest. With the diff below it,
/// the question stays on one screen.
const LINES: usize = 10;

/// A line of this length fills four lines of a terminal.
const LINE_CHARACTERS: usize = 320;

/// How much of a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What fits on a screen.
    Cut,
    Whole,
}

impl Writer {
    pub(super) fn write_ask(
        &self,
        out: &mut String,
        ask: &AskShown,
        extent: Extent,
    ) -> std::fmt::Result {
        if extent == Extent::Cut {
            writeln!(out)?;
        }
        writeln!(out, "{YELLOW}▌{YELLOW:#} {BOLD}{}{BOLD:#}", safe(&ask.what))?;
        let known = [("run", &ask.command), ("in", &ask.cwd), ("why", &ask.reason)];
        let known = known.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        let more = ask.details.iter().map(|detail| (detail.name.as_str(), &detail.text));
        for (name, text) in known.chain(more) {
            field(out, name, text, extent)?;
        }
        let lines = if extent == Extent::Whole { usize::MAX } else { diff::LINES_IN_ASK };
        ask.files.iter().try_for_each(|file| self.file(out, file, lines))
    }
}

/// Whether something of the question is left out when it is cut.
pub(crate) fn is_cut(ask: &AskShown) -> bool {
    let texts = ask.command.iter().chain(&ask.reason);
    let mut texts = texts.chain(ask.details.iter().map(|detail| &detail.text));
    texts.any(|text| {
        text.lines().count() > LINES
            || text.lines().any(|line| line.chars().count() > LINE_CHARACTERS)
    }) || ask.files.iter().any(|file| file.diff.lines().count() > diff::LINES_IN_ASK)
}

fn field(out: &mut String, name: &str, text: &str, extent: Extent) -> std::fmt::Result {
    let name = safe(name);
    let width = 5_usize.max(columns(&name));
    let count = text.lines().count();
    for (number, line) in text.lines().enumerate() {
        if extent == Extent::Cut && number == LINES {
            let more = count - LINES;
            return writeln!(
                out,
                "{YELLOW}▌{YELLOW:#} {DIM}{:width$} … {more} more lines{DIM:#}",
                ""
            );
        }
        let head = if number == 0 { &name } else { "" };
        let cut = line.char_indices().nth(LINE_CHARACTERS).filter(|_| extent == Extent::Cut);
        let line = match cut {
            Some((at, _)) => {
                let rest = line.chars().count() - LINE_CHARACTERS;
                let line = safe(line.get(..at).unwrap_or_default()).into_owned();
                format!("{line}{DIM}… {rest} more characters{DIM:#}")
            }
            None => safe(line).into_owned(),
        };
        writeln!(out, "{YELLOW}▌{YELLOW:#} {DIM}{head:<width$}{DIM:#} {line}")?;
    }
    Ok(())
}
