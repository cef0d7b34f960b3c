use super::*;

fn fits(path: &str, version: Version) -> Finding {
    Finding::Fits { path: PathBuf::from(path), version }
}

fn too_old() -> Unfit {
    Unfit::Probe {
        path: PathBuf::from("/usr/bin/codex"),
        probe: Probe::TooOld { version: Version::new(0, 99, 0) },
    }
}

/// Feeds the findings in, rung by rung, and gives the step after them.
fn after(findings: &[Finding]) -> Step {
    let mut facts = Facts::default();
    for (source, finding) in Source::ALL.into_iter().zip(findings) {
        assert_eq!(decide(&facts), Step::Look(source));
        facts.add(source, finding.clone());
    }
    decide(&facts)
}

#[test]
fn the_first_rung_that_fits_is_used_and_no_further_one_is_looked_at() {
    let version = Version::new(0, 130, 0);
    for count in 0..4 {
        let mut findings = vec![Finding::Empty; count];
        findings.push(fits("/x/codex", version.clone()));
        let expected = Step::Use(Resolution {
            path: PathBuf::from("/x/codex"),
            version: version.clone(),
            source: Source::ALL[count],
            passed: Vec::new(),
        });
        assert_eq!(after(&findings), expected);
    }
}

#[test]
fn rungs_that_do_not_fit_are_passed_over_and_named() {
    let missing = Unfit::NotInstalled { version: Version::new(0, 142, 5) };
    let findings = [
        Finding::Empty,
        Finding::Unfit(missing.clone()),
        Finding::Unfit(too_old()),
        fits("/cache/codex", Version::new(0, 166, 0)),
    ];
    let passed = vec![
        Passed { source: Source::ConfiguredVersion, why: missing },
        Passed { source: Source::OnPath, why: too_old() },
    ];
    assert_eq!(
        after(&findings),
        Step::Use(Resolution {
            path: PathBuf::from("/cache/codex"),
            version: Version::new(0, 166, 0),
            source: Source::NewestInstalled,
            passed,
        })
    );
}

#[test]
fn with_nothing_left_the_answer_says_what_was_seen() {
    let passed = vec![Passed { source: Source::OnPath, why: too_old() }];
    assert_eq!(
        passed[0].why.to_string(),
        "/usr/bin/codex is Codex 0.99.0, which is too old; the oldest that works is 0.125.0"
    );
    let findings = [Finding::Empty, Finding::Empty, Finding::Unfit(too_old()), Finding::Empty];
    assert_eq!(after(&findings), Step::GiveUp(NoBinary { passed }));
}
