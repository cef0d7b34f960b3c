//! Times as people read them.

use std::time::Duration;

use jiff::Timestamp;

/// The largest unit that fits: nobody needs the seconds of a week.
pub(crate) fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// How long ago.
pub(crate) fn ago(at: i64, now: i64) -> String {
    format!("{} ago", span(now.saturating_sub(at)))
}

/// A moment to come, with how long that is from now.
pub(crate) fn until(at: i64, now: i64) -> String {
    format!("{} (in {})", moment(at, "%Y-%m-%d %H:%M"), span(at.saturating_sub(now)))
}

/// A moment, to the second.
pub(crate) fn at(at: i64) -> String {
    moment(at, "%Y-%m-%d %H:%M:%S")
}

fn moment(at: i64, format: &str) -> String {
    Timestamp::from_millisecond(at).map_or_else(
        |_| at.to_string(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime(format).to_string(),
    )
}

/// `10m`, `1h30m`, `2d`, or seconds as a bare number.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "give a time such as 90s, 10m, 1h30m or 2 days".to_owned();
    if let Ok(seconds) = text.parse::<u64>() {
        return if seconds > 0 { Ok(Duration::from_secs(seconds)) } else { Err(wrong()) };
    }
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let time = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(time).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_people_do() {
        let seconds = |text| duration(text).map(|time| time.as_secs()).ok();
        assert_eq!(
            ["90", "90s", "10m", "1h30m", "2d", "0", "-5s", "soon"].map(seconds),
            [Some(90), Some(90), Some(600), Some(5400), Some(172_800), None, None, None]
        );
        assert_eq!(
            [0, 119_000, 120_000, 7_200_000, 200_000_000, -1].map(span),
            ["0s", "119s", "2m", "2h", "2d", "0s"]
        );
    }
}
