//! A machine with a Codex home that points to a scripted model, and a daemon that ends with the test.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use ostler_scripted_model::{Answer, Conversation, ProviderLimits, Script, ScriptedModel};
use ostler_testkit::{Terminal, codex_binary};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::PROMPT;

pub(crate) struct World {
    folder: TempDir,
    pub(crate) model: ScriptedModel,
    /// Serves the model; last, because the model ends in it.
    _runtime: Runtime,
}

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) errors: String,
}

impl World {
    pub(crate) fn new(version: &str, answers: Vec<Answer>) -> Self {
        let conversation = Conversation { prompt: PROMPT.to_owned(), answers };
        Self::with(version, vec![conversation], "")
    }

    /// With more to say, and with this in the `[tasks]` section of the configuration.
    pub(crate) fn with(version: &str, conversations: Vec<Conversation>, tasks: &str) -> Self {
        let fallback = Some(Answer { text: Some("All right.".to_owned()), ..Answer::default() });
        let runtime = Runtime::new().unwrap();
        let inside = runtime.enter();
        let script = Script { conversations, fallback, ..Script::default() };
        let model = ScriptedModel::start(script).unwrap();
        drop(inside);
        // Socket paths must be short, so not below `target/`; and a Codex home must not be below `/tmp`.
        let folder = tempfile::Builder::new().prefix("t").tempdir_in("/var/tmp").unwrap();
        let limits = ProviderLimits {
            request_max_retries: 1,
            stream_max_retries: 1,
            ..ProviderLimits::default()
        };
        for name in ["home", "inn", "o", "o/config"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("home/config.toml"), model.codex_config(&limits)).unwrap();
        let config = format!(
            "[codex]\npath = {:?}\nhome = {:?}\n\n[tasks]\n{tasks}\n",
            codex_binary(version).unwrap(),
            folder.path().join("home"),
        );
        fs::write(folder.path().join("o/config/config.toml"), config).unwrap();
        Self { folder, model, _runtime: runtime }
    }

    /// The operator names another Codex home. A daemon that runs has read the file without it.
    pub(crate) fn name_home(&self, home: &str) {
        let file = self.path("o/config/config.toml");
        let config = fs::read_to_string(&file).unwrap();
        let homes = format!("homes = [{:?}]\n\n[tasks]", self.path(home));
        fs::write(&file, config.replacen("[tasks]", &homes, 1)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lines of a file in the workspace.
    pub(crate) fn lines(&self, name: &str) -> usize {
        let text = fs::read_to_string(self.path("inn").join(name)).unwrap_or_default();
        text.lines().count()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        self.at_home(command.args(arguments));
        command
    }

    pub(crate) fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.path("inn"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.path("o"))
            .stdin(Stdio::null())
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(&self.command(arguments).output().unwrap())
    }

    /// The one object that a command prints. It must have ended well.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.exit, 0, "{arguments:?}: {} {}", ran.out, ran.errors);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
    }

    /// On a terminal, which is the controlling terminal, as a shell has it.
    pub(crate) fn on_terminal(&self, arguments: &[&str]) -> Terminal {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_ostler")]).args(arguments);
        self.at_home(&mut command);
        Terminal::run(command).unwrap()
    }

    /// Starts a task that will ask, and waits until it does.
    pub(crate) fn start_asking(&self) -> (String, String) {
        let ran = self.run(&[&["start", PROMPT, "--wait"], &crate::ASKS[..]].concat());
        assert_eq!(ran.exit, 4, "{} {}", ran.out, ran.errors);
        let asks = self.json(&["asks"]);
        let ask = &asks["asks"][0]["ask"];
        (word(&ask["task"]), word(&ask["id"]))
    }

    /// The names of the events in a task's log, and the whole log.
    pub(crate) fn log(&self, task: &str) -> Vec<Value> {
        let ran = self.run(&["logs", task, "--json"]);
        assert_eq!(ran.exit, 0, "{}", ran.errors);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A test that fails in the middle leaves nothing behind either.
impl Drop for World {
    fn drop(&mut self) {
        drop(self.command(&["daemon", "stop", "--now"]).output());
        let keepers = fs::read_dir(self.path("o/run/keepers")).into_iter().flatten().flatten();
        for keeper in keepers {
            let id = keeper.file_name().into_string().unwrap_or_default();
            drop(self.command(&["keeper", "stop", "--now", &id]).output());
        }
    }
}

impl Ran {
    fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            exit: output.status.code().unwrap(),
            out: text(&output.stdout),
            errors: text(&output.stderr),
        }
    }
}

/// What is on the screen, without colours.
pub(crate) fn plain(terminal: &Terminal) -> String {
    let shown = terminal.shown().replace('\r', "");
    let mut out = String::new();
    let mut characters = shown.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(character);
        }
    }
    out
}
