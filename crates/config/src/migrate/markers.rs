//! The lines around what we have written, and those of the format before ours.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::layout::Layout;

const START: &str = "# >>> ostler:";
const END: &str = "# <<< ostler";
const HOLDS: &str = "# ostler-holds: ";
const OLD_START: &str = "# managed by hermes-agent";
const OLD_END: &str = "# end hermes-agent managed section";

/// What blocks of the old format hold; an old block without its end goes on as long as there is nothing else.
const OLD_TABLES: [&str; 2] = ["mcp_servers", "plugins"];

/// The server that the old format has beside those of the file that it was made from.
const OLD_OWN_SERVER: &str = "hermes-tools";

/// The key that Codex takes the name of a permission profile from.
pub(super) const PERMISSIONS: &str = "default_permissions";

/// A block, from its first marker to behind its last line.
pub(super) struct Block {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Ours(Holds),
    /// Of one without its end nobody knows where it ended.
    Old {
        has_end: bool,
    },
}

/// What a block says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holds {
    pub(super) holds: Vec<Vec<String>>,
    /// Whether the end of the line above it was written with it.
    #[serde(default)]
    pub(super) joined: bool,
    /// Tables below one of these that were there before it: the user's, which stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) beside: Vec<Vec<String>>,
}

impl Kind {
    /// Whether this was written with the block.
    pub(super) fn holds(&self, path: &[String]) -> bool {
        match self {
            Self::Ours(ours) => ours.holds.iter().any(|held| held == path),
            Self::Old { .. } => match path {
                [only] => only == PERMISSIONS,
                [first, ..] => OLD_TABLES.contains(&first.as_str()),
                [] => false,
            },
        }
    }

    /// Whether this stands below something that was.
    pub(super) fn holds_above(&self, path: &[String]) -> bool {
        match self {
            Self::Ours(ours) => {
                ours.holds.iter().any(|held| held.len() < path.len() && path.starts_with(held))
            }
            Self::Old { .. } => false,
        }
    }

    /// Whether this stood below one of ours before it was written.
    pub(super) fn was_beside(&self, path: &[String]) -> bool {
        matches!(self, Self::Ours(ours) if ours.beside.iter().any(|beside| beside == path))
    }

    /// Whether a table may be the user's own although it stands where the block does: it was written behind one that has lost
    /// its end, and it is none of those that are written again.
    pub(super) fn may_be_users(&self, path: &[String], stays: &[&[String]]) -> bool {
        let is_written = stays.iter().any(|stay| path.starts_with(stay));
        let is_old_own = matches!(path, [_, name, ..] if name == OLD_OWN_SERVER);
        matches!(self, Self::Old { has_end: false }) && path.len() > 1 && !is_written && !is_old_own
    }
}

pub(super) fn is_marker(line: &str) -> bool {
    let line = line.trim();
    [START, END, HOLDS.trim_end(), OLD_START, OLD_END].iter().any(|mark| line.starts_with(mark))
}

/// Whether a block of ours begins with this line.
pub(super) fn begins(line: &str) -> bool {
    line.trim().starts_with(START)
}

/// The first block in the text.
pub(super) fn find(layout: &Layout<'_>) -> Option<Block> {
    let mut begun: Option<(usize, Kind)> = None;
    for (range, line) in layout.lines() {
        let line = line.trim();
        match &mut begun {
            None if line.starts_with(START) => {
                begun = Some((range.start, Kind::Ours(Holds::default())));
            }
            None if line.starts_with(OLD_START) => {
                begun = Some((range.start, Kind::Old { has_end: false }));
            }
            Some((_, Kind::Ours(ours))) if line.starts_with(HOLDS) => {
                let told = line.strip_prefix(HOLDS).unwrap_or_default();
                *ours = serde_json::from_str(told).unwrap_or_default();
            }
            Some((start, kind)) => {
                let end = if matches!(kind, Kind::Old { .. }) { OLD_END } else { END };
                // Another beginning before the end: the first block has lost its own.
                if line.starts_with(START) || line.starts_with(OLD_START) {
                    break;
                }
                if line.starts_with(end) {
                    if let Kind::Old { has_end } = kind {
                        *has_end = true;
                    }
                    let range = *start..range.end;
                    return begun.map(|(_, kind)| Block { range, kind });
                }
            }
            None => {}
        }
    }
    let (start, kind) = begun?;
    // Without an end it goes on up to the first header that is not of its kind, or to another block.
    let stranger = layout.headers.iter().map(|header| (header, layout.begins(header, not_marker)));
    let stranger = stranger
        .filter(|(_, begins)| *begins >= start)
        .find(|(header, _)| !kind.holds(&header.path) && !kind.holds_above(&header.path))
        .map(|(_, begins)| begins);
    let next = layout
        .lines()
        .filter(|(range, _)| range.start > start)
        .find(|(_, line)| line.starts_with(START) || line.starts_with(OLD_START))
        .map(|(range, _)| range.start);
    let whole = layout.lines().last().map_or(start, |(range, _)| range.end);
    let end = [stranger, next].into_iter().flatten().min().unwrap_or(whole);
    Some(Block { range: start..end, kind })
}

pub(super) fn not_marker(line: &str) -> bool {
    !is_marker(line)
}

/// The block's text around `body`.
pub(super) fn wrap(body: &str, holds: &Holds, eol: &str) -> String {
    let told = serde_json::to_string(holds).unwrap_or_default();
    let start = format!(
        "{START} `ostler migrate --write` wrote this, `ostler migrate --undo` takes it out"
    );
    let text = format!("{start}\n{HOLDS}{told}\n{body}{END}\n");
    if eol == "\n" { text } else { text.replace('\n', eol) }
}
