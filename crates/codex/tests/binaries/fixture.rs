//! A cache of its own for each test, an npm that does what the test says, and scripts to be npm.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_codex::binary::{Cache, Environment, InstallError, InstallOutcome, Installer};
use semver::Version;
use tempfile::TempDir;

/// The smallest of the versions the tests run on.
pub(super) const VERSION: Version = Version::new(0, 130, 0);

pub(super) struct Fixture {
    pub(super) folder: TempDir,
    pub(super) cache: Cache,
}

impl Fixture {
    pub(super) fn empty() -> Self {
        // Not in /tmp: Codex refuses to lay out its helper programs below it.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        Self { folder, cache }
    }

    /// A cache with the real version in it, copied so that the test may spoil it.
    pub(super) fn with_version() -> Self {
        let fixture = Self::empty();
        let binary = ostler_testkit::codex_binary(&VERSION.to_string()).unwrap();
        let name = VERSION.to_string();
        let folder = binary.ancestors().find(|folder| folder.ends_with(&name)).unwrap();
        fs::create_dir(fixture.cache.root()).unwrap();
        let copied = Command::new("cp")
            .args(["-a", "--reflink=auto"])
            .args([folder, fixture.cache.root()])
            .status()
            .unwrap();
        assert!(copied.success());
        fixture
    }

    /// An installer whose npm is this shell script. `$folder` is where npm was told to install.
    pub(super) fn installer_with_npm(&self, script: &str) -> Installer {
        let bin = self.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let text = format!("#!/bin/sh\n[ \"$1\" = view ] && exit 1\nfolder=\"$3\"\n{script}\n");
        write_script(&bin.join("npm"), &text);
        let path = std::env::join_paths([&bin, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        let environment = Environment::default().with("PATH", path);
        Installer::new(self.cache.clone(), environment)
    }

    /// An environment without npm and without Codex.
    pub(super) fn bare_environment(&self) -> Environment {
        Environment::default().with("PATH", self.folder.path().join("nothing"))
    }

    /// What lies in the folder of unfinished installs.
    pub(super) fn unfinished(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache.root().join(".staging")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

pub(super) async fn install(installer: &Installer) -> Result<InstallOutcome, InstallError> {
    let request = VERSION.to_string().parse().unwrap();
    installer.install(&request, &mut |_| {}).await
}

/// The environment of whoever runs the tests, with the npm settings that reach the registry.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no door above it that could hand the environment down"
)]
pub(super) fn real_environment() -> Environment {
    Environment::new(std::env::vars_os())
}

/// Writes in another process: a file that this one has open for writing while a parallel test forks cannot be
/// executed ("text file busy").
pub(super) fn write_script(path: &Path, text: &str) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    assert!(shell.wait().unwrap().success());
}
