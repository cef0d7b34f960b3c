//! The report as a person reads it: aligned, and never wider than the terminal.

use anstyle::{AnsiColor, Style};

use super::check::{Check, Fix, Report, State};
use crate::chat::markdown::columns;
use crate::terminal::{self, safe};

/// A mark, a space, the longest name, two spaces.
const INDENT: usize = 2 + NAME_WIDTH + 2;
const NAME_WIDTH: usize = 14;

/// `fixed`, two spaces.
const FIX_INDENT: usize = 7;

/// What a pipe or a file gets: the usual width of a terminal.
const USUAL_WIDTH: usize = 80;

/// Narrower than this the words would stand one below the other; wider, lines are hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=100;

const ARROW: &str = "→ ";
const POINT: &str = "· ";

/// The whole page, without its last line end.
pub(super) fn lay_out(report: &Report, width: Option<usize>) -> String {
    let width = width.unwrap_or(USUAL_WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
    let mut lines: Vec<String> =
        report.fixes.iter().flat_map(|fix| fix_lines(fix, width)).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(report.checks.iter().flat_map(|check| check_lines(check, width)));
    lines.push(String::new());
    lines.push(summary(report));
    lines.join("\n")
}

/// A text of its own, as wide as the terminal lets it be.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    let width = terminal::width().unwrap_or(USUAL_WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
    wrap(&safe(text), width)
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
    for detail in &check.details {
        lines.extend(led(POINT, detail, room));
    }
    lines.extend(led(ARROW, check.advice.as_deref().unwrap_or_default(), room));
    lines
}

/// Below what was found, behind a sign of its own.
fn led<'a>(lead: &'a str, text: &str, room: usize) -> impl Iterator<Item = String> + 'a {
    let lines = wrap(&safe(text), room - lead.chars().count()).into_iter().enumerate();
    lines.map(move |(index, text)| {
        let lead = if index == 0 { lead } else { "  " };
        format!("{:INDENT$}{lead}{text}", "")
    })
}

fn fix_lines(fix: &Fix, width: usize) -> Vec<String> {
    let (word, colour, text) = match &fix.left {
        None => ("fixed", AnsiColor::Green, fix.what.clone()),
        Some(why) => ("left", AnsiColor::Yellow, format!("{}: {why}", fix.what)),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let lines = wrap(&safe(&text), width - FIX_INDENT).into_iter().enumerate();
    lines
        .map(|(index, text)| match index {
            0 => format!("{style}{word:<6}{style:#} {text}"),
            _ => format!("{:FIX_INDENT$}{text}", ""),
        })
        .collect()
}

/// Breaks between words; a word that is longer than a line, such as a path, is cut.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let taken = columns(&line);
        if taken > 0 && taken + 1 + columns(word) > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            if columns(&line) + columns(character.encode_utf8(&mut [0; 4])) > room {
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
        let checks = vec![
            Check::ok(Name::Codex, "0.166.0"),
            Check::warning(Name::Npm, "there is no npm").advise("install it"),
            Check::problem(Name::RuntimeFolder, "can be entered by others").advise("run `chmod`"),
            Check::ok(Name::McpServers, "1 starts").with_details(vec!["tiny: 3 tools".to_owned()]),
        ];
        let fixes = vec![
            Fix { what: "removed ~/old".to_owned(), left: None },
            Fix { what: "keeper 1".to_owned(), left: Some("a daemon runs".to_owned()) },
        ];
        let report = Report::new(checks, fixes);
        assert_eq!(
            plain(&report, None),
            "fixed  removed ~/old\nleft   keeper 1: a daemon runs\n\n\
             ✓ codex           0.166.0\n\
             ✓ mcp-servers     1 starts\n                  · tiny: 3 tools\n\
             ✗ runtime-folder  can be entered by others\n                  → run `chmod`\n\
             ! npm             there is no npm\n                  → install it\n\
             \n2 ok, 1 warning, 1 problem"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = format!("many words before /{} and after", "folder/".repeat(30));
        let details = vec![long.clone()];
        let check = Check::problem(Name::Sandbox, &long).with_details(details).advise(&long);
        let fix = Fix { what: long.clone(), left: Some(long) };
        let report = Report::new(vec![check], vec![fix]);
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
