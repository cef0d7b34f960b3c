//! Blocks taken out of a text again, without what others have put into them.

use toml::{Table, Value};

use super::block::BlockError;
use super::layout::Layout;
use super::markers::{self, Block, Holds, Kind};
use crate::problem::Problem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOut {
    pub text: String,
    pub was_there: bool,
    /// One of them was ours.
    pub was_ours: bool,
    /// One of them was of the format before ours.
    pub was_old: bool,
    /// The tables of blocks of the format before ours that went.
    pub gone: Vec<Vec<String>>,
}

/// Takes every block out of the text.
pub fn take_out(text: &str) -> Result<TakenOut, BlockError> {
    let (bom, body) = split_bom(text);
    let (out, _) = without_blocks(body, &[])?;
    Ok(TakenOut { text: format!("{bom}{}", out.text), ..out })
}

/// Whether a block of ours begins somewhere in the text, which need not be TOML.
pub fn has_block(text: &str) -> bool {
    text.lines().any(markers::begins)
}

/// `stays` are tables that will be written again: what Codex has put below them is kept. Gives what blocks of ours said of themselves.
pub(super) fn without_blocks(
    text: &str,
    stays: &[&[String]],
) -> Result<(TakenOut, Vec<Holds>), BlockError> {
    let mut held = Vec::new();
    let mut out = TakenOut {
        text: text.to_owned(),
        was_there: false,
        was_ours: false,
        was_old: false,
        gone: Vec::new(),
    };
    loop {
        let layout = Layout::of(&out.text).map_err(|error| not_toml(&out.text, &error))?;
        let Some(block) = markers::find(&layout) else { return Ok((out, held)) };
        let is_old = matches!(block.kind, Kind::Old { .. });
        let (text, gone) = without(&out.text, &layout, &block, stays);
        out.gone.extend(gone.into_iter().filter(|_| is_old));
        out = TakenOut {
            text,
            was_there: true,
            was_ours: out.was_ours || !is_old,
            was_old: out.was_old || is_old,
            gone: out.gone,
        };
        if let Kind::Ours(ours) = block.kind {
            held.push(ours);
        }
    }
}

/// The text without this block, and the tables that went with it.
fn without(
    text: &str,
    layout: &Layout<'_>,
    block: &Block,
    stays: &[&[String]],
) -> (String, Vec<Vec<String>>) {
    let Block { range, kind } = block;
    let off = plugins_off(text);
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let is_kept = |path: &[String]| match kind.holds_above(path) {
        true => {
            kind.was_beside(path)
                || stays.iter().any(|stay| stay.len() < path.len() && path.starts_with(stay))
        }
        false => !kind.holds(path) || kind.may_be_users(path, stays) || is_off(path, &off, kind),
    };
    let (mut kept, mut gone) = (String::new(), Vec::new());
    // Codex writes its own keys behind the last one there is, which may be ours.
    for root in layout.roots.iter().filter(|root| range.contains(&root.lines.start)) {
        if is_kept(&root.path) {
            kept.push_str(part(root.lines.clone()));
        }
    }
    let begins: Vec<usize> =
        layout.headers.iter().map(|header| layout.begins(header, markers::not_marker)).collect();
    let mut after = part(range.end..text.len()).to_owned();
    for (at, header) in layout.headers.iter().enumerate() {
        let Some(start) = begins.get(at).copied() else { continue };
        let next = begins.get(at + 1).copied().unwrap_or(text.len());
        if range.contains(&start) && is_kept(&header.path) {
            kept.push_str(&without_markers(part(start..next.min(range.end))));
        } else if start >= range.end && kind.holds_above(&header.path) && !is_kept(&header.path) {
            // Below a table of ours that goes: it would be left without what it belongs to.
            after = after.replacen(part(start..next), "", 1);
        } else if range.contains(&start) {
            gone.push(header.path.clone());
        }
    }
    let mut before = part(0..range.start).to_owned();
    if let Kind::Ours(Holds { joined: true, .. }) = kind
        && kept.is_empty()
        && after.is_empty()
    {
        let end = if before.ends_with("\r\n") { 2 } else { 1 };
        before.truncate(before.len().saturating_sub(end));
    }
    (before + &kept + &after, gone)
}

/// The plugins that somebody has switched off. Without their tables they would be on again, and no block writes them anew.
fn plugins_off(text: &str) -> Vec<String> {
    let config: Table = toml::from_str(text).unwrap_or_default();
    let plugins = config.get("plugins").and_then(Value::as_table).into_iter().flatten();
    let is_off = |plugin: &Value| plugin.get("enabled").and_then(Value::as_bool) == Some(false);
    plugins.filter(|(_, plugin)| is_off(plugin)).map(|(id, _)| id.clone()).collect()
}

fn is_off(path: &[String], off: &[String], kind: &Kind) -> bool {
    matches!(kind, Kind::Old { .. })
        && matches!(path, [section, id, ..] if section == "plugins" && off.contains(id))
}

fn without_markers(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !markers::is_marker(line)).collect()
}

pub(super) fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

pub(super) fn not_toml(text: &str, error: &toml_edit::TomlError) -> BlockError {
    let at = error.span().map_or(0, |span| span.start);
    BlockError::NotToml(Problem::at(text, at, error.message()))
}
