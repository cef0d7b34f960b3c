//! The conversation as text with colours. The terminal strips them where they do not belong.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{FileShown, Shown, diff};
use crate::terminal::safe;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CYAN: Style = colour(AnsiColor::Cyan);
const GREEN: Style = colour(AnsiColor::Green);
const RED: Style = colour(AnsiColor::Red);
const YELLOW: Style = colour(AnsiColor::Yellow);

/// Lines of a command's output that are shown; the rest is counted. A screen has about this many to spare.
const OUTPUT_LINES: usize = 20;

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// Remembers just enough to put pieces of text on one line.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The message whose pieces are being written, if the cursor stands behind one.
    open: Option<String>,
    /// Messages of which pieces were written, so that the whole is not written again.
    streamed: HashSet<String>,
    /// Files whose diff was shown with a question, so that the answer does not show it again.
    asked: Vec<FileShown>,
    /// Tokens of the model calls so far: input, the cached part of it, output.
    tokens: [u64; 3],
    /// Paths below this folder are shown without it.
    base: Option<String>,
}

impl Writer {
    pub(super) fn stand_in(&mut self, folder: &str) {
        self.base = Some(format!("{folder}/"));
    }

    /// Whether the cursor stands behind a piece of text.
    pub(super) fn is_mid_line(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn render(&mut self, shown: &Shown) -> String {
        let mut out = String::new();
        if !matches!(shown, Shown::Text { item, .. } if self.open.as_deref() == Some(item)) {
            self.end_line(&mut out);
        }
        // Writing into a String cannot fail.
        let _written: std::fmt::Result = self.write(shown, &mut out);
        out
    }

    fn end_line(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            out.push('\n');
        }
    }

    fn write(&mut self, shown: &Shown, out: &mut String) -> std::fmt::Result {
        match shown {
            Shown::Step { text } => writeln!(out, "{DIM}·{DIM:#} {}", safe(text)),
            Shown::Prompt { text } => writeln!(out, "\n{BOLD}you{BOLD:#}    {}", indented(text)),
            Shown::Thinking { text } => {
                writeln!(out, "{CYAN}codex{CYAN:#}  {DIM}{}{DIM:#}", indented(text))
            }
            Shown::Text { item, delta } => {
                if self.open.is_none() {
                    write!(out, "{CYAN}codex{CYAN:#}  ")?;
                }
                self.open = Some(item.clone());
                self.streamed.insert(item.clone());
                write!(out, "{}", indented(delta))
            }
            Shown::TextDone { item, text } => {
                if self.streamed.contains(item) || text.is_empty() {
                    return Ok(());
                }
                writeln!(out, "{CYAN}codex{CYAN:#}  {}", indented(text))
            }
            Shown::Command { .. } => Ok(()),
            Shown::CommandDone { command, status, exit_code, duration_ms, output, .. } => {
                command_done(out, command, status, *exit_code, *duration_ms)?;
                output_lines(out, output)
            }
            Shown::Ask { what, command, files, cwd, reason, .. } => {
                writeln!(out, "\n{YELLOW}▌{YELLOW:#} {BOLD}{what}{BOLD:#}")?;
                for (name, value) in [("run", command), ("in", cwd), ("why", reason)] {
                    if let Some(value) = value {
                        let value = safe(value).replace('\n', "\n▌      ");
                        writeln!(out, "{YELLOW}▌{YELLOW:#} {DIM}{name:<4}{DIM:#} {value}")?;
                    }
                }
                self.asked.extend(files.iter().cloned());
                files.iter().try_for_each(|file| self.file_change(out, file))
            }
            Shown::Answer { decision, by } => {
                let (decision, by) = (safe(decision), safe(by));
                writeln!(out, "{YELLOW}▌{YELLOW:#} {BOLD}{decision}{BOLD:#} {DIM}({by}){DIM:#}\n")
            }
            Shown::FileChange { status, files, .. } => {
                if status != "completed" {
                    writeln!(out, "{RED}file change {}{RED:#}", safe(status))?;
                }
                for file in files {
                    match self.asked.iter().position(|asked| asked == file) {
                        Some(asked) if status == "completed" => {
                            self.asked.swap_remove(asked);
                            let path = self.short(&file.path);
                            writeln!(out, "{BOLD}±{BOLD:#} {path}  {GREEN}changed{GREEN:#}")?;
                        }
                        _ => self.file_change(out, file)?,
                    }
                }
                Ok(())
            }
            Shown::Usage { input_tokens, cached_input_tokens, output_tokens } => {
                let more = [input_tokens, cached_input_tokens, output_tokens];
                for (sum, more) in self.tokens.iter_mut().zip(more) {
                    *sum += more;
                }
                Ok(())
            }
            Shown::Warning { text } => writeln!(out, "{YELLOW}warning:{YELLOW:#} {}", safe(text)),
            Shown::TurnDone { status, error } => {
                let [input, cached, output] = std::mem::take(&mut self.tokens);
                writeln!(out, "{DIM}tokens: {input} in ({cached} cached), {output} out{DIM:#}")?;
                turn_done(out, status, error.as_deref())
            }
            Shown::Result { ok: true, text, .. } => {
                let text = safe(text);
                writeln!(out, "\n{GREEN}{BOLD}✓{BOLD:#}{GREEN:#} {BOLD}{text}{BOLD:#}")
            }
            Shown::Result { ok: false, text, .. } => {
                let text = safe(text);
                writeln!(out, "\n{RED}{BOLD}✗{BOLD:#}{RED:#} {BOLD}{text}{BOLD:#}")
            }
        }
    }
}

