//! A home of its own for each test, and the binary run in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ostler_codex::binary::Platform;
use tempfile::TempDir;

pub(super) struct Home {
    folder: TempDir,
}

impl Home {
    pub(super) fn empty() -> Self {
        // Not in /tmp: Codex refuses to lay out its helper programs below it.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { folder }
    }

    /// A home with the real Codex 0.130.0 installed, copied so that the test may spoil it.
    pub(super) fn with_codex() -> Self {
        let home = Self::empty();
        let binary = ostler_testkit::codex_binary("0.130.0").unwrap();
        let installed = binary.ancestors().find(|folder| folder.ends_with("0.130.0")).unwrap();
        fs::create_dir_all(home.cache()).unwrap();
        let copied = Command::new("cp")
            .args(["-a", "--reflink=auto"])
            .args([installed, &home.cache()])
            .status()
            .unwrap();
        assert!(copied.success());
        home
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.path().join("cache/codex")
    }

    /// The folder that npm's package calls `vendor/<triple>`, of the one installed version.
    pub(super) fn vendor(&self) -> PathBuf {
        let triple = Platform::current().unwrap().triple;
        self.cache().join("0.130.0").join(triple)
    }

    pub(super) fn config_file(&self) -> PathBuf {
        self.path().join("config/config.toml")
    }

    /// `ostler` with the environment of whoever runs the tests: real npm, real registry settings.
    pub(super) fn ostler(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command
            .args(arguments.split(' '))
            .env("OSTLER_HOME", self.path())
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs where there is no npm and no Codex on PATH but what the test put into `bin`.
    pub(super) fn run(&self, arguments: &str) -> String {
        let bin = self.path().join("bin");
        let mut command = self.ostler(arguments);
        // What is below the user's own home is shown as such, and a checkout may be.
        command.env("PATH", bin).env("HOME", self.path().join("user"));
        self.transcript(command.output().unwrap())
    }

    /// What a terminal would show, with the exit code, and without what differs from run to run.
    pub(super) fn transcript(&self, output: Output) -> String {
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code().unwrap();
        let text = format!("{stdout}--- stderr\n{stderr}--- exit {code}");
        let triple = Platform::current().unwrap().triple;
        let text =
            text.replace(self.path().to_str().unwrap(), "[HOME]").replace(triple, "[TRIPLE]");
        hide_sizes(&text)
    }

    /// Puts a shell script in npm's place; it finds `$home`, and `$folder` where npm was told to install.
    pub(super) fn fake_npm(&self, script: &str) -> PathBuf {
        let bin = self.path().join("fake");
        fs::create_dir_all(&bin).unwrap();
        let home = self.path().display();
        let text = format!("[ \"$1\" = view ] && exit 1\nhome='{home}'\nfolder=\"$3\"\n{script}\n");
        write_script(&bin.join("npm"), &text);
        bin
    }

    pub(super) fn unfinished(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache().join(".staging")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
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
    writeln!(stdin, "#!/bin/sh\n{text}").unwrap();
    drop(stdin);
    assert!(shell.wait().unwrap().success());
}

pub(super) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `224.70 MB` becomes `###.## MB`, so that columns keep their width.
fn hide_sizes(text: &str) -> String {
    let mut shown = String::new();
    for (index, part) in text.split(" MB").enumerate() {
        if index > 0 {
            shown.push_str(" MB");
        }
        let digits = |character: &char| character.is_ascii_digit() || *character == '.';
        let size = part.chars().rev().take_while(digits).count();
        let is_last = index + 1 == text.split(" MB").count();
        if is_last {
            shown.push_str(part);
            continue;
        }
        let (before, number) = part.split_at(part.len() - size);
        shown.push_str(before);
        shown.extend(number.chars().map(|character| if character == '.' { '.' } else { '#' }));
    }
    shown
}
