//! A machine of its own for each test, as far as `ostler` can tell.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(super) const VERSIONS: [&str; 3] = ostler_testkit::VERSIONS;

pub(super) struct World {
    folder: TempDir,
}

impl World {
    /// Without any Codex.
    pub(super) fn empty() -> Self {
        // Not in /tmp: Codex refuses to lay out its helper programs below it.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["bin", "config", "codex-home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let world = Self { folder };
        // Whether this machine has npm must not matter; it is looked for and never run.
        world.program("npm", "exit 1");
        world
    }

    /// With a real Codex that our config file names.
    pub(super) fn with(version: &str) -> Self {
        let world = Self::empty();
        let codex = ostler_testkit::codex_binary(version).unwrap();
        world.write("config/config.toml", &format!("[codex]\npath = {codex:?}\n"));
        world
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Puts a program before all others on PATH. It is written by another process: a file that this one has open while
    /// a parallel test forks cannot be executed.
    pub(super) fn program(&self, name: &str, script: &str) {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
            .arg(self.path("bin").join(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        writeln!(stdin, "#!/bin/bash\n{script}").unwrap();
        drop(stdin);
        assert!(shell.wait().unwrap().success());
    }

    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path())
            .env("CODEX_HOME", self.path("codex-home"))
            .stdin(Stdio::null());
        command
    }

    pub(super) fn ostler(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_ostler"));
        command.args(arguments).output().unwrap()
    }

    pub(super) fn doctor(&self) -> Diagnosis {
        Diagnosis::read(&self.ostler(&["doctor", "--json"]), self.folder.path())
    }

    /// Everything there is, Codex's home included, with what stands in the files.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let content = if kind.is_file() {
                    String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
                } else {
                    format!("{kind:?}")
                };
                let name = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                found.insert(name, content);
                if kind.is_dir() {
                    folders.push(path);
                }
            }
        }
        found
    }
}

/// What `--json` says.
pub(super) struct Diagnosis {
    pub(super) exit: i32,
    pub(super) counts: [u64; 3],
    checks: BTreeMap<String, Value>,
    pub(super) text: String,
}

impl Diagnosis {
    pub(super) fn read(output: &Output, home: &Path) -> Self {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let value: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"));
        assert_eq!(errors, "", "{text}");
        let checks = value["checks"].as_array().unwrap().iter().map(|check| {
            let mut check = check.clone();
            let name = check["name"].as_str().unwrap().to_owned();
            let real = |text: &str| text.replace(home.to_str().unwrap(), "~");
            for field in ["found", "advice"] {
                if let Some(text) = check[field].as_str() {
                    check[field] = real(text).into();
                }
            }
            for detail in check["details"].as_array_mut().unwrap() {
                *detail = real(detail.as_str().unwrap()).into();
            }
            (name, check)
        });
        Self {
            exit: output.status.code().unwrap(),
            counts: ["ok", "warnings", "problems"].map(|name| value[name].as_u64().unwrap()),
            checks: checks.collect(),
            text,
        }
    }

    /// The state, what was found, and what to do.
    pub(super) fn check(&self, name: &str) -> [&str; 3] {
        let check = self.checks.get(name).unwrap_or_else(|| panic!("no {name}: {}", self.text));
        ["state", "found", "advice"].map(|field| check[field].as_str().unwrap_or_default())
    }

    /// What is said one by one.
    pub(super) fn details(&self, name: &str) -> Vec<&str> {
        let check = self.checks.get(name).unwrap_or_else(|| panic!("no {name}: {}", self.text));
        check["details"].as_array().unwrap().iter().map(|detail| detail.as_str().unwrap()).collect()
    }

    /// Every check that is not ok, with its state.
    pub(super) fn complaints(&self) -> Vec<(&str, &str)> {
        let states = self
            .checks
            .iter()
            .map(|(name, check)| (name.as_str(), check["state"].as_str().unwrap()));
        states.filter(|(_, state)| *state != "ok").collect()
    }
}
