//! The real package.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ostler_codex::binary::{
    CacheError, CheckFinding, Environment, InstallPhase, Installer, Origin, PackageRecord, Passed,
    Platform, Probe, Resolution, Settings, Source, Unfit, resolve, verify_installed,
};
use semver::Version;

use super::fixture::{Fixture, VERSION, install, real_environment, write_script};

#[tokio::test]
async fn two_installs_at_once_fetch_once_and_what_they_fetch_is_whole() {
    let fixture = Fixture::empty();
    let installer = Installer::new(fixture.cache.clone(), real_environment());
    let mut phases = Vec::new();
    let mut largest = 0;
    let request = VERSION.to_string().parse().unwrap();
    let mut watch = |progress: ostler_codex::binary::InstallProgress| {
        largest = largest.max(progress.unpacked_bytes);
        if phases.last() != Some(&progress.phase) {
            phases.push(progress.phase);
        }
    };
    let (first, second) =
        tokio::join!(installer.install(&request, &mut watch), install(&installer));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.installed, second.installed);
    let origins = [first.origin, second.origin];
    assert!(origins.contains(&Origin::Fetched), "{origins:?}");
    assert!(origins.contains(&Origin::AlreadyThere), "{origins:?}");
    if origins[0] == Origin::Fetched {
        assert_eq!(phases, [InstallPhase::Fetching, InstallPhase::Verifying]);
        assert!(largest > first.installed.manifest.size_bytes, "{largest}");
    } else {
        assert_eq!(phases, [InstallPhase::Waiting]);
    }

    let installed = first.installed;
    let manifest = &installed.manifest;
    assert_eq!(manifest.sha256, sha256sum(&installed.binary));
    assert_eq!(manifest.size_bytes, fs::metadata(&installed.binary).unwrap().len());
    let platform = Platform::current().unwrap();
    let names: Vec<(&str, &str)> = manifest.packages.iter().map(name_and_version).collect();
    let (package, version) = (platform.package(), format!("{VERSION}-{}", platform.npm_name));
    let expected = [("@openai/codex", "0.130.0"), (package.as_str(), version.as_str())];
    assert_eq!(names, expected);
    assert!(manifest.packages.iter().all(|package| package.integrity.starts_with("sha512-")));
    let siblings: Vec<&str> = manifest.files.keys().map(String::as_str).collect();
    let triple = platform.triple;
    assert!(siblings.contains(&format!("{triple}/path/rg").as_str()), "{siblings:?}");
    assert_eq!(fixture.unfinished(), Vec::<PathBuf>::new());

    let findings = verify_installed(&installed, &real_environment()).await;
    let count = manifest.files.len();
    assert_eq!(
        findings,
        [
            format!("sha256 of {count} files is as recorded at the install"),
            "`codex --version` says 0.130.0".to_owned(),
            "`codex app-server` starts".to_owned(),
        ]
        .map(CheckFinding::Sound)
    );
}

#[tokio::test]
async fn without_npm_and_network_what_is_installed_still_serves() {
    let fixture = Fixture::with_version();
    let environment = fixture.bare_environment();
    let installer = Installer::new(fixture.cache.clone(), environment.clone());
    let again = install(&installer).await.unwrap();
    assert_eq!(again.origin, Origin::AlreadyThere);
    let latest = "latest".parse().unwrap();
    let newest = installer.install(&latest, &mut |_| {}).await.unwrap();
    let because = "npm is not on PATH; install Node.js with npm, or put npm on PATH".to_owned();
    assert_eq!(newest.origin, Origin::NewestUnknown { because });
    assert_eq!(newest.installed, again.installed);
    let resolution = resolve(&Settings::default(), &fixture.cache, &environment).await;
    assert_eq!(
        resolution,
        Ok(Resolution {
            path: again.installed.binary,
            version: VERSION,
            source: Source::NewestInstalled,
            passed: Vec::new(),
        })
    );
}

#[tokio::test]
async fn a_registry_out_of_reach_is_told_from_a_missing_npm() {
    let fixture = Fixture::with_version();
    // Nothing listens on the discard port of this machine, so npm is refused at once.
    let environment = real_environment().with("npm_config_registry", "http://127.0.0.1:9/");
    let installer = Installer::new(fixture.cache.clone(), environment);
    let latest = "latest".parse().unwrap();
    let newest = installer.install(&latest, &mut |_| {}).await.unwrap();
    let Origin::NewestUnknown { because } = newest.origin else {
        panic!("{:?}", newest.origin);
    };
    assert!(because.starts_with("the npm registry cannot be reached (ECONNREFUSED)"), "{because}");
}

