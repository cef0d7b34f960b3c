//! Which version of Codex takes what, in one table.
//!
//! The bounds come from the schemas of the releases we test against (0.125.0, 0.130.0, 0.142.5, 0.166.0): a method or
//! field is *known present* from the first of them that has it to the last of them that has it. Releases in between
//! may have it too; we do not count on it. Codex ignores unknown fields silently and refuses unknown methods, so
//! trying and looking at the error is no way to find out.

use std::fmt;

use semver::Version;

/// A version of Codex, as `initialize` or `codex --version` names it. Ordered as semver: a pre-release comes before
/// its release and therefore does not count as having what the release brought.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodexVersion(Version);

/// A release that the table speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    major: u16,
    minor: u16,
    patch: u16,
}

/// The oldest release we support.
pub const R0_125_0: Release = Release { major: 0, minor: 125, patch: 0 };
pub const R0_130_0: Release = Release { major: 0, minor: 130, patch: 0 };
pub const R0_142_5: Release = Release { major: 0, minor: 142, patch: 5 };
pub const R0_166_0: Release = Release { major: 0, minor: 166, patch: 0 };

/// The releases in which something is known to be present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub since: Release,
    /// `None` if the newest release still has it.
    pub last: Option<Release>,
}

/// What to do with something the version is not known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Send the message without it: it only adds comfort.
    LeaveOut,
    /// Do not send the message: without it the message would do something else.
    Refuse,
}

/// One line of the table. Without a field it speaks of the whole method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub method: &'static str,
    pub field: Option<&'static str>,
    pub known: Known,
    pub otherwise: Otherwise,
}

/// Everything we send that not every supported version takes.
pub const RULES: &[Rule] = &[
    // Profiles were an inline object before; the shape of the choice changed once more, see `PermissionsShape`.
    field("thread/start", "permissions", R0_130_0, Otherwise::Refuse),
    field("thread/resume", "permissions", R0_130_0, Otherwise::Refuse),
    field("thread/fork", "permissions", R0_130_0, Otherwise::Refuse),
    field("turn/start", "permissions", R0_130_0, Otherwise::Refuse),
    // Older versions know one history mode only, so there is nothing to choose.
    field("thread/start", "historyMode", R0_166_0, Otherwise::LeaveOut),
    // Codex 0.142.5 ignores it and forks the whole thread.
    field("thread/fork", "lastTurnId", R0_166_0, Otherwise::Refuse),
    field("thread/list", "parentThreadId", R0_142_5, Otherwise::Refuse),
    field("thread/turns/list", "itemsView", R0_130_0, Otherwise::LeaveOut),
    field("thread/shellCommand", "timeoutMs", R0_166_0, Otherwise::LeaveOut),
    field("turn/start", "clientUserMessageId", R0_142_5, Otherwise::LeaveOut),
    field("turn/steer", "clientUserMessageId", R0_142_5, Otherwise::LeaveOut),
    method("thread/items/list", R0_166_0, None),
    method("thread/revert", R0_166_0, None),
    method("thread/rollback", R0_125_0, Some(R0_142_5)),
    method("permissionProfile/list", R0_142_5, None),
    // 0.130.0 has them as an experiment that is off.
    method("thread/goal/set", R0_142_5, None),
    method("thread/goal/get", R0_142_5, None),
    method("thread/goal/clear", R0_142_5, None),
    method("server/diagnostics", R0_166_0, None),
];

/// How a version wants the name of a permission profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionsShape {
    /// `{"type":"profile","id":"…"}`; a plain text is an invalid request there.
    Object,
    Text,
}

impl CodexVersion {
    pub fn parse(text: &str) -> Option<Self> {
        Version::parse(text.trim().trim_start_matches('v')).ok().map(Self)
    }

