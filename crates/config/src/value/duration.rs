//! Times, with their unit: `"30s"`, `"1h30m"`.

use std::time::Duration;

use toml::de::DeValue;

use super::{Node, Place, Value, quoted};

const MINUTE: u64 = 60;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// From the largest, which is the order in which they are written.
const UNITS: [(char, u64); 4] = [('d', DAY), ('h', HOUR), ('m', MINUTE), ('s', 1)];

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * MINUTE)
}

pub(crate) const fn days(days: u64) -> Duration {
    Duration::from_secs(days * DAY)
}

impl Value for Duration {
    fn form() -> String {
        r#"a time such as "30s", "5m", "2h" or "7d""#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let read = match found.get_ref() {
            DeValue::String(text) => read_seconds(text),
            _ => None,
        };
        if read.is_none() {
            let message = place.describe_mismatch(found);
            match found.get_ref() {
                DeValue::Integer(number) => {
                    let advice =
                        format!("give it a unit: {}", quoted(&format!("{}s", number.as_str())));
                    place.advise(found, message, advice);
                }
                _ => place.complain(found, message),
            }
        }
        read.map(Duration::from_secs)
    }

    fn written(&self) -> Option<String> {
        Some(Self::written_amount(self.as_secs()))
    }

    fn amount(&self) -> Option<u64> {
        Some(self.as_secs())
    }

    fn written_amount(seconds: u64) -> String {
        let mut rest = seconds;
        let mut text = String::new();
        for (unit, size) in UNITS {
            if rest >= size {
                text.push_str(&format!("{}{unit}", rest / size));
                rest %= size;
            }
        }
        quoted(if text.is_empty() { "0s" } else { &text })
    }

    const OFF: Option<&'static str> = Some("off");
}

/// Each unit at most once, from the largest to the smallest, without spaces.
fn read_seconds(text: &str) -> Option<u64> {
    let mut units = UNITS.iter();
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit = tail.chars().next()?;
        let (_, size) = units.find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(*size)?)?;
        rest = tail.get(unit.len_utf8()..)?;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, read) in [
            ("30s", Some(30)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("90d", Some(90 * DAY)),
            ("0s", Some(0)),
            ("", None),
            ("30", None),
            ("s", None),
            ("30 s", None),
            ("1m1h", None),
            ("1m1m", None),
            ("-5s", None),
            ("1.5h", None),
            ("5ms", None),
            ("5µ", None),
            ("99999999999999999999s", None),
            ("999999999999999999d", None),
        ] {
            assert_eq!(read_seconds(text), read, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for seconds in [0, 1, 59, 60, 61, 3600, 5400, DAY, DAY + 1, 400 * DAY] {
            let written = Duration::written_amount(seconds);
            assert_eq!(read_seconds(written.trim_matches('"')), Some(seconds), "{written}");
        }
        assert_eq!(minutes(90).written().as_deref(), Some("\"1h30m\""));
    }
}
