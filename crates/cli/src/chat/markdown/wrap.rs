//! Text with styles in rows of a certain width.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// A text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// A line end in it begins a new row.
    pub(super) text: String,
    pub(super) style: Style,
}

/// The columns that a text without styles takes, character by character, as terminals count.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// No more than this many columns; what is left out shows as one.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(character);
    }
    out.push('…');
    out
}

/// Rows of at most so many columns, broken anywhere. Escape sequences take no room.
pub(crate) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let (mut used, mut in_escape) = (0, false);
    for character in text.chars() {
        let is_escape = in_escape || character == '\u{1b}';
        in_escape = is_escape && !character.is_ascii_alphabetic();
        let columns = if is_escape { 0 } else { character.width().unwrap_or(0) };
        if character == '\n' || (used + columns > width && used > 0) {
            rows.push(String::new());
            used = 0;
        }
        if character != '\n'
            && let Some(row) = rows.last_mut()
        {
            row.push(character);
            used += columns;
        }
    }
    rows
}

/// The same, broken behind a space where the row has one that is not near its beginning.
pub(crate) fn fold_words(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| folded_words(line, width)).collect()
}

fn folded_words(line: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let (mut used, mut in_escape) = (0, false);
    // The last space: the bytes and the columns before what comes behind it.
    let mut gap: Option<(usize, usize)> = None;
    for character in line.chars() {
        let is_escape = in_escape || character == '\u{1b}';
        in_escape = is_escape && !character.is_ascii_alphabetic();
        let columns = if is_escape { 0 } else { character.width().unwrap_or(0) };
        if used + columns > width && used > 0 {
            let (at, before) = gap.take().unwrap_or((row.len(), used));
            let rest = row.split_off(at);
            rows.push(std::mem::replace(&mut row, rest));
            used -= before;
        }
        row.push(character);
        used += columns;
        if character == ' ' && used > width / 4 {
            gap = Some((row.len(), used));
        }
    }
    rows.push(row);
    rows
}

/// Rows of at most so many columns, broken between words where that is possible. The first row begins with one text, all
/// others with another.
pub(super) fn wrap(pieces: &[Piece], first: &str, rest: &str, width: usize) -> Vec<String> {
    let mut rows = Rows {
        rows: Vec::new(),
        row: first.to_owned(),
        used: visible(first),
        gap: None,
        word: Vec::new(),
        rest,
        room: width.max(visible(rest) + 8),
    };
    for Piece { text, style } in pieces {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                rows.end_word();
                rows.next();
            }
            for word in words(line) {
                if word.trim().is_empty() {
                    rows.end_word();
                    rows.gap = Some((word.to_owned(), *style));
                } else {
                    // A word may have several looks, so it ends at the next space only.
                    rows.word.push((word.to_owned(), *style));
                }
            }
        }
    }
    rows.end_word();
    rows.next();
    rows.rows
}

struct Rows<'a> {
    rows: Vec<String>,
    row: String,
    used: usize,
    /// Spaces that are shown if a word follows in the same row.
    gap: Option<(String, Style)>,
    word: Vec<(String, Style)>,
    rest: &'a str,
    room: usize,
}

impl Rows<'_> {
    fn next(&mut self) {
        let row = std::mem::replace(&mut self.row, self.rest.to_owned());
        self.rows.push(row.trim_end().to_owned());
        self.used = visible(self.rest);
        self.gap = None;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let length: usize = word.iter().map(|(part, _)| columns(part)).sum();
        if let Some((gap, style)) = self.gap.take() {
            if self.used + columns(&gap) + length > self.room {
                self.next();
            } else {
                self.row.push_str(&format!("{style}{gap}{style:#}"));
                self.used += columns(&gap);
            }
        }
        for (part, style) in word {
            self.part(&part, style);
        }
    }

    /// A word that is longer than a row is broken.
    fn part(&mut self, part: &str, style: Style) {
        let mut fits = String::new();
        for character in part.chars() {
            let columns = character.width().unwrap_or(0);
            if self.used + columns > self.room {
                self.row.push_str(&format!("{style}{fits}{style:#}"));
                fits.clear();
                self.next();
            }
            fits.push(character);
            self.used += columns;
        }
        self.row.push_str(&format!("{style}{fits}{style:#}"));
    }
}

/// Words and the spaces between them.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_space = first == ' ' || first == '\t';
        let end = rest.find(|character| (character == ' ' || character == '\t') != is_space);
        let (word, tail) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = tail;
    }
    words
}

/// The columns of a text with styles.
pub(super) fn visible(text: &str) -> usize {
    columns(&anstream::adapter::strip_str(text).to_string())
}
