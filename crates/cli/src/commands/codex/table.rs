//! A small table: columns as wide as their widest cell, the last one cut to what the terminal leaves.

use crate::chat::markdown::columns;

/// Lines of aligned columns. Without a width nothing is cut.
pub(super) fn lay_out(rows: &[[String; 5]], width: Option<usize>) -> Vec<String> {
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..4).map(widest).collect();
    rows.iter()
        .map(|row| {
            let [cells @ .., last] = row;
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let gap = " ".repeat(width.saturating_sub(columns(cell)) + 2);
                line.push_str(cell);
                line.push_str(&gap);
            }
            let left = width.map(|width| width.saturating_sub(columns(&line)));
            line.push_str(&left.map_or_else(|| last.clone(), |left| keep_end(last, left)));
            line.trim_end().to_owned()
        })
        .collect()
}

/// The end of a path says more than its beginning.
fn keep_end(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length + 1 - width.max(1)).collect();
    format!("…{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_cut_to_fit() {
        let row = |cells: [&str; 5]| cells.map(str::to_owned);
        let rows = [
            row(["", "VERSION", "FROM", "SIZE", "WHERE"]),
            row(["*", "0.130.0", "installed", "225 MB", "/long/way/to/0.130.0"]),
        ];
        assert_eq!(
            lay_out(&rows, None),
            [
                "   VERSION  FROM       SIZE    WHERE",
                "*  0.130.0  installed  225 MB  /long/way/to/0.130.0",
            ]
        );
        assert_eq!(
            lay_out(&rows, Some(45)).pop().as_deref(),
            Some("*  0.130.0  installed  225 MB  …ay/to/0.130.0")
        );
    }
}
