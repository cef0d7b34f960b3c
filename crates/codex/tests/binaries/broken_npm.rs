//! Whatever npm does wrong, nothing that counts is left behind, and the error says what happened.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ostler_codex::binary::{InstallError, InstallLimits, NpmError, NpmFailure, Platform, Probe};
use semver::Version;

use super::fixture::{Fixture, VERSION, install};

/// A whole install by an npm that puts a script in the binary's place.
fn fake_install(answer: &str, lockfile: &str) -> String {
    let platform = Platform::current().unwrap();
    let package = platform.package();
    let vendor = format!("$folder/node_modules/{package}/vendor/{}/bin", platform.triple);
    format!(
        "mkdir -p {vendor}\nprintf '#!/bin/sh\\necho {answer}\\n' > {vendor}/codex\n\
         chmod 755 {vendor}/codex\necho '{lockfile}' > $folder/node_modules/.package-lock.json"
    )
}

/// Installs with such an npm, sees that nothing is left, and gives the error.
async fn fail_with(script: &str) -> InstallError {
    let fixture = Fixture::empty();
    let error = install(&fixture.installer_with_npm(script)).await.unwrap_err();
    assert_eq!(fixture.cache.list().unwrap(), []);
    assert_eq!(fixture.unfinished(), Vec::<PathBuf>::new());
    error
}

#[tokio::test]
async fn npm_fails() {
    let error = fail_with(
        "mkdir -p $folder/node_modules; echo half > $folder/node_modules/half\n\
         echo 'npm error code ENOSPC' >&2; echo 'npm error nospc no space left' >&2; exit 228",
    )
    .await;
    assert!(matches!(
        &error,
        InstallError::Npm { source: NpmError::Failed { failure: NpmFailure::DiskFull, .. }, .. }
    ));
    assert_eq!(
        error.to_string(),
        "cannot install Codex 0.130.0: the disk is full; make room and try again\n  \
         npm: code ENOSPC\n  npm: nospc no space left"
    );
}

#[tokio::test]
async fn npm_hangs() {
    let fixture = Fixture::empty();
    let limits = InstallLimits { npm: Duration::from_secs(1), lock: Duration::from_secs(60) };
    let installer = fixture.installer_with_npm("sleep 600");
    let error = install(&installer.with_limits(limits)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot install Codex 0.130.0: npm did not finish within 1 s and was ended; try again"
    );
    assert_eq!(fixture.cache.list().unwrap(), []);
    // npm holds the lock as long as it lives; so the next install gets it only if the first npm is really gone.
    let installer = fixture.installer_with_npm("exit 1");
    let next = install(&installer.with_limits(limits)).await.unwrap_err();
    assert!(matches!(next, InstallError::Npm { .. }), "{next}");
    assert_eq!(fixture.unfinished(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn npm_leaves_the_platform_package_out() {
    let error = fail_with("mkdir -p $folder/node_modules/@openai/codex/bin").await;
    let platform = Platform::current().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "what npm installed for Codex 0.130.0 is not whole: there is no native binary for {} in {}",
            platform.triple,
            platform.package()
        )
    );
}

#[tokio::test]
async fn the_binary_is_another_version() {
    let error = fail_with(&fake_install("codex-cli 0.131.0", "{}")).await;
    let InstallError::WrongBinary { version, probe } = error else {
        panic!("{error}");
    };
    let found = Probe::Fits { version: Version::new(0, 131, 0) };
    assert_eq!((version, probe), (VERSION, found));
}

#[tokio::test]
async fn npm_verified_nothing() {
    let error = fail_with(&fake_install("codex-cli 0.130.0", "{}")).await;
    assert_eq!(
        error.to_string(),
        "what npm installed for Codex 0.130.0 is not whole: npm recorded no integrity checksums"
    );
}

#[tokio::test]
async fn there_is_no_npm() {
    let fixture = Fixture::empty();
    let environment = fixture.bare_environment();
    let installer = ostler_codex::binary::Installer::new(fixture.cache.clone(), environment);
    let error = install(&installer).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot install Codex 0.130.0: npm is not on PATH; install Node.js with npm, or put npm on PATH"
    );
    let latest = installer.install(&"latest".parse().unwrap(), &mut |_| {}).await;
    assert!(matches!(latest, Err(InstallError::Newest(NpmError::Missing))));
}

#[tokio::test]
async fn the_remains_of_a_dead_install_are_swept_by_the_next() {
    let fixture = Fixture::empty();
    let remains = fixture.cache.root().join(".staging/0.142.5/npm");
    fs::create_dir_all(&remains).unwrap();
    fs::write(remains.join("half"), "half").unwrap();
    install(&fixture.installer_with_npm("exit 1")).await.unwrap_err();
    assert_eq!(fixture.unfinished(), Vec::<PathBuf>::new());
}
