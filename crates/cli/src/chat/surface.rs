//! The terminal: what is finished scrolls away above, and below it stands what still changes, with the line that is typed.
//!
//! Every row below is made to fit, so that it is known how many there are and where the cursor goes.

use std::io::Write;

use anstyle::{AnsiColor, Style};

use super::markdown::{columns, cut, fold, fold_words};

const PROMPT: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const DIM: Style = Style::new().dimmed();

/// Rows of a typed text that are shown; of more, those around the cursor.
const INPUT_ROWS: usize = 8;

/// What stands below.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Rows that still change. They fit.
    pub(crate) live: Vec<String>,
    /// Without styles; cut where it does not fit.
    pub(crate) status: String,
    /// What is asked, with styles, in place of the usual sign before the text.
    pub(crate) question: Option<String>,
    pub(crate) text: String,
    /// The byte before which the cursor stands.
    pub(crate) cursor: usize,
    pub(crate) is_secret: bool,
    pub(crate) hint: Option<String>,
}

/// The size of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

pub(crate) struct Surface<W> {
    out: W,
    has_colour: bool,
    /// Rows from the first of the frame to the cursor.
    above_cursor: Option<usize>,
    last: String,
}

impl<W: Write> Surface<W> {
    pub(crate) fn new(out: W, has_colour: bool) -> Self {
        Self { out, has_colour, above_cursor: None, last: String::new() }
    }

    /// Writes whole lines above the frame, and the frame anew.
    pub(crate) fn show(&mut self, lines: &[String], frame: &Frame, size: Size) {
        let (rows, row, column) = lay_out(frame, size);
        let text = rows.join("\n");
        let place = format!("{text}\u{0}{row}\u{0}{column}");
        if lines.is_empty() && self.above_cursor.is_some() && place == self.last {
            return;
        }
        self.last = place;
        // Drawn in one go by terminals that can.
        let mut bytes = String::from("\u{1b}[?2026h");
        bytes.push_str(&self.erasing());
        for line in lines {
            bytes.push_str(&self.coloured(line));
            bytes.push('\n');
        }
        bytes.push_str(&self.coloured(&text));
        let up = rows.len().saturating_sub(row + 1);
        bytes.push_str(&go(up, 'A'));
        bytes.push('\r');
        bytes.push_str(&go(column, 'C'));
        bytes.push_str("\u{1b}[?2026l");
        self.above_cursor = Some(row);
        self.write(&bytes);
    }

    /// Takes the frame away: what comes next is written as always.
    pub(crate) fn leave(&mut self, lines: &[String]) {
        let mut bytes = self.erasing();
        for line in lines {
            bytes.push_str(&self.coloured(line));
            bytes.push('\n');
        }
        self.above_cursor = None;
        self.write(&bytes);
    }

    pub(crate) fn clear_screen(&mut self) {
        self.above_cursor = None;
        self.write("\u{1b}[2J\u{1b}[H");
    }

    fn erasing(&self) -> String {
        self.above_cursor.map_or_else(String::new, |rows| format!("{}\r\u{1b}[J", go(rows, 'A')))
    }

    fn coloured(&self, text: &str) -> String {
        match self.has_colour {
            true => text.to_owned(),
            false => anstream::adapter::strip_str(text).to_string(),
        }
    }

    fn write(&mut self, text: &str) {
        // A terminal that is gone needs no answer; its hangup ends us.
        drop(self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()));
    }
}

/// Zero would mean one.
fn go(count: usize, direction: char) -> String {
    if count == 0 { String::new() } else { format!("\u{1b}[{count}{direction}") }
}

/// The rows, and where the cursor stands in them.
fn lay_out(frame: &Frame, size: Size) -> (Vec<String>, usize, usize) {
    // The last column is left free: many terminals wrap there in their own way.
    let width = size.columns.saturating_sub(1).max(8);
    let mut below: Vec<String> = Vec::new();
    let (first, rest) = match &frame.question {
        Some(question) => {
            let mut rows = fold_words(question, width);
            let last = rows.pop().unwrap_or_default();
            below.extend(rows);
            (last, String::new())
        }
        None => {
            below.push(String::new());
            (format!("{PROMPT}›{PROMPT:#} "), "  ".to_owned())
        }
    };
    let shown = if frame.is_secret { String::new() } else { visible_text(&frame.text) };
    let head = match frame.is_secret {
        true => String::new(),
        false => visible_text(frame.text.get(..frame.cursor).unwrap_or_default()),
    };
    let indent = columns(&anstream::adapter::strip_str(&first).to_string());
    // The room of a question is used by its text, too; below it the text begins at the left.
    let (rows, row, column) = input(&shown, &head, indent, columns(&rest), width);
    // Beside the empty row, the hint and the status there must be room in a low terminal, too.
    let most = INPUT_ROWS.min(size.rows.saturating_sub(5)).max(1);
    let from = row.saturating_sub(most - 1);
    for (number, text) in rows.iter().enumerate().skip(from).take(most) {
        let before = if number == 0 { &first } else { &rest };
        below.push(format!("{before}{text}"));
    }
    let shown_rows = rows.len().saturating_sub(from).min(most);
    let cursor_row = below.len() - shown_rows + (row - from);
    if let Some(hint) = &frame.hint {
        below.push(format!("{DIM}{}{DIM:#}", cut(hint, width)));
    }
    if !frame.status.is_empty() {
        below.push(format!("{DIM}{}{DIM:#}", cut(&frame.status, width)));
    }
    let room = size.rows.saturating_sub(below.len() + 1);
    let skip = frame.live.len().saturating_sub(room);
    let mut all: Vec<String> = frame.live.iter().skip(skip).cloned().collect();
    let cursor_row = cursor_row + all.len();
    all.extend(below);
    (all, cursor_row, column)
}