impl Writer {
    fn file_change(&self, out: &mut String, file: &FileShown) -> std::fmt::Result {
        let path = self.short(&file.path);
        writeln!(out, "{BOLD}±{BOLD:#} {path} {DIM}({}){DIM:#}", safe(&file.change))?;
        out.push_str(&diff::coloured(&file.diff, &file.change));
        Ok(())
    }

    fn short<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let base = self.base.as_deref().unwrap_or_default();
        safe(path.strip_prefix(base).unwrap_or(path))
    }
}

fn command_done(
    out: &mut String,
    command: &str,
    status: &str,
    exit_code: Option<i64>,
    duration_ms: Option<u64>,
) -> std::fmt::Result {
    let (mark, end) = match (status, exit_code) {
        ("completed", Some(0) | None) => (GREEN, "ok".to_owned()),
        (_, Some(code)) => (RED, format!("exit {code}")),
        (status, None) => (RED, safe(status).into_owned()),
    };
    let took = duration_ms.map(|ms| format!(", {ms} ms")).unwrap_or_default();
    let command = safe(command);
    writeln!(out, "{BOLD}${BOLD:#} {command}  {mark}{end}{mark:#}{DIM}{took}{DIM:#}")
}

fn output_lines(out: &mut String, output: &str) -> std::fmt::Result {
    let count = output.lines().count();
    for line in output.lines().take(OUTPUT_LINES) {
        writeln!(out, "{DIM}│{DIM:#} {}", safe(line))?;
    }
    if count > OUTPUT_LINES {
        writeln!(out, "{DIM}│ … {} more lines{DIM:#}", count - OUTPUT_LINES)?;
    }
    Ok(())
}

fn turn_done(out: &mut String, status: &str, error: Option<&str>) -> std::fmt::Result {
    match error {
        Some(error) => writeln!(out, "{RED}turn {}:{RED:#} {}", safe(status), safe(error)),
        None if status == "completed" => Ok(()),
        None => writeln!(out, "{YELLOW}turn {}{YELLOW:#}", safe(status)),
    }
}

/// Keeps the lines of one speaker below each other.
fn indented(text: &str) -> String {
    safe(text).trim_end_matches('\n').replace('\n', "\n       ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(all: &[Shown]) -> String {
        let mut writer = Writer::default();
        let text: String = all.iter().map(|shown| writer.render(shown)).collect();
        anstream::adapter::strip_str(&text).to_string()
    }

    fn text(item: &str, delta: &str) -> Shown {
        Shown::Text { item: item.into(), delta: delta.into() }
    }

    #[test]
    fn pieces_of_one_message_stand_on_one_line_and_are_not_repeated() {
        let shown = plain(&[
            text("a", "I will "),
            text("a", "look."),
            Shown::TextDone { item: "a".into(), text: "I will look.".into() },
            Shown::TextDone { item: "b".into(), text: "Two\nlines".into() },
        ]);
        assert_eq!(shown, "codex  I will look.\ncodex  Two\n       lines\n");
    }

    #[test]
    fn a_declined_command_does_not_look_like_a_success() {
        let shown = plain(&[Shown::CommandDone {
            item: "c".into(),
            command: "rm x".into(),
            status: "declined".into(),
            exit_code: None,
            duration_ms: None,
            output: String::new(),
        }]);
        assert_eq!(shown, "$ rm x  declined\n");
    }

    #[test]
    fn long_output_is_cut_and_counted() {
        let output: String = (0..25).map(|number| format!("{number}\n")).collect();
        let shown = plain(&[Shown::CommandDone {
            item: "c".into(),
            command: "seq 25".into(),
            status: "completed".into(),
            exit_code: Some(0),
            duration_ms: Some(3),
            output,
        }]);
        assert!(shown.starts_with("$ seq 25  ok, 3 ms\n│ 0\n"), "{shown}");
        assert!(shown.ends_with("│ 19\n│ … 5 more lines\n"), "{shown}");
    }
}
