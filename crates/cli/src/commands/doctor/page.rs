//! The report as a person reads it: aligned, and never wider than the terminal.

use anstyle::{AnsiColor, Style};

use super::check::{Check, Report, State};
use crate::terminal::safe;

/// A mark, a space, the longest name, two spaces.
const INDENT: usize = 2 + NAME_WIDTH + 2;
const NAME_WIDTH: usize = 14;

/// What a pipe or a file gets: the usual width of a terminal.
const USUAL_WIDTH: usize = 80;

/// Narrower than this the words would stand one below the other; wider, lines are hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=100;

const ARROW: &str = "→ ";

/// The whole page, without its last line end.
pub(super) fn lay_out(report: &Report, width: Option<usize>) -> String {
    let width = width.unwrap_or(USUAL_WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
    let mut lines: Vec<String> =
        report.checks.iter().flat_map(|check| check_lines(check, width)).collect();
    lines.push(String::new());
    lines.push(summary(report));
    lines.join("\n")
}

/// `1 problem`, `2 problems`.
pub(super) fn count(number: usize, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {word}{ending}")
}

fn summary(report: &Report) -> String {
    let Report { ok, warnings, problems, .. } = report;
    let (warnings, problems) = (count(*warnings, "warning"), count(*problems, "problem"));
    format!("{ok} ok, {warnings}, {problems}")
}

fn check_lines(check: &Check, width: usize) -> Vec<String> {
    let (mark, colour) = match check.state {
        State::Ok => ("✓", AnsiColor::Green),
        State::Warning => ("!", AnsiColor::Yellow),
        State::Problem => ("✗", AnsiColor::Red),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let room = width - INDENT;
    let mut lines = Vec::new();
    for (index, text) in wrap(&safe(&check.found), room).into_iter().enumerate() {
        lines.push(match index {
            0 => format!("{style}{mark}{style:#} {:<NAME_WIDTH$}  {text}", check.name),
            _ => format!("{:INDENT$}{text}", ""),
        });
    }
    let advice = safe(check.advice.as_deref().unwrap_or_default());
    for (index, text) in wrap(&advice, room - ARROW.chars().count()).into_iter().enumerate() {
        let lead = if index == 0 { ARROW } else { "  " };
        lines.push(format!("{:INDENT$}{lead}{text}", ""));
    }
    lines
}

/// Breaks between words; a word that is longer than a line, such as a path, is cut.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let taken = line.chars().count();
        if taken > 0 && taken + 1 + word.chars().count() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            if line.chars().count() == room {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::check::Name;
    use super::*;

    fn plain(report: &Report, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&lay_out(report, width)).to_string()
    }

    #[test]
    fn advice_stands_below_what_was_found() {
        let report = Report::new(vec![
            Check::ok(Name::Codex, "0.166.0"),
            Check::warning(Name::Npm, "there is no npm").advise("install it"),
            Check::problem(Name::RuntimeFolder, "can be entered by others").advise("run `chmod`"),
        ]);
        assert_eq!(
            plain(&report, None),
            "✓ codex           0.166.0\n\
             ✗ runtime-folder  can be entered by others\n                  → run `chmod`\n\
             ! npm             there is no npm\n                  → install it\n\
             \n1 ok, 1 warning, 1 problem"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = format!("many words before /{} and after", "folder/".repeat(30));
        let check = Check::problem(Name::Sandbox, &long).advise(&long);
        let report = Report::new(vec![check]);
        for (width, widest) in [(None, 80), (Some(60), 60), (Some(10), 40), (Some(300), 100)] {
            let text = plain(&report, width);
            let length = text.lines().map(|line| line.chars().count()).max();
            assert_eq!(length, Some(widest), "{text}");
        }
    }

    #[test]
    fn every_name_fits_its_column() {
        let longest = Name::ALL.iter().map(|name| name.word().len()).max();
        assert_eq!(longest, Some(NAME_WIDTH));
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("ab cde f", 4), ["ab", "cde", "f"]);
        assert_eq!(wrap("ab  cdefgh\n i", 4), ["ab", "cdef", "gh i"]);
        assert_eq!(wrap("", 4), [""; 0]);
    }
}
