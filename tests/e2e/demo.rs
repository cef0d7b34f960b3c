use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ostler_testkit::codex_binary;
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

/// A machine with nothing of ours on it, and a Codex of this version on PATH.
struct Machine {
    folder: TempDir,
    path: String,
}

impl Machine {
    fn with_codex(version: &str) -> Self {
        let codex = codex_binary(version).unwrap();
        let folder = tempfile::Builder::new().prefix("d").tempdir_in(scratch()).unwrap();
        let path = format!("{}:/usr/bin:/bin", codex.parent().unwrap().display());
        Self { folder, path }
    }

    fn demo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ostler"))
            .arg("demo")
            .args(arguments)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path().join("o"))
            .output()
            .unwrap()
    }
}

/// Socket paths must be short, so not below `target/`.
fn scratch() -> PathBuf {
    let folder = Path::new("/var/tmp").to_owned();
    assert!(folder.is_dir(), "/var/tmp is missing");
    folder
}

#[rstest]
fn the_demo_changes_a_file_after_an_approval(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let machine = Machine::with_codex(version);
    let output = machine.demo(&["--yes", "--json"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| -> Vec<&Value> { events.iter().filter(|e| e["event"] == name).collect() };
    assert_eq!(of("answer").len(), of("ask").len());
    assert!(of("ask").iter().any(|ask| ask["what"] == "Codex asks to run a command"), "{text}");
    let ends: Vec<_> = of("command_done").iter().map(|end| end["exit_code"].clone()).collect();
    assert_eq!(ends, [1, 0], "the checker complains first and is content afterwards");
    let result = of("result")[0];
    assert_eq!(result["ok"], true);
    let sign = Path::new(result["workspace"].as_str().unwrap()).join("sign.txt");
    let sign = std::fs::read_to_string(sign).unwrap();
    assert_eq!(sign, "Welcome to the Ostler Inn\nFresh horses, warm beds, hot soup\n");
    assert!(!machine.folder.path().join(".codex").exists(), "the user's own home was touched");
    assert_eq!(nothing_runs_below(machine.folder.path()), Vec::<String>::new());
}

/// Command lines of processes that name the folder.
fn nothing_runs_below(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    });
    lines.filter(|line| line.contains(&folder)).collect()
}
