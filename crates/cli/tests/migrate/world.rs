//! A user with a Codex and another program's file.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ostler_testkit::codex_binary;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host agent's file with one server of each kind.
pub(crate) const HOST: &str = "\
mcp_servers:
  hay: {command: cut-hay, args: [--fine], env: {HAY_TOKEN: not-to-be-copied}}
  oats: {url: 'https://oats.example/mcp'}
";

pub(crate) struct World {
    /// Not below `/tmp`, where Codex wants no home.
    folder: TempDir,
}

impl World {
    pub(crate) fn new(version: &str) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let world = Self { folder };
        for name in ["config", "codex"] {
            fs::create_dir(world.path(name)).unwrap();
        }
        let codex = codex_binary(version).unwrap();
        fs::write(world.path("config/config.toml"), format!("[codex]\npath = {codex:?}\n"))
            .unwrap();
        fs::write(world.path("host.yaml"), HOST).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Codex's own file.
    pub(crate) fn config(&self) -> PathBuf {
        self.path("codex/config.toml")
    }

    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path())
            .env("CODEX_HOME", self.path("codex"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn migrate(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_ostler"));
        command.arg("migrate").args(arguments).output().unwrap()
    }

    /// Writes the servers of the host's file into Codex's.
    pub(crate) fn write(&self) -> Output {
        let host = self.path("host.yaml");
        self.migrate(&["--write", "--json", "--from", host.to_str().unwrap()])
    }

    pub(crate) fn undo(&self) -> Output {
        self.migrate(&["--undo", "--json"])
    }

    /// What is in the Codex home, and must be the file alone.
    pub(crate) fn home(&self) -> Vec<String> {
        names(&self.path("codex"))
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The message of a failure.
pub(crate) fn refusal(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    report(output)["error"]["message"].as_str().unwrap().to_owned()
}

/// Puts questions to an app-server on the world's own home, one after the other.
pub(crate) fn ask(
    world: &World,
    version: &str,
    home: &Path,
    questions: &[(&str, Value)],
) -> Vec<Value> {
    let mut codex = world
        .command(codex_binary(version).unwrap())
        .arg("app-server")
        .env("CODEX_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = codex.stdin.take().unwrap();
    let mut lines = BufReader::new(codex.stdout.take().unwrap()).lines();
    let hello = json!({"clientInfo": {"name": "test", "version": "1"}});
    let mut answers = Vec::new();
    let all = std::iter::once(("initialize", hello)).chain(questions.iter().cloned());
    for (id, (method, params)) in all.enumerate() {
        writeln!(input, "{}", json!({"id": id, "method": method, "params": params})).unwrap();
        let answer = loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == json!(id) && line.get("method").is_none() {
                break line;
            }
        };
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answers.push(answer["result"].clone());
        if method == "initialize" {
            writeln!(input, "{}", json!({"method": "initialized"})).unwrap();
        }
    }
    drop(input);
    codex.wait().unwrap();
    answers.split_off(1)
}
