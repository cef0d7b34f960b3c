//! What has changed in the settings, and what of it holds at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ostler_config::Reading;

/// Keys of what the daemon opens when it starts. Everything else holds from the moment on in which it is read; what runs
/// goes on with what it began with.
const AFTER_A_RESTART: [&str; 10] = [
    "store.path",
    "daemon.socket",
    "daemon.log",
    "server.listen",
    "server.hosts",
    "server.tls_certificate",
    "server.tls_key",
    "server.unseen_may_decide",
    "worktree.folder",
    "worktree.branch_prefix",
];

/// The service manager has it in its unit.
const AFTER_AN_INSTALL: [&str; 1] = ["daemon.watchdog"];

/// Keys whose values are others than before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    at_once: Vec<String>,
    after_restart: Vec<String>,
    after_install: Vec<String>,
}

impl Difference {
    pub(super) fn between(before: &Reading, after: &Reading) -> Self {
        let (before, after) = (values(before), values(after));
        let mut difference = Self::default();
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys.into_iter().filter(|key| before.get(*key) != after.get(*key)) {
            let kind = match key.as_str() {
                key if AFTER_A_RESTART.contains(&key) => &mut difference.after_restart,
                key if AFTER_AN_INSTALL.contains(&key) => &mut difference.after_install,
                _ => &mut difference.at_once,
            };
            kind.push(key.clone());
        }
        difference
    }
}

/// In one line, for a log.
impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("applied", &self.at_once),
            ("only after `ostler daemon restart`", &self.after_restart),
            ("only after `ostler service install`", &self.after_install),
        ];
        let parts = parts.iter().filter(|(_, keys)| !keys.is_empty());
        let parts: Vec<String> =
            parts.map(|(when, keys)| format!("{when}: {}", keys.join(", "))).collect();
        match parts.is_empty() {
            true => formatter.write_str("settings read again; nothing has changed"),
            false => write!(formatter, "settings read again; {}", parts.join("; ")),
        }
    }
}

/// All rules together are one value: which of them is which nobody can tell.
fn values(reading: &Reading) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for setting in reading.settings() {
        let value = setting.value.unwrap_or_default();
        match setting.key.starts_with("policy[") {
            true => {
                let rules = values.entry("policy".to_owned()).or_default();
                rules.push_str(&format!("{}={value}\n", setting.key));
            }
            false => drop(values.insert(setting.key, value)),
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use ostler_config::{Surroundings, parse};

    use super::*;

    fn said(before: &str, after: &str) -> String {
        let read = |text| parse(text, &Surroundings::usual()).unwrap();
        Difference::between(&read(before), &read(after)).to_string()
    }

    #[test]
    fn every_key_that_changed_is_named_with_the_time_from_which_it_holds() {
        let rule = "[[policy]]\ndecision = \"deny\"\nhost = \"example.com\"\n";
        let before = format!("[limits]\nrunning = 2\n{rule}");
        assert_eq!(said(&before, &before), "settings read again; nothing has changed");
        assert_eq!(said(&before, rule), "settings read again; applied: limits.running");
        let after = "[daemon]\nlog = \"debug\"\nwatchdog = \"2m\"\n[limits]\nrunning = 2\n[tasks]\nnetwork = true\n";
        let expected = "settings read again; applied: policy, tasks.network; \
                        only after `ostler daemon restart`: daemon.log; \
                        only after `ostler service install`: daemon.watchdog";
        assert_eq!(said(&before, after), expected);
    }

    #[test]
    fn every_key_that_waits_for_something_is_a_key() {
        let keys = values(&parse("", &Surroundings::usual()).unwrap());
        for key in AFTER_A_RESTART.iter().chain(&AFTER_AN_INSTALL) {
            assert!(keys.contains_key(*key), "{key}");
        }
    }
}
