//! Amounts of bytes, with their unit: `"2GiB"`.

use toml::de::DeValue;

use super::{Node, Place, Value, quoted};

pub(crate) const MEBIBYTE: u64 = 1 << 20;
pub(crate) const GIBIBYTE: u64 = 1 << 30;

/// From the largest. The decimal ones are read too, because disks are sold by them.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", GIBIBYTE),
    ("MiB", MEBIBYTE),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// So many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Value for Size {
    fn form() -> String {
        r#"a size such as "512MiB" or "2GiB""#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::String(text) => read_bytes(text),
            _ => None,
        };
        if read.is_none() {
            place.mismatch(found);
        }
        read.map(Self)
    }

    fn written(&self) -> Option<String> {
        Some(Self::written_amount(self.0))
    }

    fn amount(&self) -> Option<u64> {
        Some(self.0)
    }

    fn written_amount(bytes: u64) -> String {
        let fits = |(_, size): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*size);
        let (unit, size) = UNITS.iter().find(fits).unwrap_or(&("B", 1));
        quoted(&format!("{}{unit}", bytes / size))
    }

    const OFF: Option<&'static str> = Some("off");
}

fn read_bytes(text: &str) -> Option<u64> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit.trim_start_matches(' '))?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, read) in [
            ("2GiB", Some(2 * GIBIBYTE)),
            ("2 GiB", Some(2 * GIBIBYTE)),
            ("5MB", Some(5_000_000)),
            ("0B", Some(0)),
            ("2", None),
            ("GiB", None),
            ("2gib", None),
            ("-1B", None),
            ("1.5GiB", None),
            ("99999999999TiB", None),
            ("", None),
        ] {
            assert_eq!(read_bytes(text), read, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for bytes in [0, 1, 1023, 1 << 10, 5_000_000, 3 * GIBIBYTE, u64::MAX] {
            let written = Size::written_amount(bytes);
            assert_eq!(read_bytes(written.trim_matches('"')), Some(bytes), "{written}");
        }
        assert_eq!(Size(10 * GIBIBYTE).written().as_deref(), Some("\"10GiB\""));
    }
}
