//! Bytes of a page as text, in whatever it was written.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Where browsers look for what a page says of itself.
const SNIFFED: usize = 1024;

/// `declared` is what the server said. A mark at the beginning beats it, and it beats what the page says of itself.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>) -> String {
    let said = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = said.or_else(|| in_page(bytes)).unwrap_or_else(|| guessed(bytes));
    // It sees the mark itself.
    encoding.decode(bytes).0.into_owned()
}

/// The `charset` of a content type.
pub(super) fn of_content_type(value: &str) -> Option<&str> {
    let parameters = value.split(';').skip(1).filter_map(|part| part.split_once('='));
    parameters
        .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
        .find(|(name, _)| name.eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value)
}

/// `<meta charset=…>`, `<meta http-equiv … content="…charset=…">` and `<?xml encoding="…"?>`.
fn in_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let beginning = bytes.get(..SNIFFED.min(bytes.len())).unwrap_or_default();
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let in_meta = text.match_indices("<meta").find_map(|(at, _)| {
        let tag = text.get(at..)?.split('>').next()?;
        named(tag, "charset")
    });
    let in_xml = || {
        let head = text.trim_start().strip_prefix("<?xml")?.split("?>").next()?;
        named(head, "encoding")
    };
    let found = in_meta.or_else(in_xml)?;
    // A page whose ASCII could be read so far is not written in two bytes for each letter, whatever it says.
    match found.name() {
        "UTF-16LE" | "UTF-16BE" => Some(UTF_8),
        _ => Some(found),
    }
}

fn named(text: &str, name: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once(name)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let value = value.split(|end: char| end.is_whitespace() || "\"';/?>".contains(end)).next()?;
    Encoding::for_label(value.as_bytes())
}

/// Old pages that say nothing are mostly in the one of Windows.
fn guessed(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // Cut in the middle of a letter.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, of_content_type};

    #[test]
    fn a_mark_beats_the_server_and_the_server_beats_the_page() {
        let cases: [(&[u8], Option<&str>, &str); 9] = [
            ("größe".as_bytes(), None, "größe"),
            (b"gr\xf6\xdfe", None, "größe"),
            (b"gr\xf6\xdfe", Some("iso-8859-1"), "größe"),
            (b"\xef\xbb\xbfgr\xc3\xb6\xc3\x9fe", Some("iso-8859-1"), "größe"),
            (b"\xff\xfeg\0r\0", Some("utf-8"), "gr"),
            (b"<meta charset=koi8-r>\xd0\xd2", None, "<meta charset=koi8-r>пр"),
            (
                b"<meta http-equiv=x content='text/html; charset=Shift_JIS'>\x82\xa0",
                None,
                "<meta http-equiv=x content='text/html; charset=Shift_JIS'>あ",
            ),
            (
                b"<?xml version='1.0' encoding='windows-1251'?>\xcf",
                None,
                "<?xml version='1.0' encoding='windows-1251'?>П",
            ),
            (b"<meta charset=utf-16>a", None, "<meta charset=utf-16>a"),
        ];
        for (bytes, declared, wanted) in cases {
            assert_eq!(decode(bytes, declared), wanted, "{declared:?}");
        }
    }

    #[test]
    fn the_charset_is_found_among_the_parameters() {
        assert_eq!(of_content_type("text/html; a=b; CharSet=\"UTF-8\""), Some("UTF-8"));
        assert_eq!(of_content_type("text/html"), None);
    }
}
