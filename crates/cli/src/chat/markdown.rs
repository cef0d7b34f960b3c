//! What models write, for a terminal: Markdown with colours, wrapped to the width, and shown while it comes. Pure.

mod block;
mod table;
mod wrap;

pub(crate) use block::render;
pub(crate) use wrap::{columns, cut, fold, fold_words};

/// Rows of a text that is still growing which are drawn anew with each piece. What is above them does not change any more,
/// but for a table, whose columns grow with their widest cell.
const LIVE_ROWS: usize = 12;

/// A text that grows. Whole blocks are given out once; the last one is shown as it is so far.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    /// The block that is not whole.
    block: String,
    /// Rows of it that were given out already.
    given: usize,
    /// A block was given out before it.
    has_begun: bool,
}

impl Growing {
    /// Adds a piece, and gives the rows that will not change any more.
    pub(crate) fn push(&mut self, piece: &str, width: usize) -> Vec<String> {
        self.block.push_str(piece);
        let mut rows = Vec::new();
        while let Some(end) = end_of_block(&self.block) {
            let rest = self.block.split_off(end);
            rows.extend(self.rest_of_block(width));
            self.block = rest;
        }
        let live = self.rendered(width);
        let is_table = self.block.lines().any(|line| line.trim_start().starts_with('|'));
        if live.len() > LIVE_ROWS && !is_table {
            let stable = live.len() - LIVE_ROWS;
            rows.extend(live.into_iter().take(stable).skip(self.given));
            self.given = self.given.max(stable);
        }
        rows
    }

    /// The rows that may still change, the newest of them if there are many.
    pub(crate) fn live(&self, width: usize) -> Vec<String> {
        let rows = self.rendered(width);
        let above = self.given.max(rows.len().saturating_sub(LIVE_ROWS));
        rows.into_iter().skip(above).collect()
    }

    /// The text is whole: gives the rest of its rows.
    pub(crate) fn finish(&mut self, width: usize) -> Vec<String> {
        let rows = self.rest_of_block(width);
        *self = Self::default();
        rows
    }

    /// Whether something of the text was given out, which cannot be taken back.
    pub(crate) fn was_given(&self) -> bool {
        self.has_begun || self.given > 0
    }

    fn rest_of_block(&mut self, width: usize) -> Vec<String> {
        let rows: Vec<String> = self.rendered(width).into_iter().skip(self.given).collect();
        self.has_begun |= !rows.is_empty() || self.given > 0;
        self.given = 0;
        self.block.clear();
        rows
    }

    /// The block, behind an empty row if another stands before it.
    fn rendered(&self, width: usize) -> Vec<String> {
        let mut rows = render(&self.block, width);
        if self.has_begun && !rows.is_empty() {
            rows.insert(0, String::new());
        }
        rows
    }
}

/// Where the first block ends, if what follows shows that it has ended.
fn end_of_block(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut fence: Option<&str> = None;
    let mut is_list = false;
    let mut has_text = false;
    let mut blank_behind = None;
    for line in text.split_inclusive('\n') {
        let is_whole = line.ends_with('\n');
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), _) => {
                if trimmed.starts_with(open)
                    && trimmed.trim_matches(['`', '~']).is_empty()
                    && is_whole
                {
                    fence = None;
                    if !is_list {
                        return Some(at + line.len());
                    }
                }
                at += line.len();
                continue;
            }
            (None, _) if trimmed.is_empty() => {
                if has_text && is_whole {
                    blank_behind.get_or_insert(at + line.len());
                }
                at += line.len();
                continue;
            }
            (None, Some(open)) => fence = Some(open),
            (None, None) => {}
        }
        let is_item = is_item(trimmed);
        let continues_list = is_list && (is_item || line.starts_with([' ', '\t']));
        if let Some(end) = blank_behind
            && !continues_list
        {
            // Of a line that has only begun it is not known yet whether it goes on with the list.
            let is_known = !is_list || is_whole || trimmed.len() > 3;
            return is_known.then_some(end);
        }
        blank_behind = None;
        if !has_text && trimmed.starts_with('#') && is_whole {
            return Some(at + line.len());
        }
        is_list |= !has_text && is_item;
        has_text = true;
        at += line.len();
    }
    None
}

fn is_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let numbered = digits.len() < line.len() && digits.starts_with(['.', ')']);
    numbered
        || line == "-"
        || line == "*"
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests;
