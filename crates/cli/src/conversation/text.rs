//! The conversation as text with colours. The terminal strips them where they do not belong.
//!
//! Pure: things to show go in, text comes out. What it remembers is only what is needed to put pieces together.

mod ask;
mod command;
mod end;
mod style;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use super::diff;
use super::shown::{AskShown, FileShown, Line, Shown, StepShown, ThreadShown};
use crate::terminal::safe;
pub(crate) use ask::{Extent, is_cut};
use command::Commands;
use style::{BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW};

/// Characters of a tool's arguments or result that are shown. About two lines of a terminal.
const TOOL_CHARACTERS: usize = 160;

/// Remembers just enough to put pieces of text on one line.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The message whose pieces are being written, if the cursor stands behind one.
    open: Option<String>,
    /// Messages of which pieces were written, so that the whole is not written again.
    streamed: HashSet<String>,
    commands: Commands,
    /// Files whose diff was shown with a question, so that the answer does not show it again.
    asked: Vec<FileShown>,
    /// The plan as it was shown last.
    plan: Vec<StepShown>,
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

    /// Ends the line that the cursor stands in.
    pub(super) fn end_line(&mut self) -> &'static str {
        if self.open.take().is_some() { "\n" } else { "" }
    }

    /// What is going on, for a line that shows that somebody is at work.
    pub(super) fn activity(&self) -> Option<&str> {
        self.commands.newest()
    }

    pub(super) fn render(&mut self, line: &Line) -> String {
        let mut out = String::new();
        let goes_on = match &line.shown {
            Shown::Text { item, .. } | Shown::Thinking { item, .. } => {
                self.open.as_deref() == Some(item)
            }
            shown => is_silent(shown),
        };
        if !goes_on {
            out.push_str(self.end_line());
        }
        let name = line.agent.as_ref().map(|agent| agent.name.as_deref().unwrap_or("agent"));
        // Writing into a String cannot fail.
        let _written: std::fmt::Result = self.write(&line.shown, name, &mut out);
        if !out.is_empty() && !matches!(line.shown, Shown::Output { .. }) {
            self.commands.interrupt();
        }
        out
    }

    /// A question as it is put to the person, cut or whole.
    pub(super) fn ask(&mut self, ask: &AskShown, extent: Extent) -> String {
        let mut out = self.end_line().to_owned();
        self.commands.interrupt();
        self.asked.extend(ask.files.iter().cloned());
        let _written: std::fmt::Result = self.write_ask(&mut out, ask, extent);
        out
    }

    fn write(&mut self, shown: &Shown, agent: Option<&str>, out: &mut String) -> std::fmt::Result {
        match shown {
            Shown::Step { text } => writeln!(out, "{DIM}·{DIM:#} {}", safe(text)),
            Shown::Prompt { text } => writeln!(out, "\n{BOLD}you{BOLD:#}    {}", indented(text)),
            // A sub-agent is given its prompts by Codex.
            Shown::PromptElsewhere { .. } if agent.is_some() => Ok(()),
            Shown::PromptElsewhere { text } => {
                let from = "(from another client of the thread)";
                writeln!(
                    out,
                    "\n{BOLD}you{BOLD:#}    {DIM}{from}{DIM:#}\n       {}",
                    indented(text)
                )
            }
            Shown::Thread(thread) => self.thread(out, thread),
            Shown::Thinking { item, delta } => {
                self.begin_piece(out, item, agent)?;
                write!(out, "{DIM}{}{DIM:#}", piece(delta))
            }
            Shown::Text { item, delta } => {
                self.begin_piece(out, item, agent)?;
                write!(out, "{}", piece(delta))
            }
            Shown::ThinkingDone { item, text } => {
                if self.streamed.contains(item) || text.is_empty() {
                    return Ok(());
                }
                speaker(out, agent)?;
                writeln!(out, "{DIM}{}{DIM:#}", indented(text))
            }
            Shown::TextDone { item, text, how, .. } if how == "superseded" => {
                if !self.streamed.contains(item) && !text.is_empty() {
                    speaker(out, agent)?;
                    writeln!(out, "{}", indented(text))?;
                }
                writeln!(out, "{DIM}       (broke off; Codex begins this answer again){DIM:#}")
            }
            Shown::TextDone { item, text, .. } => {
                if self.streamed.contains(item) || text.is_empty() {
                    return Ok(());
                }
                speaker(out, agent)?;
                writeln!(out, "{}", indented(text))
            }
            Shown::Command { item, command, .. } => {
                self.commands.begin(item, &named(agent, command));
                Ok(())
            }
            Shown::Output { item, delta } => {
                out.push_str(&self.commands.output(item, delta));
                Ok(())
            }
            Shown::CommandDone { item, command, status, exit_code, duration_ms, output } => {
                let end = command::end(status, *exit_code, *duration_ms);
                out.push_str(&self.commands.end(item, &named(agent, command), output, &end));
                Ok(())
            }
            Shown::FileChange { status, files, .. } => self.file_change(out, status, files),
            // The end says it all; a call that takes long is named by the moving line.
            Shown::Tool { item, tool, .. } => {
                self.commands.begin(item, &named(agent, tool));
                Ok(())
            }
            Shown::ToolDone { item, tool, arguments, status, duration_ms, result, error } => {
                self.commands.forget(item);
                let end = command::end(status, None, *duration_ms);
                let arguments = arguments.as_deref().map(short).unwrap_or_default();
                let tool = named(agent, tool);
                writeln!(out, "{BOLD}⚙{BOLD:#} {}({arguments})  {end}", safe(&tool))?;
                match (error, result) {
                    (Some(text), _) => writeln!(out, "{DIM}│{DIM:#} {RED}{}{RED:#}", short(text)),
                    (None, Some(text)) => writeln!(out, "{DIM}│ {}{DIM:#}", short(text)),
                    (None, None) => Ok(()),
                }
            }
            Shown::SubAgent { action, prompt, threads, status, .. } => {
                let prompt = prompt.as_deref().map(|text| format!(": {}", short(text)));
                let count = match threads.len() {
                    0 | 1 => String::new(),
                    count => format!(" ({count} agents)"),
                };
                let (action, status) = (safe(action), safe(status));
                let prompt = prompt.unwrap_or_default();
                writeln!(out, "{MAGENTA}⇉{MAGENTA:#} {action}{count}{prompt} {DIM}{status}{DIM:#}")
            }
            Shown::Doing { text, .. } => {
                writeln!(out, "{BLUE}•{BLUE:#} {}", short(&named(agent, text)))
            }
            Shown::Plan { steps, .. } => self.plan(out, steps),
            Shown::Answer { decision, by, .. } => {
                let (decision, by) = (safe(decision), safe(by));
                writeln!(out, "{YELLOW}▌{YELLOW:#} {BOLD}{decision}{BOLD:#} {DIM}({by}){DIM:#}\n")
            }
            Shown::AskClosed { text, .. } => {
                writeln!(out, "{YELLOW}▌{YELLOW:#} {BOLD}{}{BOLD:#}\n", safe(text))
            }
            Shown::Retrying { message, attempt, for_ms, .. } => {
                let text = safe(message);
                let seconds = for_ms / 1000;
                writeln!(
                    out,
                    "{YELLOW}warning:{YELLOW:#} {text} {DIM}(Codex tries again: attempt {attempt}, {seconds} s so far){DIM:#}"
                )
            }
            Shown::Stalled { quiet_ms, found } => {
                let (seconds, found) = (quiet_ms / 1000, safe(found));
                writeln!(out, "{YELLOW}warning:{YELLOW:#} nothing came for {seconds} s; {found}")
            }
            Shown::Warning { text } => writeln!(out, "{YELLOW}warning:{YELLOW:#} {}", safe(text)),
            Shown::TurnDone(turn) if agent.is_none() => end::usage(out, turn),
            Shown::Result(result) => end::result(out, result),
            // The person is asked in its time; the rest is for programs.
            Shown::Ask(_)
            | Shown::TurnBegan { .. }
            | Shown::Taken { .. }
            | Shown::Usage { .. }
            | Shown::Diff { .. }
            | Shown::TurnDone(_) => Ok(()),
        }
    }

    /// Begins a line for its speaker, unless the cursor stands behind another piece of the same.
    fn begin_piece(
        &mut self,
        out: &mut String,
        item: &str,
        agent: Option<&str>,
    ) -> std::fmt::Result {
        if self.open.is_none() {
            speaker(out, agent)?;
        }
        self.open = Some(item.to_owned());
        self.streamed.insert(item.to_owned());
        Ok(())
    }

    fn thread(&self, out: &mut String, thread: &ThreadShown) -> std::fmt::Result {
        let model = thread.model.as_deref().map(|model| format!(", {}", safe(model)));
        let model = model.unwrap_or_default();
        let ThreadShown { codex, sandbox, approval, .. } = thread;
        let cwd = safe(&thread.cwd);
        writeln!(out, "{DIM}·{DIM:#} Codex {codex}{model} in {cwd}")?;
        writeln!(out, "{DIM}·{DIM:#} sandbox {sandbox}, approval {approval}")
    }

    fn file_change(
        &mut self,
        out: &mut String,
        status: &str,
        files: &[FileShown],
    ) -> std::fmt::Result {
        if status != "completed" {
            writeln!(out, "{RED}file change {}{RED:#}", safe(status))?;
        }
        for file in files {
            match self.asked.iter().position(|asked| asked == file) {
                Some(asked) => {
                    self.asked.swap_remove(asked);
                    let path = self.short_path(&file.path);
                    let word = if status == "completed" { "changed" } else { "not changed" };
                    writeln!(out, "{BOLD}±{BOLD:#} {path}  {GREEN}{word}{GREEN:#}")?;
                }
                None => self.file(out, file, diff::LINES)?,
            }
        }
        Ok(())
    }

    fn file(&self, out: &mut String, file: &FileShown, lines: usize) -> std::fmt::Result {
        let path = self.short_path(&file.path);
        let moved = file.moved_to.as_deref().map(|to| format!(" → {}", self.short_path(to)));
        let (moved, change) = (moved.unwrap_or_default(), safe(&file.change));
        writeln!(out, "{BOLD}±{BOLD:#} {path}{moved} {DIM}({change}){DIM:#}")?;
        out.push_str(&diff::coloured(&file.diff, &file.change, lines));
        Ok(())
    }

    /// Codex repeats a plan that has not changed.
    fn plan(&mut self, out: &mut String, steps: &[StepShown]) -> std::fmt::Result {
        if self.plan == steps {
            return Ok(());
        }
        self.plan = steps.to_vec();
        for (number, step) in steps.iter().enumerate() {
            let head = if number == 0 { "plan" } else { "" };
            let text = safe(&step.text);
            match step.status.as_str() {
                "completed" => {
                    writeln!(out, "{BLUE}{head:<5}{BLUE:#}  {GREEN}✔{GREEN:#} {DIM}{text}{DIM:#}")?;
                }
                "in_progress" => writeln!(
                    out,
                    "{BLUE}{head:<5}{BLUE:#}  {YELLOW}▸{YELLOW:#} {BOLD}{text}{BOLD:#}"
                )?,
                _ => writeln!(out, "{BLUE}{head:<5}{BLUE:#}  ☐ {text}")?,
            }
        }
        Ok(())
    }

    fn short_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let base = self.base.as_deref().unwrap_or_default();
        safe(path.strip_prefix(base).unwrap_or(path))
    }
}

