//! Tables: side by side where they fit, one row below the other where they do not.

use anstyle::Style;
use pulldown_cmark::Alignment;

use super::wrap::{Piece, visible, wrap};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first is the head.
    pub(super) rows: Vec<Vec<Vec<Piece>>>,
}

impl Table {
    pub(super) fn rows(&self, prefix: &str, width: usize) -> Vec<String> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let texts: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| line(cell)).collect()).collect();
        let widths: Vec<usize> = (0..count)
            .map(|at| texts.iter().filter_map(|row| row.get(at)).map(|cell| visible(cell)).max())
            .map(Option::unwrap_or_default)
            .collect();
        let all = widths.iter().sum::<usize>() + 3 * count.saturating_sub(1);
        match visible(prefix) + all <= width {
            true => self.beside(&texts, &widths, prefix),
            false => self.below(prefix, width),
        }
    }

    fn beside(&self, texts: &[Vec<String>], widths: &[usize], prefix: &str) -> Vec<String> {
        let mut rows = Vec::new();
        for (number, row) in texts.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(at, width)| {
                let text = row.get(at).map(String::as_str).unwrap_or_default();
                let gap = width.saturating_sub(visible(text));
                let (before, behind) = match self.alignments.get(at) {
                    Some(Alignment::Right) => (gap, 0),
                    Some(Alignment::Center) => (gap / 2, gap - gap / 2),
                    _ => (0, gap),
                };
                format!("{:before$}{text}{:behind$}", "", "")
            });
            let bar = format!(" {DIM}│{DIM:#} ");
            rows.push(
                format!("{prefix}{}", cells.collect::<Vec<_>>().join(&bar)).trim_end().to_owned(),
            );
            if number == 0 {
                let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                rows.push(format!("{prefix}{DIM}{}{DIM:#}", lines.join("─┼─")));
            }
        }
        rows
    }

    /// Each row as a list of its cells, by the names of their columns.
    fn below(&self, prefix: &str, width: usize) -> Vec<String> {
        let (head, body) = match self.rows.split_first() {
            Some((head, body)) => (head.as_slice(), body),
            None => return Vec::new(),
        };
        let mut rows = Vec::new();
        for (number, row) in body.iter().enumerate() {
            if number > 0 {
                rows.push(format!("{prefix}{DIM}──{DIM:#}"));
            }
            for (at, cell) in row.iter().enumerate() {
                let mut pieces = head.get(at).cloned().unwrap_or_default();
                pieces.push(Piece { text: ": ".to_owned(), style: BOLD });
                pieces.extend(cell.iter().cloned());
                rows.extend(wrap(&pieces, prefix, &format!("{prefix}  "), width));
            }
        }
        rows
    }
}

fn line(cell: &[Piece]) -> String {
    let pieces = cell
        .iter()
        .map(|Piece { text, style }| format!("{style}{}{style:#}", text.replace('\n', " ")));
    pieces.collect()
}
