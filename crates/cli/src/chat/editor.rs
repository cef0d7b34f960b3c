//! The line that a person types: its text, its cursor, what was typed before. Pure.

use super::history::History;
use crate::terminal::keys::Key;

/// What a key led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// The line may look different now.
    Edited,
    Entered(String),
    /// Nothing was typed, and so it is for the chat to say what they mean.
    CtrlC,
    CtrlD,
    Escape,
    ClearScreen,
}

pub(crate) struct Editor {
    text: String,
    /// The byte before which the cursor stands.
    cursor: usize,
    history: History,
    /// Which old line is shown, and what was typed before looking back.
    looking_back: Option<(usize, String)>,
    /// Completions that were offered last, for the person to see.
    offered: Vec<String>,
    complete: fn(&str) -> Vec<String>,
}

impl Editor {
    pub(crate) fn new(history: History, complete: fn(&str) -> Vec<String>) -> Self {
        Self {
            text: String::new(),
            cursor: 0,
            history,
            looking_back: None,
            offered: Vec::new(),
            complete,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn offered(&self) -> &[String] {
        &self.offered
    }

    pub(crate) fn remember(&mut self, line: &str) {
        self.history.add(line);
    }

    /// Takes the text away, so that something else can be typed.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.set(String::new());
        text
    }

    /// Puts a text back, before whatever was typed meanwhile.
    pub(crate) fn put_back(&mut self, text: &str) {
        self.text.insert_str(0, text);
        self.cursor += text.len();
    }

    pub(crate) fn press(&mut self, key: Key) -> Pressed {
        self.offered.clear();
        match key {
            Key::Character(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text),
            Key::NewLine => self.insert("\n"),
            Key::Enter => return self.enter(),
            Key::Tab => self.tab(),
            Key::Backspace => self.delete(self.before(), self.cursor),
            Key::Delete => self.delete(self.cursor, self.after()),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::DeleteWord => self.delete(self.word_before(), self.cursor),
            Key::DeleteToEnd => self.delete(self.cursor, self.line_end()),
            Key::DeleteToStart => self.delete(self.line_start(), self.cursor),
            Key::Up => self.up(),
            Key::Down => self.down(),
            Key::ClearScreen => return Pressed::ClearScreen,
            Key::Escape => return Pressed::Escape,
            Key::CtrlC if !self.text.is_empty() => self.set(String::new()),
            Key::CtrlC => return Pressed::CtrlC,
            Key::CtrlD if !self.text.is_empty() => self.delete(self.cursor, self.after()),
            Key::CtrlD => return Pressed::CtrlD,
        }
        Pressed::Edited
    }

    fn enter(&mut self) -> Pressed {
        // A backslash at the end asks for another line.
        if self.cursor == self.text.len() && self.text.ends_with('\\') {
            self.delete(self.before(), self.cursor);
            self.insert("\n");
            return Pressed::Edited;
        }
        Pressed::Entered(self.take())
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
        self.looking_back = None;
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// As far as all completions agree; if that is no further, they are offered.
    fn tab(&mut self) {
        if self.cursor != self.text.len() {
            return;
        }
        let found = (self.complete)(&self.text);
        let Some(first) = found.first() else { return };
        let agreed = found.iter().fold(first.as_str(), |agreed, other| {
            let same = agreed.chars().zip(other.chars()).take_while(|(one, two)| one == two);
            let length: usize = same.map(|(one, _)| one.len_utf8()).sum();
            agreed.get(..length).unwrap_or_default()
        });
        if agreed.len() > self.text.len() {
            let agreed = agreed.to_owned();
            self.set(agreed);
        } else if found.len() > 1 {
            self.offered = found;
        }
    }

    fn before(&self) -> usize {
        self.head().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.tail().chars().next().map_or(0, char::len_utf8)
    }

    fn line_start(&self) -> usize {
        self.head().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.tail().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_before(&self) -> usize {
        let word = self.head().trim_end();
        word.rfind(char::is_whitespace).map_or(0, |at| {
            at + word.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        })
    }

    fn word_after(&self) -> usize {
        let tail = self.tail();
        let gap = tail.len() - tail.trim_start().len();
        let word = tail.trim_start().find(char::is_whitespace);
        word.map_or(self.text.len(), |length| self.cursor + gap + length)
    }

    fn head(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn tail(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// A line up in a text of several, or an older text.
    fn up(&mut self) {
        let start = self.line_start();
        if start > 0 {
            let column = self.text.get(start..self.cursor).map_or(0, |text| text.chars().count());
            let above = self.text.get(..start - 1).and_then(|text| text.rfind('\n'));
            self.cursor = self.column(above.map_or(0, |at| at + 1), column);
            return;
        }
        let newest = self.history.len();
        let (at, kept) = match self.looking_back.take() {
            Some((at, kept)) => (at, kept),
            None => (newest, self.text.clone()),
        };
        match at.checked_sub(1).and_then(|older| self.history.get(older).map(|text| (older, text)))
        {
            Some((older, text)) => {
                self.set(text.to_owned());
                self.looking_back = Some((older, kept));
            }
            None => self.looking_back = (at < newest).then_some((at, kept)),
        }
    }

    fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let start = self.line_start();
            let column = self.text.get(start..self.cursor).map_or(0, |text| text.chars().count());
            self.cursor = self.column(end + 1, column);
            return;
        }
        let Some((at, kept)) = self.looking_back.take() else { return };
        match self.history.get(at + 1) {
            Some(text) => {
                self.set(text.to_owned());
                self.looking_back = Some((at + 1, kept));
            }
            None => self.set(kept),
        }
    }

    /// The place in a line that is this far from its start.
    fn column(&self, start: usize, column: usize) -> usize {
        let line =
            self.text.get(start..).unwrap_or_default().split('\n').next().unwrap_or_default();
        start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::keys::Decoder;

    fn editor(lines: &[&str]) -> Editor {
        let mut history = History::default();
        lines.iter().for_each(|line| history.add(line));
        Editor::new(history, super::super::commands::complete)
    }

    /// The text with a bar where the cursor is, after these bytes.
    fn typed(editor: &mut Editor, bytes: &str) -> String {
        for key in Decoder::default().feed(bytes.as_bytes()) {
            editor.press(key);
        }
        format!("{}|{}", editor.head(), editor.tail())
    }

    #[test]
    fn a_line_is_edited_as_in_every_shell() {
        let table = [
            ("hello", "hello|"),
            ("a b c\u{17}", "a b |"),
            ("one two\u{1}\u{b}", "|"),
            ("one two\u{1b}b\u{15}", "|two"),
            ("äö\u{1b}[D\u{7f}", "|ö"),
            ("ab\u{1}\u{4}", "|b"),
            ("x\\\ry", "x\ny|"),
            ("ab\ncd\u{1b}[A!", "ab!|\ncd"),
            ("a\u{1b}[200~1\n2\u{1b}[201~", "a1\n2|"),
            ("gone\u{3}", "|"),
            ("one two\u{1}\u{1b}f", "one| two"),
        ];
        for (bytes, expected) in table {
            assert_eq!(typed(&mut editor(&[]), bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn old_lines_come_back_and_what_was_typed_is_not_lost() {
        let mut editor = editor(&["first", "second"]);
        assert_eq!(typed(&mut editor, "new\u{1b}[A"), "second|");
        assert_eq!(typed(&mut editor, "\u{1b}[A\u{1b}[A"), "first|");
        assert_eq!(typed(&mut editor, "\u{1b}[B"), "second|");
        assert_eq!(typed(&mut editor, "\u{1b}[B"), "new|");
    }

    #[test]
    fn tab_completes_as_far_as_it_is_sure_and_then_offers() {
        let mut editor = editor(&[]);
        assert_eq!(typed(&mut editor, "/r\t"), "/res|");
        assert_eq!(typed(&mut editor, "\t"), "/res|");
        assert_eq!(editor.offered(), ["/reset", "/resume "]);
        assert_eq!(typed(&mut editor, "u\t"), "/resume |");
        assert!(editor.offered().is_empty());
    }

    #[test]
    fn keys_that_end_something_say_so() {
        let mut editor = editor(&[]);
        assert_eq!(editor.press(Key::CtrlC), Pressed::CtrlC);
        assert_eq!(editor.press(Key::CtrlD), Pressed::CtrlD);
        editor.press(Key::Character('x'));
        assert_eq!(editor.press(Key::Enter), Pressed::Entered("x".to_owned()));
        assert_eq!(editor.text(), "");
    }
}