/// Things that are no text for people, and so do not end the line of somebody who speaks.
fn is_silent(shown: &Shown) -> bool {
    matches!(
        shown,
        Shown::Ask(_)
            | Shown::TurnBegan { .. }
            | Shown::Taken { .. }
            | Shown::Usage { .. }
            | Shown::Diff { .. }
            | Shown::Command { .. }
            | Shown::Tool { .. }
    )
}

fn speaker(out: &mut String, agent: Option<&str>) -> std::fmt::Result {
    match agent {
        None => write!(out, "{CYAN}codex{CYAN:#}  "),
        Some(name) => write!(out, "{MAGENTA}{:<5}{MAGENTA:#}  ", safe(name)),
    }
}

/// What a sub-agent does carries its name.
fn named<'a>(agent: Option<&str>, text: &'a str) -> Cow<'a, str> {
    match agent {
        None => Cow::Borrowed(text),
        Some(name) => Cow::Owned(format!("[{name}] {text}")),
    }
}

/// Keeps the lines of one speaker below each other.
fn indented(text: &str) -> String {
    safe(text).trim_end_matches('\n').replace('\n', "\n       ")
}

/// The same for a piece, whose line ends belong to it.
fn piece(text: &str) -> String {
    safe(text).replace('\n', "\n       ")
}

/// One line of it.
fn short(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = safe(&line);
    match line.char_indices().nth(TOOL_CHARACTERS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests;
