//! What is told of a turn, as rows: those that are finished, and those that still change. Pure, but for the clock it is given.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ostler_agent::runtime::Runtime;
use ostler_agent::{Activity, TurnOutcome};
use ostler_model::usage::Tokens;

use super::markdown::{Growing, columns, cut, fold, render};
use super::session::{ConversationUsage, Manner};
use crate::terminal::safe;

const DIM: Style = Style::new().dimmed();
const GREEN: Style = colour(AnsiColor::Green);
const RED: Style = colour(AnsiColor::Red);
const YELLOW: Style = colour(AnsiColor::Yellow);
const BLUE: Style = colour(AnsiColor::Blue);
const YOU: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const THOUGHT: Style = Style::new().dimmed().italic();

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Wider text is hard to read; a table or code may still use it all.
const READABLE: usize = 110;

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// Whether what the model says while it works is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commentary {
    Shown,
    Hidden,
}

pub(crate) struct View {
    commentary: Commentary,
    manner: Manner,
    /// Of the calls before this turn.
    before: ConversationUsage,
    /// Of this turn so far.
    turn: Tokens,
    last_call: Tokens,
    window: Option<u64>,
    answer: Growing,
    /// All of the answer since the model last did something else.
    said: String,
    thought: String,
    tools: Vec<Running>,
    /// When the turn began, as a time of the same clock that is given to `live`.
    began: Option<Duration>,
    /// How long the last one took.
    took: Option<Duration>,
    /// The row before is of another kind, and stands apart.
    last: Kind,
}

struct Running {
    call: String,
    tool: String,
    preview: String,
    began: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    You,
    Answer,
    Thought,
    Step,
}

impl View {
    pub(crate) fn new(commentary: Commentary, manner: Manner, usage: ConversationUsage) -> Self {
        Self {
            commentary,
            manner,
            before: usage,
            turn: Tokens::default(),
            last_call: usage.last_call,
            window: usage.context_window,
            answer: Growing::default(),
            said: String::new(),
            thought: String::new(),
            tools: Vec::new(),
            began: None,
            took: None,
            last: Kind::Step,
        }
    }

    pub(crate) fn set_manner(&mut self, manner: Manner) {
        self.manner = manner;
    }

    /// Another conversation, or one that has been made shorter.
    pub(crate) fn begin_anew(&mut self, manner: Manner, usage: ConversationUsage) {
        *self = Self::new(self.commentary, manner, usage);
    }

    /// A turn begins, with what the person said.
    pub(crate) fn begin(
        &mut self,
        text: &str,
        images: usize,
        now: Duration,
        width: usize,
    ) -> Vec<String> {
        self.began = Some(now);
        self.turn = Tokens::default();
        self.said.clear();
        let mut rows = Vec::new();
        if !text.is_empty() {
            rows.extend(marked('›', YOU, text, width));
        }
        if images > 0 {
            rows.push(format!(
                "  {DIM}with {images} {}{DIM:#}",
                if images == 1 { "image" } else { "images" }
            ));
        }
        self.last = Kind::You;
        rows
    }

