//! Where things stand in a TOML text: headers, the keys above all of them, and values.

use std::ops::Range;

use toml_edit::{Document, Item, Table, TomlError};

/// A text and its places. All of them are bytes.
pub(super) struct Layout<'t> {
    text: &'t str,
    /// In the order in which they stand.
    pub(super) headers: Vec<Header>,
    /// What stands above all headers, each with its whole lines.
    pub(super) roots: Vec<RootKey>,
    values: Vec<Range<usize>>,
}

pub(super) struct Header {
    /// Where its line begins.
    at: usize,
    pub(super) path: Vec<String>,
}

pub(super) struct RootKey {
    pub(super) lines: Range<usize>,
    pub(super) path: Vec<String>,
}

impl<'t> Layout<'t> {
    pub(super) fn of(text: &'t str) -> Result<Self, TomlError> {
        let document = Document::parse(text)?;
        let mut layout = Self { text, headers: Vec::new(), roots: Vec::new(), values: Vec::new() };
        layout.walk(document.as_table(), &mut Vec::new(), true);
        layout.headers.sort_by_key(|header| header.at);
        layout.roots.sort_by_key(|root| root.lines.start);
        Ok(layout)
    }

    fn walk(&mut self, table: &Table, path: &mut Vec<String>, is_root: bool) {
        for (name, item) in table {
            path.push(name.to_owned());
            match item {
                Item::Table(inner) => {
                    let has_header = !inner.is_dotted() && !inner.is_implicit();
                    if has_header {
                        self.header(inner, path);
                    }
                    self.walk(inner, path, is_root && inner.is_dotted());
                }
                Item::ArrayOfTables(tables) => {
                    for inner in tables {
                        self.header(inner, path);
                        self.walk(inner, path, false);
                    }
                }
                Item::Value(value) => {
                    let span = value.span().unwrap_or_default();
                    if is_root {
                        let key =
                            table.key(name).and_then(|key| key.span()).unwrap_or(span.clone());
                        let lines = self.line_start(key.start)..self.line_end(span.end);
                        self.roots.push(RootKey { lines, path: path.clone() });
                    }
                    self.values.push(span);
                }
                Item::None => {}
            }
            path.pop();
        }
    }

    fn header(&mut self, table: &Table, path: &[String]) {
        let at = self.line_start(table.span().unwrap_or_default().start);
        self.headers.push(Header { at, path: path.to_vec() });
    }

    /// Where a header begins for its reader: with the comment right above it.
    pub(super) fn begins(&self, header: &Header, is_comment: impl Fn(&str) -> bool) -> usize {
        let mut at = header.at;
        while at > 0 {
            let above = self.line_start(at - 1);
            match self.text.get(above..at) {
                Some(line) if line.trim_start().starts_with('#') && is_comment(line) => at = above,
                _ => break,
            }
        }
        at
    }

    /// The lines that are no part of a value, each with where it begins and where the next one does.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Range<usize>, &'t str)> {
        let mut at = 0;
        self.text.split_inclusive('\n').filter_map(move |line| {
            let range = at..at + line.len();
            at = range.end;
            let is_inside =
                |value: &Range<usize>| value.start < range.start && range.start < value.end;
            (!self.values.iter().any(is_inside)).then_some((range, line))
        })
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        let after = self.text.get(at..).unwrap_or_default();
        after.find('\n').map_or(self.text.len(), |end| at + end + 1)
    }
}
