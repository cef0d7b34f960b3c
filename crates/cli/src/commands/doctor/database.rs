//! Whether our databases are whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::DecimalBytes;
use ostler_engine::{Sound, StoreError, quick_check, quick_check_conversations};

use super::check::{Check, Name};

/// A gigabyte takes a second from memory and ten from a slow disk.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);

/// Four times what the writer lets it grow to before it begins anew: then it could not for a long time.
const LARGE_LOG_BYTES: u64 = 64 << 20;

/// One file, and what a look at every page of it showed. `None`: it is not there yet.
pub(super) struct Database {
    what: &'static str,
    path: PathBuf,
    state: Option<Result<Sound, StoreError>>,
}

/// Reads all of both; nothing is changed, and a daemon may go on meanwhile.
pub(super) fn gather(tasks: &Path, conversations: &Path) -> Vec<Database> {
    let look = |what, path: &Path, check: fn(&Path) -> Result<Sound, StoreError>| {
        let state = path.exists().then(|| check(path));
        Database { what, path: path.to_owned(), state }
    };
    vec![
        look("tasks", tasks, quick_check),
        look("conversations", conversations, quick_check_conversations),
    ]
}

pub(super) fn judge(databases: &[Database]) -> Check {
    let details =
        databases.iter().map(|database| format!("{}: {}", database.what, words(database)));
    let details: Vec<String> = details.collect();
    let broken = databases.iter().filter(|database| matches!(database.state, Some(Err(_))));
    let broken: Vec<&Database> = broken.collect();
    if let [first, ..] = broken.as_slice() {
        let names: Vec<&str> = broken.iter().map(|database| database.what).collect();
        let advice = match &first.state {
            Some(Err(StoreError::Newer { .. })) => "use the newer ostler that wrote it".to_owned(),
            _ => format!(
                "stop the daemon, copy {0} away, and save what can be read: `sqlite3 {0} .recover | sqlite3 new.db`",
                first.path.display()
            ),
        };
        let found = format!("cannot be used: {}", names.join(", "));
        return Check::problem(Name::Databases, found).with_details(details).advise(advice);
    }
    let sound = |database: &Database| matches!(database.state, Some(Ok(_)));
    if !databases.iter().any(sound) {
        return Check::ok(Name::Databases, "there are none yet");
    }
    let found = "whole";
    let logs = databases.iter().filter_map(|database| database.state.as_ref()?.as_ref().ok());
    if logs.clone().any(|sound| sound.log_bytes > LARGE_LOG_BYTES) {
        let found = format!("{found}, but the log is large");
        return Check::warning(Name::Databases, found)
            .with_details(details)
            .advise("restart the daemon with `ostler daemon restart`: it then takes the log in");
    }
    Check::ok(Name::Databases, found).with_details(details)
}

fn words(database: &Database) -> String {
    let path = database.path.display();
    match &database.state {
        None => format!("{path} is not there yet"),
        // The error names the file itself.
        Some(Err(error)) => error.to_string(),
        Some(Ok(sound)) => {
            let layout = if sound.layout < sound.newest_layout {
                format!(
                    "layout {}, which the next daemon brings up to {}",
                    sound.layout, sound.newest_layout
                )
            } else {
                format!("layout {}", sound.layout)
            };
            format!(
                "{path}, {} ({} of it free), log {}, {layout}",
                DecimalBytes(sound.bytes),
                DecimalBytes(sound.free_bytes),
                DecimalBytes(sound.log_bytes)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(state: Option<Result<Sound, StoreError>>) -> Database {
        Database { what: "tasks", path: "/s/ostler.db".into(), state }
    }

    fn sound(layout: i64, log_bytes: u64) -> Option<Result<Sound, StoreError>> {
        let sizes = (40_000, 4_000);
        Some(Ok(Sound { layout, newest_layout: 2, bytes: sizes.0, free_bytes: sizes.1, log_bytes }))
    }

    #[test]
    fn what_is_broken_is_a_problem_and_a_large_log_a_warning() {
        use super::super::check::State;
        let corrupt =
            StoreError::Corrupt { path: "/s/ostler.db".into(), detail: "page 3".to_owned() };
        for (state, expected, found, detail) in [
            (None, State::Ok, "there are none yet", ""),
            (
                sound(2, 0),
                State::Ok,
                "whole",
                "/s/ostler.db, 40.00 kB (4.00 kB of it free), log 0 B, layout 2",
            ),
            (
                sound(1, 65 << 20),
                State::Warning,
                "whole, but the log is large",
                "/s/ostler.db, 40.00 kB (4.00 kB of it free), log 68.16 MB, layout 1, which the next daemon brings up to 2",
            ),
            (Some(Err(corrupt)), State::Problem, "cannot be used: tasks", "page 3"),
        ] {
            let check = judge(&[database(state)]);
            assert_eq!((check.state, check.found.as_str()), (expected, found));
            assert!(check.details.concat().contains(detail), "{:?}", check.details);
        }
    }
}