    /// The rows that will not change any more.
    pub(crate) fn hear(&mut self, activity: &Activity, now: Duration, width: usize) -> Vec<String> {
        match activity {
            Activity::Text(text) => {
                let mut rows = self.end_thought(width);
                self.said.push_str(text);
                let given = self.answer.push(text, readable(width));
                if !given.is_empty() {
                    rows.extend(self.apart(Kind::Answer));
                    rows.extend(given);
                }
                rows
            }
            Activity::TextVoid => self.void(width),
            Activity::Reasoning(text) => {
                let mut rows = self.end_answer(width);
                self.thought.push_str(text);
                // Whole lines are finished.
                if let Some((whole, rest)) = self.thought.rsplit_once('\n') {
                    let (whole, rest) = (whole.to_owned(), rest.to_owned());
                    rows.extend(self.apart(Kind::Thought));
                    rows.extend(thought(&whole, width));
                    self.thought = rest;
                }
                rows
            }
            Activity::Commentary(text) => {
                let mut rows = self.pause(width);
                if self.commentary == Commentary::Shown {
                    rows.extend(self.apart(Kind::Step));
                    let lines = render(text, readable(width).saturating_sub(2));
                    rows.extend(lines.iter().map(|line| format!("{BLUE}┊{BLUE:#} {line}")));
                }
                rows
            }
            Activity::ToolBegan { call, tool, preview } => {
                let rows = self.pause(width);
                self.said.clear();
                let (call, tool, preview) = (call.clone(), one_line(tool), one_line(preview));
                self.tools.push(Running { call, tool, preview, began: now });
                rows
            }
            // It may be told in the middle of a text, as the next ones may: the text must stay whole, so they stand above it.
            Activity::ToolEnded { call, tool, elapsed_ms, is_error, summary } => {
                let mut rows = self.end_thought(width);
                let known = self.tools.iter().position(|running| running.call == *call);
                let preview = known.map(|at| self.tools.remove(at).preview).unwrap_or_default();
                rows.extend(self.apart(Kind::Step));
                let (sign, style) = if *is_error { ('✗', RED) } else { ('✓', GREEN) };
                let time = span(Duration::from_millis(*elapsed_ms));
                rows.push(tool_row(
                    &format!("{style}{sign}{style:#}"),
                    &one_line(tool),
                    &preview,
                    &time,
                    width,
                ));
                if *is_error && let Some(why) = summary.lines().find(|line| !line.trim().is_empty())
                {
                    rows.push(format!(
                        "  {RED}{}{RED:#}",
                        cut(&one_line(why), width.saturating_sub(3))
                    ));
                }
                rows
            }
            Activity::Note(text) | Activity::AskOver { how: text, .. } => {
                let mut rows: Vec<String> = self.apart(Kind::Step).into_iter().collect();
                rows.extend(note(text, width));
                rows
            }
            Activity::Usage { turn, last_call, context_window } => {
                (self.turn, self.last_call) = (*turn, *last_call);
                self.window = context_window.or(self.window);
                Vec::new()
            }
            Activity::Asked(_) => self.pause(width),
            Activity::Steered(text) => steered(text, width),
        }
    }

    /// The turn has ended.
    pub(crate) fn end(
        &mut self,
        outcome: &TurnOutcome,
        usage: ConversationUsage,
        now: Duration,
        width: usize,
    ) -> Vec<String> {
        let mut rows = self.pause(width);
        self.tools.clear();
        let response = outcome.final_response.trim();
        if !response.is_empty() && !self.said.trim_end().ends_with(response) {
            rows.extend(self.apart(Kind::Answer));
            rows.extend(render(response, readable(width)));
        }
        if outcome.failed {
            let class =
                outcome.failure_reason().map_or_else(String::new, |class| format!(" ({class})"));
            let error = outcome.error.as_deref().unwrap_or("it is not known why");
            let error = if response.contains(error) { "" } else { error };
            let text = format!("failed{class}: {error}");
            rows.push(String::new());
            rows.extend(marked('✗', RED, text.trim_end_matches([':', ' ']), width));
        } else if outcome.interrupted {
            rows.push(format!("{YELLOW}■{YELLOW:#} stopped"));
        } else if outcome.partial {
            let why = outcome.error.as_deref().unwrap_or("the answer is not whole");
            rows.extend(marked('■', YELLOW, why, width));
        }
        for text in &outcome.pending_steer {
            rows.extend(note(
                &format!("the model has not seen this yet; the next turn begins with it: {text}"),
                width,
            ));
        }
        if let Some(began) = self.began.take() {
            self.took = Some(now.saturating_sub(began));
        }
        self.before = usage;
        self.last_call = usage.last_call;
        self.window = usage.context_window.or(self.window);
        self.turn = Tokens::default();
        self.last = Kind::Answer;
        rows
    }

