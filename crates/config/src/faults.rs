//! What is wrong with somebody else's TOML, whatever it is for: text that is none, and names that stand there twice.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::problem::Problem;

/// All faults, one for a line, in the order of the file. A key or table that is there twice is told with both places.
#[must_use]
pub fn toml_faults(text: &str) -> Vec<Problem> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut names = Vec::new();
    collect(root.get_ref(), &mut names);
    let mut faults: Vec<(usize, Problem)> = Vec::new();
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let problem = if error.message().contains("duplicate key") {
            twice(text, span.clone(), &names)
        } else {
            Problem::at(text, span.start, error.message())
        };
        faults.push((span.start, problem));
    }
    faults.sort_by_key(|(offset, _)| *offset);
    // What follows a fault in its own line is mostly a consequence of it.
    faults.dedup_by_key(|(_, problem)| problem.line);
    faults.into_iter().map(|(_, problem)| problem).collect()
}

fn twice(text: &str, span: Range<usize>, names: &[(String, usize)]) -> Problem {
    let written = text.get(span.clone()).unwrap_or_default();
    let name = written.trim_matches(['"', '\'']);
    let here = header_of(text, span.start);
    let is_first = |(known, offset): &&(String, usize)| {
        known == name && *offset < span.start && header_of(text, *offset) == here
    };
    let (what, first) = if is_header(line_at(text, span.start)) {
        // The reader keeps the place of the second one only.
        ("the table", text.lines().position(|line| is_header(line) && header(line) == here))
    } else {
        let key = names.iter().find(is_first);
        ("the key", key.map(|(_, offset)| Problem::at(text, *offset, "").line - 1))
    };
    let first = first.map(|index| index + 1);
    let message = match first {
        Some(first) => format!("{what} `{name}` is there twice; the first is in line {first}"),
        None => format!("{what} `{name}` is there twice"),
    };
    Problem::at(text, span.start, message).advise("keep one of them")
}

/// Every name with its place.
fn collect(table: &DeTable<'_>, names: &mut Vec<(String, usize)>) {
    for (key, value) in table {
        names.push((key.get_ref().to_string(), key.span().start));
        walk(value.get_ref(), names);
    }
}

fn walk(value: &DeValue<'_>, names: &mut Vec<(String, usize)>) {
    match value {
        DeValue::Table(table) => collect(table, names),
        DeValue::Array(elements) => {
            elements.iter().for_each(|element| walk(element.get_ref(), names));
        }
        _ => {}
    }
}

/// The header that a place stands in or below, as it is written.
fn header_of(text: &str, offset: usize) -> Option<&str> {
    let end = offset + line_at(text, offset).len();
    let above = text.get(..end.min(text.len())).unwrap_or(text);
    above.lines().rev().find(|line| is_header(line)).and_then(header)
}

/// Without what is said about it.
fn header(line: &str) -> Option<&str> {
    line.split('#').next().map(str::trim)
}

fn is_header(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

/// The line that holds a place.
fn line_at(text: &str, offset: usize) -> &str {
    let start = text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::toml_faults;

    fn faults(text: &str) -> Vec<String> {
        toml_faults(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_there_twice_is_named_with_both_places() {
        assert_eq!(
            faults("model = \"a\"\n[x]\nmodel = 1\n[y]\nmodel = 2\nother = 3\n\"model\" = 4\n"),
            ["line 7: the key `model` is there twice; the first is in line 5; keep one of them"]
        );
        assert_eq!(
            faults(
                "[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.a] # again\ncommand = \"y\"\n"
            ),
            [
                "line 4: the table `a` is there twice; the first is in line 1; keep one of them",
                "line 5: the key `command` is there twice; the first is in line 2; keep one of them"
            ]
        );
    }

    #[test]
    fn what_is_no_toml_has_its_line() {
        assert_eq!(faults("a = 1\n[oops\nb = 2\n").len(), 1);
        assert!(faults("a = 1\n[oops\nb = 2\n").concat().starts_with("line 2: "));
        assert_eq!(faults("a = 1\n[b]\nc = [\n  1,\n]\n"), [""; 0]);
    }
}
