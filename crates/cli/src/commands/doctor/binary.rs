//! Which Codex there is, and npm, which fetches one.

use std::path::PathBuf;

use ostler_codex::binary::{NoBinary, Passed, Resolution, Source};
use ostler_codex::protocol::versions::R0_166_0;
use semver::Version;

use super::check::{Check, Name};

pub(super) fn judge_codex(resolved: &Result<Resolution, NoBinary>) -> Check {
    let resolution = match resolved {
        Ok(resolution) => resolution,
        Err(nothing) if nothing.passed.is_empty() => {
            return Check::problem(Name::Codex, "there is no Codex on this machine")
                .advise("run `ostler codex install`");
        }
        Err(nothing) => {
            let found = format!("no Codex that works: {}", reasons(&nothing.passed));
            return Check::problem(Name::Codex, found).advise("run `ostler codex install`");
        }
    };
    let source = match resolution.source {
        Source::ConfiguredPath => "the path in our config file",
        Source::ConfiguredVersion => "the version in our config file",
        Source::OnPath => "found on PATH",
        Source::NewestInstalled => "the newest installed",
    };
    let mut found = format!("{}, {source}: {}", resolution.version, resolution.path.display());
    let mut advice = Vec::new();
    if is_newer_than_tested(&resolution.version) {
        found.push_str(&format!("; newer than {R0_166_0}, the newest that was tested"));
        advice.push(format!(
            "should something fail, go back: `ostler codex install {R0_166_0}`, then `ostler codex use {R0_166_0}`"
        ));
    }
    if !resolution.passed.is_empty() {
        found.push_str(&format!("; passed over: {}", reasons(&resolution.passed)));
        advice.push("`ostler codex use` settles on another one".to_owned());
    }
    if advice.is_empty() {
        return Check::ok(Name::Codex, found);
    }
    Check::warning(Name::Codex, found).advise(advice.join("; "))
}

pub(super) fn judge_npm(npm: Option<PathBuf>) -> Check {
    match npm {
        Some(npm) => Check::ok(Name::Npm, npm.display().to_string()),
        None => Check::warning(Name::Npm, "npm is not on PATH; it is needed only to install Codex")
            .advise("install Node.js with npm if `ostler codex install` is to work"),
    }
}

/// Later patches of the release that we test count as tested: they bring no new protocol.
fn is_newer_than_tested(version: &Version) -> bool {
    let tested = Version::from(R0_166_0);
    (version.major, version.minor) > (tested.major, tested.minor)
}

fn reasons(passed: &[Passed]) -> String {
    let reasons: Vec<String> = passed.iter().map(|passed| passed.why.to_string()).collect();
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use ostler_codex::binary::{Probe, Unfit};

    use super::*;

    fn too_old() -> Passed {
        let probe = Probe::TooOld { version: Version::new(0, 99, 0) };
        Passed { source: Source::ConfiguredPath, why: Unfit::Probe { path: "/old".into(), probe } }
    }

    fn resolved(version: &str, passed: Vec<Passed>) -> Result<Resolution, NoBinary> {
        let version = Version::parse(version).unwrap();
        Ok(Resolution { path: "/bin/codex".into(), version, source: Source::OnPath, passed })
    }

    #[test]
    fn a_codex_is_judged_by_its_version_and_by_what_was_passed_over() {
        let ok = |found: &str| Check::ok(Name::Codex, found);
        let warning = |found: &str, advice: &str| Check::warning(Name::Codex, found).advise(advice);
        let problem =
            |found: &str| Check::problem(Name::Codex, found).advise("run `ostler codex install`");
        let back = "should something fail, go back: `ostler codex install 0.166.0`, \
                    then `ostler codex use 0.166.0`";
        for (facts, expected) in [
            (resolved("0.166.0", vec![]), ok("0.166.0, found on PATH: /bin/codex")),
            (resolved("0.166.9", vec![]), ok("0.166.9, found on PATH: /bin/codex")),
            (
                resolved("0.167.0-alpha.1", vec![]),
                warning(
                    "0.167.0-alpha.1, found on PATH: /bin/codex; newer than 0.166.0, the newest that was tested",
                    back,
                ),
            ),
            (
                resolved("0.130.0", vec![too_old()]),
                warning(
                    "0.130.0, found on PATH: /bin/codex; passed over: /old is Codex 0.99.0, \
                     which is too old; the oldest that works is 0.125.0",
                    "`ostler codex use` settles on another one",
                ),
            ),
            (Err(NoBinary { passed: vec![] }), problem("there is no Codex on this machine")),
            (
                Err(NoBinary { passed: vec![too_old()] }),
                problem(
                    "no Codex that works: /old is Codex 0.99.0, which is too old; \
                     the oldest that works is 0.125.0",
                ),
            ),
        ] {
            assert_eq!(judge_codex(&facts), expected);
        }
    }
}
