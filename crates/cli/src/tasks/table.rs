//! Tables that fit the terminal: the last column gets what is left, and is cut there.

use anstyle::Style;

use crate::chat::markdown::columns;
pub(crate) use crate::chat::markdown::cut;
use crate::terminal::{safe, width};

/// A text and how it looks.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    pub(crate) fn dim(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new().dimmed())
    }

    /// Whatever a terminal would obey in it is made visible.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: safe(&text.into()).replace(['\n', '\t'], " "), style }
    }
}

/// Rows below a head, each column as wide as its widest cell. Without a terminal nothing is cut.
pub(crate) fn table(head: &[&str], rows: &[Vec<Cell>]) -> String {
    layout(head, rows, width())
}

fn layout(head: &[&str], rows: &[Vec<Cell>], room: Option<usize>) -> String {
    let bold = Style::new().bold();
    let head: Vec<Cell> = head.iter().map(|name| Cell::styled(*name, bold)).collect();
    let all = || std::iter::once(&head).chain(rows);
    let widths: Vec<usize> = (0..head.len())
        .map(|at| all().filter_map(|row| row.get(at)).map(|cell| columns(&cell.text)).max())
        .map(Option::unwrap_or_default)
        .collect();
    let lines = all().map(|row| line(row, &widths, room));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(row: &[Cell], widths: &[usize], room: Option<usize>) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        let is_last = at + 1 == row.len();
        let shown = match (is_last, room) {
            (true, Some(room)) => cut(&cell.text, room.saturating_sub(used)),
            _ => cell.text.clone(),
        };
        let style = cell.style;
        text.push_str(&format!("{style}{shown}{style:#}"));
        if !is_last {
            let gap = width.saturating_sub(columns(&shown)) + 2;
            text.push_str(&" ".repeat(gap));
            used += width + 2;
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_room() {
        let rows = [
            vec![Cell::plain("a1"), Cell::plain("working"), Cell::plain("tidy the notes of May")],
            vec![Cell::plain("b22"), Cell::plain("failed"), Cell::plain("x\ny\u{1b}[31m")],
        ];
        let plain = |room| {
            let text = layout(&["ID", "STATE", "TITLE"], &rows, room);
            anstream::adapter::strip_str(&text).to_string()
        };
        assert_eq!(
            plain(Some(24)),
            "ID   STATE    TITLE\na1   working  tidy the …\nb22  failed   x y\\u{1b}…"
        );
        let wide = [
            vec![Cell::plain("c"), Cell::plain("失败"), Cell::plain("片付けて 🐎 ください")],
            vec![Cell::plain("d"), Cell::plain("ok"), Cell::plain("x")],
        ];
        let text = layout(&["ID", "STATE", "TITLE"], &wide, Some(24));
        assert_eq!(
            anstream::adapter::strip_str(&text).to_string(),
            "ID  STATE  TITLE\nc   失败   片付けて 🐎 …\nd   ok     x"
        );
        assert_eq!(plain(None).lines().nth(1), Some("a1   working  tidy the notes of May"));
    }
}
