//! A problem with the line of the file that it is about.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use ostler_config::Problem;

use crate::terminal::safe;

/// Longer lines are cut around the place: what a person looks for is there.
const SHOWN_CHARACTERS: usize = 100;

/// What is wrong, where, the line with a mark below the place, and what to do.
pub(super) fn excerpt(place: &Path, text: &str, problem: &Problem) -> String {
    let Problem { line, column, key, message, advice } = problem;
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let blue = Style::new().fg_color(Some(AnsiColor::Blue.into()));
    let key = key.as_ref().map(|key| format!("{key} ")).unwrap_or_default();
    let (shown, before) =
        cut(text.lines().nth(line.saturating_sub(1)).unwrap_or_default(), *column);
    let margin = " ".repeat(line.to_string().len());
    let mark = " ".repeat(before);
    let place = place.display().to_string();
    let place = safe(&place);
    let mut lines = vec![
        format!("{red}error:{red:#} {}", safe(&format!("{key}{message}"))),
        format!("{margin}{blue}-->{blue:#} {place}:{line}:{column}"),
        format!("{margin} {blue}|{blue:#}"),
        format!("{blue}{line} |{blue:#} {shown}"),
        format!("{margin} {blue}|{blue:#} {mark}{red}^{red:#}"),
    ];
    lines
        .extend(advice.as_ref().map(|advice| format!("{margin} {blue}={blue:#} {}", safe(advice))));
    lines.join("\n")
}

/// The part of a line that is shown, and how many columns of it are before the place. A tab is shown as a space, and what
/// a terminal would obey is longer when it is shown.
fn cut(line: &str, column: usize) -> (String, usize) {
    let line: Vec<char> =
        line.chars().map(|character| if character == '\t' { ' ' } else { character }).collect();
    let place = column.saturating_sub(1).min(line.len());
    let start =
        if line.len() <= SHOWN_CHARACTERS { 0 } else { place.saturating_sub(SHOWN_CHARACTERS / 2) };
    let before: String = line.iter().skip(start).take(place - start).collect();
    let shown: String = line.iter().skip(start).take(SHOWN_CHARACTERS).collect();
    (safe(&shown).into_owned(), safe(&before).chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_below_the_place() {
        assert_eq!(cut("a = 'x'", 5), ("a = 'x'".to_owned(), 4));
        assert_eq!(cut("\ta = ä", 6), (" a = ä".to_owned(), 5));
        assert_eq!(cut("\u{1b}a = 1", 6), ("\\u{1b}a = 1".to_owned(), 10));
        assert_eq!(cut("", 1), (String::new(), 0));
        assert_eq!(cut("a", 9), ("a".to_owned(), 1));
        let long = format!("a = '{}' x", "y".repeat(300));
        let (shown, before) = cut(&long, 308);
        assert_eq!((shown.chars().count(), before), (51, 50));
        assert!(shown.ends_with("' x"));
    }
}