/// The rows of a typed text, and the row and column of the cursor behind its head.
fn input(
    text: &str,
    head: &str,
    indent: usize,
    rest: usize,
    width: usize,
) -> (Vec<String>, usize, usize) {
    let broken = |text: &str| {
        let mut rows: Vec<String> = Vec::new();
        for (number, line) in text.split('\n').enumerate() {
            let room = width.saturating_sub(if number == 0 { indent } else { rest }).max(4);
            rows.extend(fold(line, room));
        }
        rows
    };
    let rows = broken(text);
    let before = broken(head);
    let row = before.len().saturating_sub(1);
    let column =
        before.last().map_or(0, |last| columns(last)) + if row == 0 { indent } else { rest };
    (rows, row, column)
}

/// Tabs have no width of their own, and what a terminal obeys may have been pasted.
fn visible_text(text: &str) -> String {
    crate::terminal::safe(&text.replace('\t', "    ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { columns: 20, rows: 10 };

    fn frame(text: &str, cursor: usize) -> Frame {
        Frame { status: "auto · m".to_owned(), text: text.to_owned(), cursor, ..Frame::default() }
    }

    fn plain(frame: &Frame) -> (String, usize, usize) {
        let (rows, row, column) = lay_out(frame, SIZE);
        (anstream::adapter::strip_str(&rows.join("\n")).to_string(), row, column)
    }

    #[test]
    fn the_cursor_stands_where_the_text_is() {
        assert_eq!(plain(&frame("abc", 1)), ("\n› abc\nauto · m".to_owned(), 1, 3));
        assert_eq!(plain(&frame("a\nbc", 3)), ("\n› a\n  bc\nauto · m".to_owned(), 2, 3));
        let long = "x".repeat(20);
        let rows = format!("\n› {}\n  xxx\nauto · m", "x".repeat(17));
        assert_eq!(plain(&frame(&long, 20)), (rows, 2, 5));
        let asked = Frame { question: Some("▌ why?\n▌ say › ".to_owned()), ..frame("no", 2) };
        assert_eq!(plain(&asked), ("▌ why?\n▌ say › no\nauto · m".to_owned(), 1, 10));
        let secret = Frame { is_secret: true, ..asked };
        assert_eq!(plain(&secret), ("▌ why?\n▌ say › \nauto · m".to_owned(), 1, 8));
    }

    #[test]
    fn a_question_is_broken_between_words_where_it_has_some() {
        let rows = |question: &str| {
            let asked = Frame { question: Some(question.to_owned()), ..frame("", 0) };
            plain(&asked).0.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            rows("▌ until you change the rules › "),
            ["▌ until you change ", "the rules › ", "auto · m"]
        );
        let word = "x".repeat(18);
        assert_eq!(rows(&format!("▌ {word}")), ["▌ xxxxxxxxxxxxxxxxx", "x", "auto · m"]);
        let coloured = format!("▌ \u{1b}[1m{}\u{1b}[0m end", "y".repeat(12));
        assert_eq!(rows(&coloured), ["▌ yyyyyyyyyyyy end", "auto · m"]);
    }

    #[test]
    fn no_frame_is_higher_than_the_terminal() {
        let live = (0..30).map(|number| number.to_string()).collect();
        let (text, ..) = plain(&Frame { live, ..frame(&"line\n".repeat(30), 0) });
        assert!(text.lines().count() < SIZE.rows, "{text}");
    }

    #[test]
    fn what_is_finished_stays_and_the_frame_is_drawn_below() {
        let mut bytes = Vec::new();
        let mut surface = Surface::new(&mut bytes, false);
        surface.show(&[], &frame("", 0), SIZE);
        surface.show(&["done".to_owned()], &frame("", 0), SIZE);
        // The same again writes nothing.
        surface.show(&[], &frame("", 0), SIZE);
        surface.leave(&["bye".to_owned()]);
        let text = String::from_utf8(bytes).unwrap();
        let drawn = "\n› \nauto · m\u{1b}[1A\r\u{1b}[2C\u{1b}[?2026l";
        let again = "\u{1b}[1A\r\u{1b}[J";
        assert_eq!(
            text,
            format!("\u{1b}[?2026h{drawn}\u{1b}[?2026h{again}done\n{drawn}{again}bye\n")
        );
    }
}
