//! Version numbers of Codex: which strings are one, and which are old enough to be refused.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use thiserror::Error;

/// The oldest Codex we speak with: DESIGN §5, the first release whose app-server has all we rely on.
pub const OLDEST: Version = Version::new(0, 125, 0);

/// What a person may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionRequest {
    /// The version that the registry calls newest.
    Latest,
    Exact(Version),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VersionError {
    #[error("{text:?} is not a Codex version; write three numbers such as 0.130.0, or latest")]
    Malformed { text: String },
    #[error(
        "{text:?} is the package of one platform, not a Codex version; leave the platform name off"
    )]
    PlatformPackage { text: String },
    #[error("Codex {version} is too old; the oldest that works is {OLDEST}")]
    TooOld { version: Version },
}

impl FromStr for VersionRequest {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        parse_version(text).map(Self::Exact)
    }
}

impl fmt::Display for VersionRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => formatter.write_str("latest"),
            Self::Exact(version) => version.fmt(formatter),
        }
    }
}

/// Reads one whole version that we can work with.
///
/// The npm package publishes each platform as a "pre-release" of the same name (`0.130.0-linux-x64`); such a string
/// is a valid semantic version but would install a package without its front, so it is refused by name.
pub fn parse_version(text: &str) -> Result<Version, VersionError> {
    let malformed = || VersionError::Malformed { text: text.to_owned() };
    let version = Version::parse(text).map_err(|_| malformed())?;
    if !version.build.is_empty() {
        return Err(malformed());
    }
    let pre = version.pre.as_str();
    if ["linux-", "darwin-", "win32-"].iter().any(|platform| pre.contains(platform)) {
        return Err(VersionError::PlatformPackage { text: text.to_owned() });
    }
    if version < OLDEST {
        return Err(VersionError::TooOld { version });
    }
    Ok(version)
}

/// The first whole version in what `codex --version` printed, whatever stands around it.
pub(crate) fn first_version_in(output: &str) -> Option<Version> {
    output
        .split_whitespace()
        .map(|word| word.trim_start_matches('v'))
        .find_map(|word| Version::parse(word).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let malformed = |text: &str| Err(VersionError::Malformed { text: text.to_owned() });
        for (text, expected) in [
            ("latest", Ok(VersionRequest::Latest)),
            ("0.130.0", Ok(VersionRequest::Exact(Version::new(0, 130, 0)))),
            ("0.125.0", Ok(VersionRequest::Exact(OLDEST))),
            ("0.130", malformed("0.130")),
            ("", malformed("")),
            ("v0.130.0", malformed("v0.130.0")),
            ("0.130.0+build", malformed("0.130.0+build")),
            ("../0.130.0", malformed("../0.130.0")),
            ("--help", malformed("--help")),
            (
                "0.130.0-linux-x64",
                Err(VersionError::PlatformPackage { text: "0.130.0-linux-x64".to_owned() }),
            ),
            ("0.124.9", Err(VersionError::TooOld { version: Version::new(0, 124, 9) })),
        ] {
            assert_eq!(text.parse::<VersionRequest>(), expected, "{text:?}");
        }
        // A pre-release of a good version is a version of its own; one of the oldest version comes before it.
        assert!(parse_version("0.150.0-alpha.3").is_ok());
        assert!(matches!(parse_version("0.125.0-alpha.1"), Err(VersionError::TooOld { .. })));
    }

    #[test]
    fn the_version_is_found_among_other_words() {
        for (output, expected) in [
            ("codex-cli 0.130.0\n", Some(Version::new(0, 130, 0))),
            ("WARNING: 3 things\ncodex v0.142.5 (abc)", Some(Version::new(0, 142, 5))),
            ("codex-cli 0.150.0-alpha.3", Version::parse("0.150.0-alpha.3").ok()),
            ("codex-cli unknown", None),
            ("", None),
        ] {
            assert_eq!(first_version_in(output), expected, "{output:?}");
        }
    }
}