    /// The version in the `userAgent` of `initialize`: `<client name>/0.166.0 (Debian …) …`. The client's name may hold
    /// anything, so the first word that ends in `/<version>` is taken.
    pub fn from_user_agent(user_agent: &str) -> Option<Self> {
        user_agent
            .split_whitespace()
            .filter_map(|word| word.rsplit_once('/'))
            .find_map(|(_, version)| Self::parse(version))
    }

    pub fn semver(&self) -> &Version {
        &self.0
    }

    pub fn is_at_least(&self, release: Release) -> bool {
        self.0 >= Version::from(release)
    }

    pub fn permissions_shape(&self) -> PermissionsShape {
        if self.is_at_least(R0_142_5) { PermissionsShape::Text } else { PermissionsShape::Object }
    }
}

impl fmt::Display for CodexVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl From<Release> for Version {
    fn from(release: Release) -> Self {
        Self::new(release.major.into(), release.minor.into(), release.patch.into())
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Known {
    /// Present in every version we support.
    pub const ALWAYS: Self = Self::since(R0_125_0);

    pub const fn since(since: Release) -> Self {
        Self { since, last: None }
    }

    pub fn covers(&self, version: &CodexVersion) -> bool {
        version.is_at_least(self.since)
            && self.last.is_none_or(|last| version.0 <= Version::from(last))
    }
}

impl fmt::Display for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(formatter, "{} to {last}", self.since),
            None => write!(formatter, "{} and later", self.since),
        }
    }
}

/// Where a method, or a field of its params, is known to be taken.
pub fn known(method: &str, field: Option<&str>) -> Known {
    RULES
        .iter()
        .find(|rule| rule.method == method && rule.field == field)
        .map_or(Known::ALWAYS, |rule| rule.known)
}

/// The rules that forbid something of this method to this version.
pub fn broken_rules<'a>(
    method: &'a str,
    version: &'a CodexVersion,
) -> impl Iterator<Item = &'static Rule> + 'a {
    RULES.iter().filter(move |rule| rule.method == method && !rule.known.covers(version))
}

const fn field(
    method: &'static str,
    field: &'static str,
    since: Release,
    otherwise: Otherwise,
) -> Rule {
    Rule { method, field: Some(field), known: Known::since(since), otherwise }
}

const fn method(method: &'static str, since: Release, last: Option<Release>) -> Rule {
    Rule { method, field: None, known: Known { since, last }, otherwise: Otherwise::Refuse }
}

#[cfg(test)]
mod tests {
    use super::{CodexVersion, Known, R0_125_0, R0_142_5, R0_166_0};

    fn agent(text: &str) -> Option<String> {
        CodexVersion::from_user_agent(text).map(|version| version.to_string())
    }

    #[test]
    fn the_server_version_is_read_from_the_user_agent() {
        let cases = [
            ("ostler/0.166.0 (Debian 12.0.0; x86_64) unknown (ostler; 0.1.0)", Some("0.166.0")),
            ("ostler/0.150.0-alpha.7 (Mac OS 15.1; arm64)", Some("0.150.0-alpha.7")),
            ("my client/beta/0.142.5 (x)", Some("0.142.5")),
            ("0.142.5", None),
            ("ostler/next (x)", None),
            ("", None),
        ];

        for (text, version) in cases {
            assert_eq!(agent(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn a_pre_release_does_not_count_as_its_release() {
        let version = CodexVersion::parse("0.166.0-alpha.1").unwrap();

        assert_eq!([R0_142_5, R0_166_0].map(|release| version.is_at_least(release)), [true, false]);
    }

    #[test]
    fn what_is_gone_is_covered_up_to_the_last_release_known_to_have_it() {
        let known = Known { since: R0_125_0, last: Some(R0_142_5) };
        let covered = ["0.124.9", "0.125.0", "0.130.0", "0.142.5", "0.142.6", "0.166.0"]
            .map(|text| known.covers(&CodexVersion::parse(text).unwrap()));

        assert_eq!(covered, [false, true, true, true, false, false]);
    }
}
