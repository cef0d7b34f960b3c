//! One throw-away home with real Codex in it, and a guard that ends whatever a failed test leaves.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

pub(crate) use ostler_testkit::VERSIONS;

pub(crate) const NEWEST: &str = "0.166.0";

/// For whatever a busy machine may take its time for.
const PATIENCE: Duration = Duration::from_secs(30);

/// For a user's service manager that comes up, and then lives through a whole chain of commands.
pub(crate) const MANAGER_PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn codex_binary(version: &str) -> PathBuf {
    ostler_testkit::codex_binary(version).unwrap()
}

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("codex-home")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("run/keepers")
    }

    /// The environment a starter has: as good as nothing, so that every test says what it adds.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let home = self.folder.path().to_str().unwrap();
        vec![
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME".to_owned(), home.to_owned()),
            ("OSTLER_HOME".to_owned(), home.to_owned()),
        ]
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment());
        command
    }

    pub(crate) fn ostler(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_ostler"));
        command.args(arguments).output().unwrap()
    }

    /// Runs a command that must succeed and gives what it printed as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        json_of(&self.ostler(&[arguments, &["--json"]].concat()))
    }

    pub(crate) fn start_arguments(&self, version: &str) -> Vec<String> {
        let codex = codex_binary(version);
        let home = self.path("codex-home");
        let words = ["keeper", "start", "--codex", codex.to_str().unwrap()];
        let words = words.into_iter().chain(["--codex-home", home.to_str().unwrap()]);
        words.map(str::to_owned).collect()
    }

    pub(crate) fn start(&self, version: &str) -> Started {
        let arguments = self.start_arguments(version);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Started::from(&self.json(&arguments))
    }

    /// The one keeper of this world, as `list` shows it.
    pub(crate) fn listed(&self) -> Value {
        let mut list = self.json(&["keeper", "list"]);
        let keepers = list["keepers"].as_array_mut().unwrap();
        assert_eq!(keepers.len(), 1, "{keepers:?}");
        keepers.remove(0)
    }

    pub(crate) fn record(&self, id: &str) -> Value {
        let text = fs::read(self.root().join(id).join("record.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Lets Codex run a shell script outside of its sandbox and gives the script's output.
    pub(crate) fn in_codex(&self, keeper: &Started, script: &str) -> String {
        let mut client = Client::connect(&keeper.socket);
        let result = client.call(
            "command/exec",
            &json!({
                "command": ["sh", "-c", script],
                "cwd": self.folder.path(),
                "sandboxPolicy": {"type": "dangerFullAccess"},
            }),
        );
        assert_eq!(result["exitCode"], 0, "{result}");
        result["stdout"].as_str().unwrap().to_owned()
    }

    /// Leaves two processes behind in sessions of their own, one of them without our mark; gives their pids.
    pub(crate) fn leave_orphans(&self, keeper: &Started) -> [i32; 2] {
        let script = "setsid sh -c 'echo $$ > marked.new; mv marked.new marked; exec sleep 1000' \
                      </dev/null >/dev/null 2>&1 &\n\
                      setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > bare.new; mv bare.new bare; exec sleep 1000' \
                      </dev/null >/dev/null 2>&1 &\n\
                      while ! [ -e marked ] || ! [ -e bare ]; do sleep 0.02; done";
        self.in_codex(keeper, script);
        ["marked", "bare"].map(|name| {
            let text = fs::read_to_string(self.path(name)).unwrap();
            let pid = text.trim().parse().unwrap();
            wait_until(&format!("{name} is asleep"), || {
                fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default() == "sleep\n"
            });
            pid
        })
    }
}

impl Drop for World {
    /// First the ordinary way; then, independent of the code under test, everything that has this world's path in
    /// its environment or arguments.
    fn drop(&mut self) {
        for entry in fs::read_dir(self.root()).into_iter().flatten().flatten() {
            let id = entry.file_name();
            let mut command = self.command(env!("CARGO_BIN_EXE_ostler"));
            // What it cannot end is ended below.
            drop(command.args(["keeper", "stop", "--now"]).arg(id).output());
        }
        let needle = self.folder.path().to_str().unwrap_or_default().as_bytes().to_vec();
        for name in ["marked", "bare"] {
            let pid = fs::read_to_string(self.path(name)).unwrap_or_default();
            if let Some(pid) = pid.trim().parse().ok().filter(|pid| is_sleep(*pid)) {
                kill(pid, Signal::KILL);
            }
        }
        for _ in 0..50 {
            let left: Vec<i32> = pids().into_iter().filter(|pid| mentions(*pid, &needle)).collect();
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|pid| kill(*pid, Signal::KILL));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) struct Started {
    pub(crate) id: String,
    pub(crate) socket: PathBuf,
    pub(crate) keeper: i32,
    pub(crate) codex: i32,
    pub(crate) record: Value,
}

impl From<&Value> for Started {
    fn from(value: &Value) -> Self {
        let pid = |who: &str| {
            let pid = value["record"][who]["pid"].as_i64().unwrap();
            i32::try_from(pid).unwrap()
        };
        Self {
            id: value["id"].as_str().unwrap().to_owned(),
            socket: value["socket"].as_str().unwrap().into(),
            keeper: pid("keeper"),
            codex: pid("codex"),
            record: value["record"].clone(),
        }
    }
}

/// The smallest client that Codex takes.
pub(crate) struct Client {
    socket: WebSocket<UnixStream>,
    next_id: u64,
}

impl Client {
    pub(crate) fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client("ws://localhost/", stream).unwrap();
        let mut client = Self { socket, next_id: 1 };
        let who = json!({"clientInfo": {"name": "test", "version": "0"}});
        client.call("initialize", &who);
        client.send(&json!({"method": "initialized"}));
        client
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"id": id, "method": method, "params": params}));
        loop {
            let message = self.read();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    pub(crate) fn read_until(&mut self, method: &str) -> Value {
        loop {
            let message = self.read();
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.socket.send(Message::text(text)).unwrap();
    }

    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                return serde_json::from_str(text.as_str()).unwrap();
            }
        }
    }
}

pub(crate) fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

pub(crate) fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, holds);
}

pub(crate) fn wait_within(patience: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Zombies do not count: they wait for whoever started them.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some(None | Some('Z' | 'X')))
}

pub(crate) fn kill(pid: i32, signal: Signal) {
    // One that has ended meanwhile needs no signal.
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap_or_default();
}

pub(crate) fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// Whether a living process has `needle` in its environment or its arguments. Never ourselves.
pub(crate) fn mentions(pid: i32, needle: &[u8]) -> bool {
    let holds = |file: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    u32::try_from(pid) != Ok(std::process::id())
        && is_alive(pid)
        && (holds("environ") || holds("cmdline"))
}

fn is_sleep(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
}
