//! From Markdown to rows.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::table::Table;
use super::wrap::{Piece, fold, visible, wrap};
use crate::terminal::safe;

const DIM: Style = Style::new().dimmed();
const CODE: Style = colour(AnsiColor::Cyan);
const HEADING: Style = Style::new().bold();
const LINK: Style = Style::new().underline();

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// The rows of a text, each at most so many columns wide. Whatever a terminal would obey in it is made visible.
pub(crate) fn render(text: &str, width: usize) -> Vec<String> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = safe(text);
    let mut writer = Writer { width, ..Writer::default() };
    for event in Parser::new_ext(&text, options) {
        writer.event(event);
    }
    writer.flush();
    writer.rows
}

#[derive(Default)]
struct Writer {
    width: usize,
    rows: Vec<String>,
    /// What is not yet in rows.
    pieces: Vec<Piece>,
    styles: Vec<Style>,
    /// What stands at the beginning of each row: bars of quotes, room of lists.
    prefixes: Vec<String>,
    /// What stands at the beginning of the next row instead of the last prefix.
    marker: Option<String>,
    /// The next number of each list, or none for bullets.
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    links: Vec<(String, usize)>,
    table: Option<Table>,
    /// A block has ended, and the next one begins behind an empty row.
    wants_gap: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, Style::new()),
            },
            Event::Code(text) => self.text(&text, CODE),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, CODE),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text, DIM),
            Event::FootnoteReference(text) => self.text(&format!("[{text}]"), DIM),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.text("\n", Style::new()),
            Event::Rule => {
                self.gap();
                let room = self.width.saturating_sub(visible(&self.prefix())).min(40);
                let row = format!("{}{DIM}{}{DIM:#}", self.prefix(), "─".repeat(room));
                self.rows.push(row);
                self.wants_gap = true;
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " }, Style::new());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.gap();
                self.styles.push(HEADING);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.prefixes.push(format!("{DIM}│{DIM:#} "));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(start) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.wants_gap = false;
                self.prefixes.push(" ".repeat(visible(&marker)));
                self.marker = Some(marker);
            }
            Tag::Paragraph => self.gap(),
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(Style::new().bold()),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.pieces.len()));
                self.styles.push(LINK);
            }
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.pieces.len()));
                self.text("image: ", DIM);
            }
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.styles.push(HEADING);
                self.new_row();
            }
            Tag::TableRow => self.new_row(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.wants_gap = true;
            }
            TagEnd::Paragraph => {
                self.flush();
                self.wants_gap = true;
            }
            TagEnd::HtmlBlock => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
                self.wants_gap = true;
            }
            TagEnd::CodeBlock => self.code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.wants_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without a word still has its mark.
                if let Some(marker) = self.marker.take() {
                    let row = format!("{}{marker}", self.outer_prefix());
                    self.rows.push(row.trim_end().to_owned());
                }
                self.prefixes.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                self.address();
            }
            TagEnd::Image => self.address(),
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let prefix = self.prefix();
                    self.rows.extend(table.rows(&prefix, self.width));
                    self.wants_gap = true;
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().fold(style, |style, outer| {
            let colour = style.get_fg_color().or(outer.get_fg_color());
            (style | outer.get_effects()).fg_color(colour)
        });
        self.pieces.push(Piece { text: text.to_owned(), style });
    }

    /// The address of a link, unless the text says it already.
    fn address(&mut self) {
        let Some((address, at)) = self.links.pop() else { return };
        let text: String = self
            .pieces
            .get(at..)
            .unwrap_or_default()
            .iter()
            .map(|piece| piece.text.as_str())
            .collect();
        if !address.is_empty() && text != address && format!("mailto:{text}") != address {
            self.text(&format!(" ({address})"), DIM);
        }
    }

    /// Code is not wrapped between words, because its spaces count.
    fn code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let prefix = self.take_prefix();
        let rest = self.prefix();
        let room = self.width.saturating_sub(visible(&rest) + 2).max(8);
        for (number, line) in code.trim_end_matches('\n').split('\n').enumerate() {
            let style = match (language.as_str(), line.chars().next()) {
                ("diff" | "patch", Some('+')) => colour(AnsiColor::Green),
                ("diff" | "patch", Some('-')) => colour(AnsiColor::Red),
                ("diff" | "patch", _) => Style::new(),
                _ => CODE,
            };
            for (part, row) in fold(&line.replace('\t', "    "), room).into_iter().enumerate() {
                let prefix = if number + part == 0 { &prefix } else { &rest };
                self.rows.push(format!("{prefix}  {style}{row}{style:#}"));
            }
        }
        self.wants_gap = true;
    }

    fn new_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn flush(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces);
        let first = self.take_prefix();
        let rows = wrap(&pieces, &first, &self.prefix(), self.width);
        self.rows.extend(rows);
    }

    /// An empty row between blocks, with the bars of quotes.
    fn gap(&mut self) {
        if std::mem::take(&mut self.wants_gap) && !self.rows.is_empty() && self.marker.is_none() {
            self.rows.push(self.prefix().trim_end().to_owned());
        }
    }

    fn prefix(&self) -> String {
        self.prefixes.concat()
    }

    /// Without the room of the item that has just begun.
    fn outer_prefix(&self) -> String {
        self.prefixes.split_last().map(|(_, outer)| outer.concat()).unwrap_or_default()
    }

    /// The prefix of the next row, with the mark of an item that begins there.
    fn take_prefix(&mut self) -> String {
        match self.marker.take() {
            Some(marker) => format!("{}{marker}", self.outer_prefix()),
            None => self.prefix(),
        }
    }
}