    /// What still changes.
    pub(crate) fn live(&self, now: Duration, width: usize) -> Vec<String> {
        let mut rows = Vec::new();
        if !self.thought.is_empty() {
            rows.extend(thought(&self.thought, width));
        }
        let answer = self.answer.live(readable(width));
        if !answer.is_empty() {
            if self.last != Kind::Answer {
                rows.push(String::new());
            }
            rows.extend(answer);
        }
        let sign = spinner(now);
        for tool in &self.tools {
            let time = span(now.saturating_sub(tool.began));
            rows.push(tool_row(&sign.to_string(), &tool.tool, &tool.preview, &time, width));
        }
        rows
    }

    /// Time, runtime, model, effort, context, tokens.
    pub(crate) fn status(&self, now: Duration) -> String {
        let mut words = Vec::new();
        // First, so that it is seen in a narrow terminal, too.
        match (self.began, self.took) {
            (Some(began), _) => {
                words.push(format!("{} {}", spinner(now), span(now.saturating_sub(began))));
            }
            (None, Some(took)) => words.push(span(took)),
            (None, None) => {}
        }
        words.push(runtime_words(self.manner.runtime).to_owned());
        words.extend(self.manner.model.as_deref().map(one_line));
        words.extend(self.manner.effort.as_deref().map(one_line));
        if let Some(window) = self.window.filter(|window| *window > 0) {
            let percent = self.last_call.total().saturating_mul(100) / window;
            words.push(format!("context {percent}%"));
        }
        let tokens = self.before.tokens.plus(self.turn).total();
        if tokens > 0 {
            words.push(format!("{} tokens", amount(tokens)));
        }
        words.join(" · ")
    }

    /// What `/usage` says.
    pub(crate) fn usage(&self) -> String {
        let tokens = self.before.tokens.plus(self.turn);
        let mut text = format!(
            "tokens   {} in ({} of them cached), {} out ({} of them reasoning)",
            amount(tokens.input),
            amount(tokens.cached_input),
            amount(tokens.output),
            amount(tokens.reasoning_output)
        );
        let ConversationUsage { turns, calls, .. } = self.before;
        text.push_str(&format!("\nturns    {turns}, with {calls} calls of the model"));
        if let Some(window) = self.window.filter(|window| *window > 0) {
            let used = self.last_call.total();
            let percent = used.saturating_mul(100) / window;
            text.push_str(&format!(
                "\ncontext  {} of {} ({percent}%)",
                amount(used),
                amount(window)
            ));
        }
        text
    }

    /// Ends whatever text is open, so that something else can be shown.
    pub(crate) fn pause(&mut self, width: usize) -> Vec<String> {
        let mut rows = self.end_thought(width);
        rows.extend(self.end_answer(width));
        rows
    }

    fn end_answer(&mut self, width: usize) -> Vec<String> {
        let given = self.answer.finish(readable(width));
        if given.is_empty() {
            return given;
        }
        let mut rows: Vec<String> = self.apart(Kind::Answer).into_iter().collect();
        rows.extend(given);
        rows
    }

    fn end_thought(&mut self, width: usize) -> Vec<String> {
        let text = std::mem::take(&mut self.thought);
        if text.trim().is_empty() {
            return Vec::new();
        }
        let mut rows: Vec<String> = self.apart(Kind::Thought).into_iter().collect();
        rows.extend(thought(&text, width));
        rows
    }

    /// What was not given out is taken back; of the rest it is said that it is void.
    fn void(&mut self, width: usize) -> Vec<String> {
        let was_given = self.answer.was_given();
        self.answer = Growing::default();
        self.said.clear();
        match was_given {
            true => note("that broke off; the model begins this answer again", width),
            false => Vec::new(),
        }
    }

    /// An empty row where another kind of row begins; steps stand together.
    fn apart(&mut self, kind: Kind) -> Option<String> {
        let before = std::mem::replace(&mut self.last, kind);
        (before != kind).then(String::new)
    }
}

