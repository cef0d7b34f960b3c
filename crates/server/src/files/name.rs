//! Names of files as others give them.

use crate::problem::{Problem, Trouble};

/// What file systems take is 255 bytes; a number may be added.
const NAME_BYTES: usize = 200;

/// The name itself, without whatever folders stand before it. People's letters stay.
pub(super) fn checked(given: &str) -> Result<String, Problem> {
    let name = given.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let is_fine = !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= NAME_BYTES
        && !name.chars().any(char::is_control);
    match is_fine {
        true => Ok(name.to_owned()),
        false => {
            let detail = format!("{given:?} is no name for a file");
            let hint = format!("up to {NAME_BYTES} bytes that do not start with a dot");
            Err(Problem::new(Trouble::BadRequest, detail).hint(hint))
        }
    }
}

/// The same name for the second and further files that are called so.
pub(super) fn numbered(name: &str, number: u32) -> String {
    match (number, name.rsplit_once('.')) {
        (0 | 1, _) => name.to_owned(),
        (number, Some((stem, extension))) if !stem.is_empty() => {
            format!("{stem} ({number}).{extension}")
        }
        (number, _) => format!("{name} ({number})"),
    }
}

/// A name in a header, as RFC 6266 and RFC 8187 write it: nothing of it can end the header.
pub(super) fn in_header(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | ' ' | '(' | ')' => letter,
            _ => '_',
        })
        .collect();
    let mut encoded = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_names() {
        let good = [
            ("a.png", "a.png"),
            ("über uns.txt", "über uns.txt"),
            ("/etc/passwd", "passwd"),
            ("C:\\x\\y.txt", "y.txt"),
        ];
        for (given, name) in good {
            assert_eq!(checked(given).unwrap(), name);
        }
        let long = "x".repeat(201);
        for given in ["", ".", "..", "a/..", ".bashrc", "a\nb", "a\0b", "/", &long] {
            assert!(checked(given).is_err(), "{given:?}");
        }
    }

    #[test]
    fn the_second_of_a_name_is_numbered() {
        let named = [("a.png", 1), ("a.png", 2), ("a", 3), ("a.tar.gz", 2)]
            .map(|(name, number)| numbered(name, number));
        assert_eq!(named, ["a.png", "a (2).png", "a (3)", "a.tar (2).gz"]);
    }

    #[test]
    fn no_name_ends_a_header() {
        let expected =
            "filename=\"a___set-cookie_ x\"; filename*=UTF-8''a%22%0D%0Aset-cookie%3A%20x";
        assert_eq!(in_header("a\"\r\nset-cookie: x"), expected);
        assert_eq!(in_header("ü.txt"), "filename=\"_.txt\"; filename*=UTF-8''%C3%BC.txt");
    }
}
