//! File names for thread ids, which are opaque text from outside.

use sha2::{Digest, Sha256};

/// What belongs to no thread.
const CONNECTION: &str = "connection";

/// File systems take 255 bytes; this leaves room for numbers and endings. A UUID has 36.
const MAX_NAME_BYTES: usize = 128;

/// A file name without ending: two ids never have the same. Letters, digits, `-` and `_` stay, every other byte is
/// written `%XX`. A long one is cut and ends in `%~` and its digest, which no other name can.
pub(crate) fn file_stem(thread: Option<&str>) -> String {
    let Some(thread) = thread else { return CONNECTION.to_owned() };
    let mut stem = String::new();
    for (at, byte) in thread.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        // A thread that is called like the file of the connection.
        if is_plain && !(at == 0 && thread == CONNECTION) {
            stem.push(char::from(byte));
        } else {
            stem.push_str(&format!("%{byte:02X}"));
        }
    }
    if thread.is_empty() {
        return "%".to_owned();
    }
    if stem.len() > MAX_NAME_BYTES {
        let digest = Sha256::digest(thread.as_bytes());
        let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        stem.truncate(MAX_NAME_BYTES / 2);
        stem.push_str("%~");
        stem.push_str(&digest);
    }
    stem
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_safe_and_different() {
        let uuid = "01a1e163-b3a8-7fe2-ab80-47992c540628";
        assert_eq!(file_stem(Some(uuid)), uuid);
        assert_eq!(file_stem(Some("../x y")), "%2E%2E%2Fx%20y");
        let long = "y".repeat(500);
        let longer = "y".repeat(501);
        let cut = file_stem(Some(&long));
        let ids = [
            uuid,
            "",
            ".",
            "..",
            "/",
            "%",
            "%2F",
            "connection",
            "a.2",
            "ü",
            "\0",
            "-",
            &long,
            &longer,
            &cut,
        ];
        let mut stems: HashSet<_> = ids.iter().map(|id| file_stem(Some(id))).collect();
        stems.insert(file_stem(None));
        assert_eq!(stems.len(), ids.len() + 1);
        for stem in stems {
            assert!(stem.len() <= MAX_NAME_BYTES && !stem.contains(['/', '.', '\0']), "{stem}");
        }
    }
}