/// Something for the person to know.
pub(crate) fn note(text: &str, width: usize) -> Vec<String> {
    marked('·', DIM, text, width)
}

/// Lines as they are, with their own indent, and a little more where they must be broken.
pub(crate) fn plain(text: &str, width: usize) -> Vec<String> {
    let text = safe(text);
    let lines = text.lines().flat_map(|line| {
        let body = line.trim_start();
        let indent = 2 + line.len() - body.len();
        let rows = words_of(body, width.saturating_sub(indent + 5)).into_iter().enumerate();
        rows.map(move |(number, row)| {
            let indent = if number == 0 { indent } else { indent + 4 };
            format!("{:indent$}{row}", "").trim_end().to_owned()
        })
    });
    lines.collect()
}

/// What could not be done.
pub(crate) fn complaint(text: &str, width: usize) -> Vec<String> {
    marked('!', YELLOW, text, width)
}

/// What the person said into the turn that runs.
pub(crate) fn steered(text: &str, width: usize) -> Vec<String> {
    marked('↪', YOU, text, width)
}

pub(crate) fn runtime_words(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Auto => "auto",
        Runtime::CodexAppServer => "codex app-server",
    }
}

/// A text behind a sign, its other rows below each other.
fn marked(sign: char, style: Style, text: &str, width: usize) -> Vec<String> {
    let text = safe(text).replace('\t', "    ");
    let lines =
        text.trim_end().split('\n').flat_map(|line| words_of(line, width.saturating_sub(3)));
    let rows = lines.enumerate().map(|(number, line)| match number {
        0 => format!("{style}{sign}{style:#} {line}"),
        _ => format!("  {line}"),
    });
    rows.collect()
}

/// Broken between words where that is possible.
fn words_of(line: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for part in line.split_inclusive(' ') {
        let used = rows.last().map_or(0, |row| super::markdown::columns(row));
        if used > 0 && used + super::markdown::columns(part.trim_end()) > width {
            rows.push(String::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(part);
        }
    }
    rows.iter().flat_map(|row| fold(row.trim_end(), width.max(8))).collect()
}

/// Models mark the titles of their thoughts as bold; here all of it looks the same.
fn thought(text: &str, width: usize) -> Vec<String> {
    let text = safe(text).replace("**", "");
    let lines = text.trim_end().split('\n').flat_map(|line| words_of(line, readable(width)));
    let styled = |line: String| match line.is_empty() {
        true => line,
        false => format!("{THOUGHT}{line}{THOUGHT:#}"),
    };
    lines.map(styled).collect()
}

fn tool_row(sign: &str, tool: &str, preview: &str, time: &str, width: usize) -> String {
    let room = width.saturating_sub(columns(tool) + columns(time) + 7);
    let preview = cut(preview, room);
    let gap = if preview.is_empty() { "" } else { "  " };
    format!("{sign} {tool}{gap}{preview}  {DIM}{time}{DIM:#}")
}

fn one_line(text: &str) -> String {
    safe(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn readable(width: usize) -> usize {
    width.saturating_sub(1).min(READABLE)
}

fn spinner(now: Duration) -> char {
    let step = usize::try_from(now.as_millis() / 120).unwrap_or(0) % SPINNER.len();
    SPINNER.get(step).copied().unwrap_or(' ')
}

/// Short times with a fraction, long ones with minutes.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `950`, `12.3k`, `1.2M`.
fn amount(count: u64) -> String {
    let tenths = |unit: u64| (count / (unit / 10), count / unit);
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => {
            let (tenths, whole) = tenths(1_000);
            if tenths % 10 == 0 { format!("{whole}k") } else { format!("{whole}.{}k", tenths % 10) }
        }
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => {
            let (tenths, whole) = tenths(1_000_000);
            if tenths % 10 == 0 { format!("{whole}M") } else { format!("{whole}.{}M", tenths % 10) }
        }
    }
}

#[cfg(test)]
mod tests;
