//! How much of a wider sandbox is granted, and for how long.

use std::collections::BTreeSet;

use ostler_model::Decision;
use ostler_model::ask::Permissions;
use ostler_model::decision::GrantHolds;

use super::{Besides, Reading, key};

#[derive(Debug)]
pub(crate) struct Grant {
    wanted: Permissions,
    besides: Besides,
}

impl Grant {
    pub(super) fn new(wanted: Permissions, besides: Besides) -> Self {
        Self { wanted, besides }
    }

    pub(super) fn question(&self) -> Vec<String> {
        let mut words = vec![key("y", "all, this turn"), key("s", "all, this session")];
        if count(&self.wanted) > 1 {
            words.push(key("1 2 …", "only these (with s: this session)"));
        }
        words.push(key("n", "no [why]"));
        if self.besides.view {
            words.push(key("v", "view all"));
        }
        if self.besides.later {
            words.push(key("d", "later"));
        }
        vec![words.join("  ")]
    }

    pub(super) fn read(&self, line: &str) -> Reading {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word.to_lowercase().as_str(), rest.trim()) {
            ("y" | "yes", "") => return self.all(GrantHolds::Turn),
            ("s" | "session", "") => return self.all(GrantHolds::Session),
            ("n" | "no" | "deny", why) => {
                let reason = (!why.is_empty()).then(|| why.to_owned());
                return Reading::Decided { decision: Decision::Deny, reason };
            }
            ("v" | "view", "") if self.besides.view => return Reading::View,
            ("d" | "later", "") if self.besides.later => return Reading::Later,
            _ => {}
        }
        self.some(line)
    }

    fn all(&self, holds: GrantHolds) -> Reading {
        Reading::decided(Decision::Grant { permissions: self.wanted.clone(), holds })
    }

    fn some(&self, line: &str) -> Reading {
        let mut holds = GrantHolds::Turn;
        let mut chosen = BTreeSet::new();
        for word in line.split([' ', ',']).filter(|word| !word.is_empty()) {
            match word.parse::<usize>() {
                Ok(number) if (1..=count(&self.wanted)).contains(&number) => {
                    chosen.insert(number);
                }
                Err(_) if word.eq_ignore_ascii_case("s") => holds = GrantHolds::Session,
                _ => return Reading::again("give the numbers of what you grant"),
            }
        }
        if chosen.is_empty() {
            return Reading::Again(None);
        }
        let permissions = select(&self.wanted, &chosen);
        Reading::decided(Decision::Grant { permissions, holds })
    }
}

/// The number of single permissions; they are numbered in the order network, read, write, rules.
fn count(wanted: &Permissions) -> usize {
    usize::from(wanted.network == Some(true))
        + wanted.read.len()
        + wanted.write.len()
        + wanted.rules.len()
}

fn select(wanted: &Permissions, chosen: &BTreeSet<usize>) -> Permissions {
    let mut number = 0;
    let mut is_chosen = || {
        number += 1;
        chosen.contains(&number)
    };
    let network = (wanted.network == Some(true)).then(&mut is_chosen).filter(|chosen| *chosen);
    let mut pick =
        |list: &[String]| -> Vec<String> { list.iter().filter(|_| is_chosen()).cloned().collect() };
    Permissions {
        network,
        read: pick(&wanted.read),
        write: pick(&wanted.write),
        rules: pick(&wanted.rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        let wanted = Permissions {
            network: Some(true),
            read: vec!["/r".into()],
            write: vec!["/a".into(), "/b".into()],
            rules: vec![],
        };
        Grant::new(wanted, Besides { view: false, later: false })
    }

    fn granted(line: &str) -> Option<(Permissions, GrantHolds)> {
        match grant().read(line) {
            Reading::Decided { decision: Decision::Grant { permissions, holds }, .. } => {
                Some((permissions, holds))
            }
            _ => None,
        }
    }

    #[test]
    fn all_of_it_can_be_granted_for_the_turn_or_the_session() {
        let wanted = grant().wanted;
        assert_eq!(granted("y"), Some((wanted.clone(), GrantHolds::Turn)));
        assert_eq!(granted("s"), Some((wanted, GrantHolds::Session)));
    }

    #[test]
    fn a_part_is_named_by_its_numbers() {
        let only = |network, read: &[&str], write: &[&str]| Permissions {
            network,
            read: read.iter().map(|&path| path.into()).collect(),
            write: write.iter().map(|&path| path.into()).collect(),
            rules: vec![],
        };
        assert_eq!(granted("1"), Some((only(Some(true), &[], &[]), GrantHolds::Turn)));
        assert_eq!(granted("2, 4 s"), Some((only(None, &["/r"], &["/b"]), GrantHolds::Session)));
    }

    #[test]
    fn what_was_not_asked_for_cannot_be_granted() {
        for line in ["0", "5", "1 x", "", "ok"] {
            assert_eq!(granted(line), None, "{line}");
        }
        let reason = Some("not here".to_owned());
        let denied = Reading::Decided { decision: Decision::Deny, reason };
        assert_eq!(grant().read("n not here"), denied);
    }
}
