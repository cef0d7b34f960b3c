//! Ids of projected calls: unique in a conversation, and the same each time it is projected.

use std::collections::BTreeSet;
use std::fmt::Write;

use ostler_model::{ItemId, TurnId};
use sha2::{Digest, Sha256};

/// The longest call id that the Responses API takes back.
const LONGEST: usize = 64;

/// Hex digits of a turn's mark. They tell apart only turns that share item ids, so 32 bits are plenty, and a command of
/// code mode (`codex_exec_exec-<uuid>`, 52 bytes) still fits unshortened.
const MARK_DIGITS: usize = 8;

/// Hex digits that stand for what was cut from an id.
const DIGEST_DIGITS: usize = 16;

#[derive(Debug)]
pub(crate) struct CallIds {
    mark: String,
    used: BTreeSet<String>,
    without_id: usize,
}

impl CallIds {
    pub(crate) fn of_turn(turn: &TurnId) -> Self {
        let mark = digest(turn.as_str(), MARK_DIGITS);
        Self { mark, used: BTreeSet::new(), without_id: 0 }
    }

    /// The id of the next call of this turn.
    pub(crate) fn next(&mut self, stem: &str, item: &ItemId) -> String {
        let base = if item.as_str().is_empty() {
            self.without_id += 1;
            format!("{stem}n{}", self.without_id)
        } else {
            format!("{stem}{item}")
        };
        let mut id = bounded(&base, &format!("_{}", self.mark));
        let mut same = 1;
        while !self.used.insert(id.clone()) {
            same += 1;
            id = bounded(&base, &format!("_{}_{same}", self.mark));
        }
        id
    }
}

fn bounded(base: &str, end: &str) -> String {
    let room = LONGEST.saturating_sub(end.len());
    if base.len() <= room {
        return format!("{base}{end}");
    }
    let head = base.floor_char_boundary(room.saturating_sub(DIGEST_DIGITS + 1));
    let head = base.get(..head).unwrap_or_default();
    format!("{head}_{}{end}", digest(base, DIGEST_DIGITS))
}

fn digest(text: &str, digits: usize) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text).iter().take(digits / 2) {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::CallIds;

    #[test]
    fn ids_are_unique_in_and_across_turns_and_the_same_again() {
        let ids = |turn: &str| {
            let mut ids = CallIds::of_turn(&turn.into());
            ["call_1", "call_1", "", "", "n1"].map(|item| ids.next("codex_exec_", &item.into()))
        };

        assert_eq!(
            ids("turn-a"),
            [
                "codex_exec_call_1_2dfa6d12",
                "codex_exec_call_1_2dfa6d12_2",
                "codex_exec_n1_2dfa6d12",
                "codex_exec_n2_2dfa6d12",
                "codex_exec_n1_2dfa6d12_2",
            ]
        );
        assert_eq!(ids("turn-b")[0], "codex_exec_call_1_8cbcc0d4");
    }

    #[test]
    fn a_long_id_is_shortened_to_what_model_apis_take_and_stays_unique() {
        let mut ids = CallIds::of_turn(&"t".into());
        let long = |end: &str| format!("{}{end}", "ü".repeat(40));

        let first = ids.next("codex_mcp__server__tool_", &long("1").as_str().into());
        let second = ids.next("codex_mcp__server__tool_", &long("2").as_str().into());
        let code_mode =
            ids.next("codex_exec_", &format!("exec-{}", "0".repeat(36)).as_str().into());

        assert!(first.len() <= 64 && second.len() <= 64, "{first} {second}");
        assert_ne!(first, second);
        assert!(code_mode.starts_with(&format!("codex_exec_exec-{}_", "0".repeat(36))));
    }
}
