//! Times in the texts of limits. What cannot be read for certain is no time at all.

use jiff::Zoned;
use jiff::civil::{Date, DateTime, Time};

/// When the plan's allowance comes back, in Unix seconds: `… or try again at 3:33 AM.` on the day of writing,
/// `… or try again at Nov 19th, 2026 1:46 AM.` on any other (0.130.0, 0.142.5, 0.166.0).
///
/// Codex leaves the seconds out; the answer is the end of that minute, when the reset has certainly been. A time that
/// has gone by, or that the zone has twice or never, is none.
pub(super) fn reset_in_text(message: &str, now: &Zoned) -> Option<i64> {
    let (before, written) = message.strip_suffix('.')?.rsplit_once("ry again at ")?;
    if !before.ends_with(['t', 'T']) {
        return None;
    }
    let minute = match written.split_once(", ") {
        None => DateTime::from_parts(now.date(), read_time(written)?),
        Some((day, rest)) => {
            let (year, time) = rest.split_once(' ')?;
            DateTime::from_parts(read_date(day, year)?, read_time(time)?)
        }
    };
    let minute = now.time_zone().to_ambiguous_zoned(minute).unambiguous().ok()?;
    let end = minute.timestamp().as_second().checked_add(60)?;
    (end > now.timestamp().as_second()).then_some(end)
}

/// How long to wait: `Please try again in 1.2s.`, `… in 37ms.`, `Try again in 17 seconds.`, `… in 6m0s.`
///
/// Codex itself reads the same words for its own retries (0.130.0, 0.142.5, 0.166.0).
pub(super) fn retry_after_ms(message: &str) -> Option<u64> {
    let (before, written) = message.rsplit_once("ry again in ")?;
    if !before.ends_with(['t', 'T']) {
        return None;
    }
    let mut rest = written;
    let mut total_ms = 0.0;
    let mut parts = 0;
    while rest.starts_with(|first: char| first.is_ascii_digit()) {
        let (number, behind) = split_where(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, behind) = split_where(behind.trim_start(), |c| !c.is_ascii_alphabetic());
        total_ms += number.parse::<f64>().ok()? * unit_ms(unit)?;
        parts += 1;
        rest = behind;
    }
    let is_whole = rest.is_empty() || rest == "." || rest.starts_with(". ");
    // More than a day is no short wait, and would be read wrong rather than meant.
    let is_sane = (0.0..=86_400_000.0).contains(&total_ms);
    (parts > 0 && is_whole && is_sane).then(|| whole_ms(total_ms))
}

/// Rounded up, so that nobody comes too early.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller keeps it between 0 and a day"
)]
fn whole_ms(total_ms: f64) -> u64 {
    total_ms.ceil() as u64
}

fn unit_ms(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(1.0),
        "s" | "second" | "seconds" => Some(1000.0),
        "m" | "minute" | "minutes" => Some(60_000.0),
        "h" | "hour" | "hours" => Some(3_600_000.0),
        _ => None,
    }
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// `3:33 AM`
fn read_time(text: &str) -> Option<Time> {
    let (clock, half) = text.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let minute = minute.parse().ok().filter(|_| minute.len() == 2)?;
    let afternoon = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Time::new(hour % 12 + afternoon, minute, 0, 0).ok()
}

/// `Nov 19th` and `2026`
fn read_date(day: &str, year: &str) -> Option<Date> {
    let (month, day) = day.split_once(' ')?;
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = (1..).zip(months).find(|(_, name)| *name == month)?.0;
    let (number, suffix) = split_where(day, |c| !c.is_ascii_digit());
    if !["st", "nd", "rd", "th"].contains(&suffix) {
        return None;
    }
    Date::new(year.parse().ok()?, month, number.parse().ok()?).ok()
}
