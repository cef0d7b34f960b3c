//! What runs under keepers, and what dead ones left behind.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use ostler_codex::keeper::{self, Condition, Found};

use super::check::{Check, Name};
use super::page::count;

/// The age from which `ostler keeper sweep` takes folders away when it is not told another.
pub(super) const STALE_AFTER: Duration = Duration::from_hours(24);

/// One keeper, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    Alive,
    /// Codex runs without anybody who would end it.
    Orphaned {
        id: String,
    },
    Broken {
        id: String,
    },
    /// Ended, and not long ago: somebody may still want to read its log.
    Ended,
    Stale,
}

pub(super) fn gather(root: &Path, now: Timestamp) -> Result<Vec<Kept>, String> {
    let found = keeper::list(root).map_err(|error| error.to_string())?;
    Ok(found.iter().map(|keeper| kept(keeper, now)).collect())
}

pub(super) fn judge(kept: &Result<Vec<Kept>, String>) -> Check {
    let kept = match kept {
        Ok(kept) => kept,
        Err(error) => return Check::problem(Name::Keepers, error),
    };
    let of = |wanted: &Kept| kept.iter().filter(|kept| *kept == wanted).count();
    let (running, ended, stale) = (of(&Kept::Alive), of(&Kept::Ended), of(&Kept::Stale));
    let mut found = match running {
        0 => vec!["none runs".to_owned()],
        1 => vec!["1 runs".to_owned()],
        _ => vec![format!("{running} run")],
    };
    if ended > 0 {
        found.push(format!("{ended} ended within the last day"));
    }
    let mut advice = Vec::new();
    for keeper in kept {
        match keeper {
            Kept::Orphaned { id } => {
                found.push(format!("keeper {id} is dead but its Codex is not"));
                advice.push(format!("run `ostler keeper stop {id}`"));
            }
            Kept::Broken { id } => {
                found.push(format!("the record of {id} cannot be read"));
                advice.push(format!("run `ostler keeper stop {id}` to end what is left of it"));
            }
            Kept::Alive | Kept::Ended | Kept::Stale => {}
        }
    }
    if stale > 0 {
        found.push(format!("{} of dead keepers", count(stale, "old folder")));
        advice.push("run `ostler keeper sweep`".to_owned());
    }
    let found = found.join("; ");
    if advice.is_empty() {
        return Check::ok(Name::Keepers, found);
    }
    Check::warning(Name::Keepers, found).advise(advice.join("; "))
}

fn kept(keeper: &Found, now: Timestamp) -> Kept {
    let id = keeper.id().to_string();
    match &keeper.condition {
        // One in a container is that container's business.
        Condition::Starting | Condition::Running | Condition::Elsewhere => Kept::Alive,
        Condition::KeeperDead => Kept::Orphaned { id },
        Condition::Broken { .. } => Kept::Broken { id },
        Condition::Gone => Kept::Stale,
        Condition::Ended(ended) => {
            let age = Duration::try_from(now.duration_since(ended.at));
            if age.is_ok_and(|age| age >= STALE_AFTER) { Kept::Stale } else { Kept::Ended }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_wants_a_hand_is_a_warning() {
        let id = || "0123abcd".to_owned();
        let ok = |found: &str| Check::ok(Name::Keepers, found);
        let warning =
            |found: &str, advice: &str| Check::warning(Name::Keepers, found).advise(advice);
        for (kept, expected) in [
            (vec![], ok("none runs")),
            (vec![Kept::Alive], ok("1 runs")),
            (vec![Kept::Alive, Kept::Ended, Kept::Alive], ok("2 run; 1 ended within the last day")),
            (
                vec![Kept::Orphaned { id: id() }],
                warning(
                    "none runs; keeper 0123abcd is dead but its Codex is not",
                    "run `ostler keeper stop 0123abcd`",
                ),
            ),
            (
                vec![Kept::Broken { id: id() }, Kept::Stale, Kept::Stale],
                warning(
                    "none runs; the record of 0123abcd cannot be read; 2 old folders of dead keepers",
                    "run `ostler keeper stop 0123abcd` to end what is left of it; run `ostler keeper sweep`",
                ),
            ),
        ] {
            assert_eq!(judge(&Ok(kept)), expected);
        }
        let error = "cannot read /x".to_owned();
        assert_eq!(judge(&Err(error)), Check::problem(Name::Keepers, "cannot read /x"));
    }
}
