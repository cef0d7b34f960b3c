//! What Codex's own git calls must not start.
//!
//! Codex looks at the repository of a working folder with git, outside of its sandbox. Up to 0.130.0 these calls run a program that the
//! repository's configuration names as `core.fsmonitor`, and they take a bare repository that lies inside of a clone for the folder's own,
//! with its configuration. From 0.142.5 on Codex says itself what is said here.

use std::ffi::OsString;

use crate::protocol::CodexVersion;
use crate::protocol::versions::R0_142_5;

const SETTINGS: [(&str, &str); 2] =
    [("core.fsmonitor", "false"), ("safe.bareRepository", "explicit")];

/// Adds the settings to the environment of a Codex that needs them, behind what is there. All below it has them, too.
pub(super) fn tame(variables: &mut Vec<(OsString, OsString)>, version: Option<&str>) {
    let version = version.and_then(CodexVersion::parse);
    if version.is_some_and(|version| version.is_at_least(R0_142_5)) {
        return;
    }
    let place = variables.iter().position(|(name, _)| name == "GIT_CONFIG_COUNT");
    let count = place.map(|place| variables.remove(place).1);
    let count = count.and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    for (at, (key, value)) in (count..).zip(SETTINGS) {
        variables.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    let all = (count + SETTINGS.len()).to_string();
    variables.push(("GIT_CONFIG_COUNT".into(), all.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tamed(given: &[(&str, &str)], version: Option<&str>) -> Vec<String> {
        let mut variables: Vec<(OsString, OsString)> =
            given.iter().map(|(name, value)| (name.into(), value.into())).collect();
        tame(&mut variables, version);
        variables
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn an_old_codex_is_told_and_what_the_user_says_stays() {
        let own = ["GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"];
        let bare = ["GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit"];
        let all = [&own[..], &bare[..], &["GIT_CONFIG_COUNT=2"]].concat();
        assert_eq!(tamed(&[], Some("0.130.0")), all);
        assert_eq!(tamed(&[], None), all);
        assert_eq!(tamed(&[], Some("0.142.5")), [""; 0]);
        assert_eq!(tamed(&[], Some("0.169.0")), [""; 0]);
        let given =
            [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        assert_eq!(
            tamed(&given, Some("0.130.0")),
            [
                "GIT_CONFIG_KEY_0=a.b",
                "GIT_CONFIG_VALUE_0=c",
                "GIT_CONFIG_KEY_1=core.fsmonitor",
                "GIT_CONFIG_VALUE_1=false",
                "GIT_CONFIG_KEY_2=safe.bareRepository",
                "GIT_CONFIG_VALUE_2=explicit",
                "GIT_CONFIG_COUNT=3",
            ]
        );
    }
}
