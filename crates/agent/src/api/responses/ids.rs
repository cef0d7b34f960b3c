//! Ids that the API takes.

use sha2::{Digest, Sha256};

/// OpenAI refuses any id, key or header of this kind that is longer.
pub(super) const MAX_ID: usize = 64;

/// The id itself if the API takes it; otherwise one that is the same whenever the id is.
pub(super) fn short(id: &str, prefix: &str) -> String {
    match id.len() <= MAX_ID {
        true => id.to_owned(),
        false => format!("{prefix}{}", hash(&[id], 24)),
    }
}

/// A call's id as the API takes it. Some programs keep the item's id behind it: `call_1|fc_1`.
pub(super) fn call_id(id: &str) -> String {
    let call = id.split_once('|').map_or(id, |(call, _)| call);
    short(if call.is_empty() { id } else { call }, "call_")
}

/// For a call that came without an id of its own.
pub(super) fn derived_call_id(item_id: &str, name: &str, arguments: &str, place: usize) -> String {
    if let Some((call, _)) = item_id.split_once('|')
        && !call.is_empty()
    {
        return short(call, "call_");
    }
    match item_id.strip_prefix("fc_").filter(|rest| !rest.is_empty()) {
        Some(rest) => short(&format!("call_{rest}"), "call_"),
        None => format!("call_{}", hash(&[&format!("{name}:{arguments}:{place}")], 12)),
    }
}

/// The first `digits` of the hash of these texts with NUL between them.
pub(super) fn hash(texts: &[&str], digits: usize) -> String {
    let digest = Sha256::digest(texts.join("\0").as_bytes());
    let mut hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_as_long_as_the_api_takes_them() {
        let long = "x".repeat(65);
        let hashed = short(&long, "pck_");
        assert_eq!((hashed.len(), &hashed[..4]), (28, "pck_"));
        assert_eq!(short(&"x".repeat(64), "pck_"), "x".repeat(64));
        assert_eq!(call_id("call_1|fc_1"), "call_1");
        assert_eq!(call_id("call_1"), "call_1");
        assert_eq!(call_id(&long), call_id(&long));
        assert!(call_id(&long).len() <= MAX_ID);
    }

    #[test]
    fn a_call_without_an_id_gets_the_same_one_each_time() {
        assert_eq!(derived_call_id("call_1|fc_1", "n", "{}", 0), "call_1");
        assert_eq!(derived_call_id("fc_7", "n", "{}", 0), "call_7");
        let derived = derived_call_id("", "n", "{}", 0);
        assert_eq!(derived, "call_8f7f545f5cf9");
        assert_ne!(derived, derived_call_id("", "n", "{}", 1));
    }
}
