//! A diff in colour.

use anstyle::{AnsiColor, Style};

use crate::terminal::safe;

/// Lines of one file's diff that are shown; the whole stands in the task's diff.
pub(super) const LINES: usize = 60;

/// The same in a question, which should stay on one screen.
pub(super) const LINES_IN_ASK: usize = 30;

/// Colours a unified diff by its first characters. Codex sends the bare text of a file that is new or removed; all its
/// lines are additions or removals then.
pub(super) fn coloured(diff: &str, change: &str, lines: usize) -> String {
    let whole_file = match change {
        "add" => Some('+'),
        "delete" => Some('-'),
        _ => None,
    };
    let mut out = String::new();
    let count = diff.lines().count();
    for line in diff.lines().take(lines) {
        match whole_file {
            Some(sign) => push(&mut out, style_of(sign), &format!("{sign}{line}")),
            None => push(&mut out, style_of(line.chars().next().unwrap_or(' ')), line),
        }
    }
    if count > lines {
        push(&mut out, Style::new().dimmed(), &format!("… {} more lines", count - lines));
    }
    out
}

fn style_of(sign: char) -> Style {
    let colour = match sign {
        '+' => AnsiColor::Green,
        '-' => AnsiColor::Red,
        '@' => AnsiColor::Cyan,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(colour.into()))
}

fn push(out: &mut String, style: Style, line: &str) {
    out.push_str(&format!("  {style}{}{style:#}\n", safe(line)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(diff: &str, change: &str) -> String {
        anstream::adapter::strip_str(&coloured(diff, change, LINES)).to_string()
    }

    #[test]
    fn a_new_file_is_all_additions() {
        assert_eq!(plain("one\ntwo\n", "add"), "  +one\n  +two\n");
        assert_eq!(plain("one\n", "delete"), "  -one\n");
    }

    #[test]
    fn a_changed_file_keeps_its_signs() {
        let diff = "@@ -1 +1 @@\n-old\n+new\n same\n";
        assert_eq!(plain(diff, "update"), "  @@ -1 +1 @@\n  -old\n  +new\n   same\n");
        assert!(coloured(diff, "update", LINES).contains("\u{1b}[32m+new"));
    }

    #[test]
    fn a_long_diff_is_cut_and_counted() {
        let diff: String = (0..70).map(|number| format!("+{number}\n")).collect();
        assert!(plain(&diff, "update").ends_with("  +59\n  … 10 more lines\n"));
    }
}