#[tokio::test]
async fn a_changed_binary_is_found_and_a_truncated_one_does_not_count() {
    let fixture = Fixture::with_version();
    let installed = fixture.cache.installed(&VERSION).unwrap().unwrap();
    // The last byte belongs to the section table, which nothing reads when the binary runs.
    let last = fs::read(&installed.binary).unwrap().pop().unwrap();
    let offset = installed.manifest.size_bytes - 1;
    let change = format!("printf '\\{:03o}' | dd of=\"$0\" bs=1 seek={offset} conv=notrunc", !last);
    spoil(&installed.binary, &change);
    let name = &installed.manifest.binary;
    let problems: Vec<CheckFinding> = verify_installed(&installed, &real_environment())
        .await
        .into_iter()
        .filter(CheckFinding::is_problem)
        .collect();
    let changed = format!("{name} was changed: its sha256 is not the one recorded");
    assert_eq!(problems, [CheckFinding::Problem(changed)]);

    spoil(&installed.binary, "truncate -s 1000 \"$0\"");
    let broken = fixture.cache.installed(&VERSION).unwrap_err();
    let size_bytes = installed.manifest.size_bytes;
    assert_eq!(broken.reason, format!("{name} has 1000 bytes instead of {size_bytes}"));
    let environment = fixture.bare_environment();
    let nothing = resolve(&Settings::default(), &fixture.cache, &environment).await.unwrap_err();
    let passed = Passed {
        source: Source::NewestInstalled,
        why: Unfit::Damaged { reason: broken.to_string() },
    };
    assert_eq!(nothing.passed, [passed]);
}

#[tokio::test]
async fn the_native_binary_behind_the_wrapper_on_path_is_used_and_an_old_one_is_passed_over() {
    let fixture = Fixture::with_version();
    let installed = fixture.cache.installed(&VERSION).unwrap().unwrap();
    let platform = Platform::current().unwrap();
    let root = fixture.folder.path().canonicalize().unwrap();
    let wrapper = root.join("lib/node_modules/@openai/codex/bin/codex.js");
    let vendor = root
        .join(format!("lib/node_modules/@openai/codex/node_modules/{}/vendor", platform.package()));
    for folder in [wrapper.parent().unwrap(), &vendor, &root.join("bin")] {
        fs::create_dir_all(folder).unwrap();
    }
    write_script(&wrapper, "#!/usr/bin/env node\n");
    symlink(&wrapper, root.join("bin/codex")).unwrap();
    let real_vendor = installed.folder.join(platform.triple);
    symlink(&real_vendor, vendor.join(platform.triple)).unwrap();
    let environment = Environment::default().with("PATH", root.join("bin"));
    let settings = Settings::default();
    assert_eq!(
        resolve(&settings, &fixture.cache, &environment).await,
        Ok(Resolution {
            path: vendor.join(&installed.manifest.binary),
            version: VERSION,
            source: Source::OnPath,
            passed: Vec::new(),
        })
    );

    // An old native Codex cannot be had from npm any more by us; its answer to `--version` is what counts.
    let old = root.join("old");
    fs::create_dir(&old).unwrap();
    fs::remove_file(root.join("bin/codex")).unwrap();
    build_program(&old.join("codex"), "codex-cli 0.99.0");
    let environment = Environment::default().with("PATH", &old);
    let passed = Passed {
        source: Source::OnPath,
        why: Unfit::Probe {
            path: old.join("codex"),
            probe: Probe::TooOld { version: Version::new(0, 99, 0) },
        },
    };
    assert_eq!(
        resolve(&settings, &fixture.cache, &environment).await,
        Ok(Resolution {
            path: installed.binary,
            version: VERSION,
            source: Source::NewestInstalled,
            passed: vec![passed],
        })
    );
}

#[tokio::test]
async fn a_version_that_runs_is_not_removed() {
    let fixture = Fixture::with_version();
    let installed = fixture.cache.installed(&VERSION).unwrap().unwrap();
    let mut running = Command::new(&installed.binary)
        .arg("app-server")
        .env("CODEX_HOME", fixture.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let wait = Duration::from_secs(5);
    let refused = fixture.cache.remove(&VERSION, wait).await.unwrap_err();
    let CacheError::InUse { processes, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(processes, [running.id()]);
    running.kill().unwrap();
    running.wait().unwrap();
    let removed = fixture.cache.remove(&VERSION, wait).await.unwrap();
    assert_eq!(removed, installed.folder);
    assert_eq!(fixture.cache.list().unwrap(), []);
    assert_eq!(fixture.unfinished(), Vec::<PathBuf>::new());
    let again = fixture.cache.remove(&VERSION, wait).await;
    assert!(matches!(again, Err(CacheError::NotInstalled { .. })));
}

fn name_and_version(package: &PackageRecord) -> (&str, &str) {
    (&package.name, &package.version)
}

fn sha256sum(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

/// Changes a file in another process, for the reason that `write_script` gives.
fn spoil(path: &Path, script: &str) {
    let mut shell = Command::new("/bin/sh");
    let shell = shell.args(["-c", script]).arg(path).stderr(Stdio::null());
    assert!(shell.status().unwrap().success());
}

/// A native program that prints one line.
fn build_program(path: &Path, line: &str) {
    let source = path.with_extension("rs");
    fs::write(&source, format!("fn main() {{ println!({line:?}); }}")).unwrap();
    let built = Command::new("rustc").arg(&source).arg("-o").arg(path).status().unwrap();
    assert!(built.success());
}
