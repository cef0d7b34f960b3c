//! Keepers as a table for people and as JSON for programs.

use jiff::Timestamp;
use ostler_codex::keeper::{Condition, Found, State};
use serde_json::{Value, json};

/// A terminal's usual width; a longer line would break and a table with it.
const WIDTH: usize = 80;

/// The columns before the last one, with their widths: id, state, pid of codex, number of processes, age.
const HEAD: [(&str, usize); 5] = [("ID", 8), ("STATE", 11), ("PID", 7), ("PROCS", 5), ("AGE", 5)];

/// As long as a line may be, with the word before it.
const ELSEWHERE_ADVICE: &str = "in another pid namespace, e.g. a container; run ostler there";

pub(super) fn as_text(found: &[Found], now: Timestamp) -> String {
    let mut lines = vec![line(&HEAD.map(|(name, _)| name.to_owned()), "DETAIL")];
    for keeper in found {
        let record = keeper.record.as_ref();
        let pid = record.and_then(|record| record.codex);
        let started = record.map(|record| record.started_at);
        let cells = [
            keeper.id().to_string(),
            state(keeper).to_owned(),
            pid.map_or_else(|| "-".to_owned(), |codex| codex.pid.to_string()),
            keeper.processes.len().to_string(),
            started.map_or_else(|| "-".to_owned(), |started| age(started, now)),
        ];
        lines.push(line(&cells, &detail(keeper)));
    }
    if found.iter().any(is_elsewhere) {
        lines.push(format!("elsewhere: {ELSEWHERE_ADVICE}"));
    }
    lines.join("\n")
}

pub(super) fn as_json(keeper: &Found) -> Value {
    let broken = match &keeper.condition {
        Condition::Broken { reason } => Some(reason),
        _ => None,
    };
    let advice = is_elsewhere(keeper).then_some(ELSEWHERE_ADVICE);
    json!({
        "id": keeper.id(),
        "state": state(keeper),
        "folder": keeper.folder.path(),
        "socket": keeper.folder.socket(),
        "processes": keeper.processes,
        "broken": broken,
        "advice": advice,
        "record": keeper.record,
    })
}

fn is_elsewhere(keeper: &Found) -> bool {
    keeper.condition == Condition::Elsewhere
}

fn state(keeper: &Found) -> &'static str {
    match (&keeper.condition, keeper.record.as_ref().map(|record| record.state)) {
        (Condition::Running, Some(State::Draining)) => "draining",
        (Condition::Running, Some(State::Ending | State::Ended)) => "ending",
        (Condition::Running, Some(State::Starting)) | (Condition::Starting, _) => "starting",
        (Condition::Running, _) => "running",
        (Condition::KeeperDead, _) => "keeper-dead",
        (Condition::Ended(_), _) => "ended",
        (Condition::Gone, _) => "gone",
        (Condition::Broken { .. }, _) => "broken",
        (Condition::Elsewhere, _) => "elsewhere",
    }
}

fn detail(keeper: &Found) -> String {
    let home = keeper.record.as_ref().and_then(|record| record.codex_home.as_ref());
    match &keeper.condition {
        Condition::Ended(ended) => ended.exit.to_string(),
        Condition::Broken { reason } => reason.clone(),
        Condition::Gone => "nobody saw its end".to_owned(),
        _ => home.map_or_else(String::new, |home| home.display().to_string()),
    }
}

/// The largest unit that fits: nobody needs the seconds of a week.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn line(cells: &[String; 5], detail: &str) -> String {
    let mut text = String::new();
    for (cell, (_, width)) in cells.iter().zip(HEAD) {
        text.push_str(&format!("{cell:<width$}  "));
    }
    let room = WIDTH.saturating_sub(text.chars().count());
    let detail: Vec<char> = detail.chars().filter(|character| !character.is_control()).collect();
    let hidden = detail.len().saturating_sub(room);
    if hidden > 0 {
        // The end of a path tells more than its beginning.
        text.push('…');
        text.extend(detail.iter().skip(hidden + 1));
    } else {
        text.extend(detail);
    }
    text.trim_end().to_owned()
}
