//! `ostler run` as a script sees it: transcripts, JSON, exit codes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ostler_scripted_model::{
    Answer, Call, Conversation, Fault, Plays, ProviderLimits, Script, ScriptedModel,
};
use ostler_testkit::codex_binary;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{LEAVES_A_LINE, PROMPT, command, patch, text};

/// A machine with a Codex on PATH and a Codex home that points to a scripted model.
pub(crate) struct Machine {
    folder: TempDir,
    path: String,
    pub(crate) model: ScriptedModel,
    /// Serves the model; last, because the model ends in it.
    runtime: Runtime,
}

impl Machine {
    pub(crate) fn new(version: &str, answers: Vec<Answer>) -> Self {
        let conversations = vec![Conversation { prompt: PROMPT.to_owned(), answers }];
        let runtime = Runtime::new().unwrap();
        let inside = runtime.enter();
        let model = ScriptedModel::start(Script { conversations, ..Script::default() }).unwrap();
        drop(inside);
        let codex = codex_binary(version).unwrap();
        // Socket paths must be short, so not below `target/`; and a Codex home must not be below `/tmp`.
        let folder = tempfile::Builder::new().prefix("r").tempdir_in("/var/tmp").unwrap();
        let limits = ProviderLimits {
            request_max_retries: 1,
            stream_max_retries: 1,
            ..ProviderLimits::default()
        };
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("inn")).unwrap();
        fs::write(folder.path().join("home/config.toml"), model.codex_config(&limits)).unwrap();
        let path = format!("{}:/usr/bin:/bin", codex.parent().unwrap().display());
        Self { folder, path, model, runtime }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("inn")
    }

    pub(crate) fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.workspace().join(name)).unwrap_or_default().lines().count()
    }

    /// Puts the environment of this machine on any program.
    pub(crate) fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("CODEX_HOME", self.folder.path().join("home"))
            .env("OSTLER_HOME", self.folder.path().join("o"))
    }

    pub(crate) fn ostler(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        self.at_home(command.args(arguments)).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(&self.ostler(&[&["run"], arguments].concat()).output().unwrap(), self)
    }

    pub(crate) fn keeper_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("o/run/keepers")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    }

    /// The thread that ostler ran last.
    pub(crate) fn remembered_thread(&self) -> String {
        let files = fs::read_dir(self.folder.path().join("o/state/threads")).unwrap();
        let name = files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).max();
        name.unwrap().strip_suffix(".json").unwrap().to_owned()
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn assert_nothing_runs(&self) {
        assert_eq!(crate::demo::runs_below(self.folder.path()), Vec::<String>::new());
    }
}

/// A test that fails in the middle leaves its keeper behind.
impl Drop for Machine {
    fn drop(&mut self) {
        for folder in self.keeper_folders() {
            let id = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            drop(self.ostler(&["keeper", "stop", "--now", id]).output());
        }
    }
}

pub(crate) struct Ran {
    pub(crate) exit: i32,
    /// With what differs from run to run replaced.
    pub(crate) text: String,
    pub(crate) errors: String,
    lines: Vec<String>,
}

impl Ran {
    fn new(output: &Output, machine: &Machine) -> Self {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.replace(&machine.workspace().display().to_string(), "INN")
        };
        let text = shown(&output.stdout);
        Self {
            exit: output.status.code().unwrap(),
            lines: text.lines().map(str::to_owned).collect(),
            text,
            errors: shown(&output.stderr),
        }
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let parse = |line: &String| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.lines.iter().map(parse).collect()
    }

    pub(crate) fn result(&self) -> Value {
        self.events().pop().unwrap_or_else(|| panic!("nothing was said: {}", self.errors))
    }

    pub(crate) fn thread(&self) -> String {
        self.result()["thread"].as_str().unwrap().to_owned()
    }
}

#[rstest]
fn a_turn_is_shown_to_its_end(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![text("Harnessed.\nReady to go.")]);

    let ran = machine.run(&[PROMPT]);

    let thread = ran.text.split("--resume ").nth(1).unwrap().split(' ').next().unwrap();
    let lines: Vec<String> =
        ran.text.replace(thread, "THREAD").lines().map(str::to_owned).collect();
    assert_eq!(ran.exit, 0, "{}{}", ran.text, ran.errors);
    let usage = lines.iter().position(|line| line.starts_with("tokens: ")).unwrap();
    assert!(lines[usage].starts_with("tokens: 100 in (0 % cached), 10 out; context "), "{lines:?}");
    assert!(lines[0].starts_with(&format!("· Codex {version}, ")), "{lines:?}");
    assert!(lines[0].ends_with(" in INN"), "{lines:?}");
    let rest: Vec<&str> =
        lines[1..usage].iter().chain(&lines[usage + 1..]).map(String::as_str).collect();
    assert_eq!(
        rest,
        [
            "· sandbox read-only, approval on-request",
            "· no terminal to ask on: what Codex asks is declined",
            "",
            "you    harness the horse",
            "codex  Harnessed.",
            "       Ready to go.",
            "",
            "✓ done",
            "· go on: ostler run --resume THREAD \"…\"",
        ]
    );
    assert_eq!(ran.errors, "");
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
    machine.assert_nothing_runs();
}

#[rstest]
fn every_line_of_json_is_one_that_is_documented(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let change = "*** Begin Patch\n*** Add File: sign.txt\n+Welcome\n*** End Patch\n";
    let answers = vec![command("echo neigh"), patch(change), text("Done.")];
    let machine = Machine::new(version, answers);

    let ran =
        machine.run(&["--json", "--sandbox", "workspace-write", "--approval", "never", PROMPT]);

    assert_eq!(ran.exit, 0, "{}{}", ran.text, ran.errors);
    let documented =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md"));
    let documented = documented.unwrap();
    for event in ran.events() {
        let name = event["event"].as_str().unwrap().to_owned();
        let row = documented.lines().find(|line| {
            line.starts_with('|') && line.split('|').nth(1).unwrap().contains(&format!("`{name}`"))
        });
        let row = row.unwrap_or_else(|| panic!("{name} is not documented"));
        for field in event.as_object().unwrap().keys().filter(|field| *field != "event") {
            assert!(row.contains(&format!("`{field}`")), "{field} of {name} is not documented");
        }
    }
    let names: BTreeSet<String> =
        ran.events().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    for name in ["thread", "taken", "command", "command_done", "file_change", "text_done", "usage"]
    {
        assert!(names.contains(name), "{names:?}");
    }
    let result = ran.result();
    let of = |name: &str| result[name].clone();
    assert_eq!(
        json!([of("event"), of("ok"), of("exit"), of("status"), of("answer"), of("declined")]),
        json!(["result", true, 0, "completed", "Done.", 0])
    );
    assert_eq!(result["usage"]["calls"], 3);
    assert_eq!(fs::read_to_string(machine.workspace().join("sign.txt")).unwrap(), "Welcome\n");
}

#[rstest]
#[case::usage_limit(Fault::UsageLimit { plan_type: Some("plus".into()), resets_in_s: Some(3600) }, 5, "usage_limit")]
#[case::rate_limit(status(429), 75, "rate_limit")]
#[case::overload(Fault::Failed { after: 0, code: "server_is_overloaded".into(), message: "full".into() }, 75, "overload")]
#[case::context(Fault::Failed { after: 0, code: "context_length_exceeded".into(), message: "long".into() }, 1, "context_window")]
#[case::auth(status(401), 1, "auth")]
fn a_failure_has_its_exit_code_and_says_what_to_do(
    #[values("0.130.0", "0.166.0")] version: &str,
    #[case] fault: Fault,
    #[case] exit: i32,
    #[case] class: &str,
) {
    let answer = Answer { fault: Some(fault), plays: Plays::Forever, ..Answer::default() };
    let machine = Machine::new(version, vec![answer]);

    let ran = machine.run(&["--json", PROMPT]);

    let result = ran.result();
    assert_eq!((ran.exit, &result["status"]), (exit, &json!("failed")), "{result} {}", ran.errors);
    assert_eq!((&result["error"]["class"], &result["exit"]), (&json!(class), &json!(exit)));
    let advice = result["error"]["advice"].as_str().unwrap();
    assert!(!advice.is_empty() && ran.errors.contains(&format!("✗ failed ({class}): ")));
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
}

fn status(status: u16) -> Fault {
    Fault::Status { status, code: None, message: None, retry_after_s: None, body: None }
}

#[rstest]
fn a_turn_that_takes_too_long_is_ended(#[values("0.130.0", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![command("sleep 4321"), text("Never said.")]);

    let ran =
        machine.run(&["--json", "--sandbox", "danger-full-access", "--timeout", "3s", PROMPT]);

    assert_eq!(
        (ran.exit, &ran.result()["error"]["class"]),
        (124, &json!("timed_out")),
        "{}",
        ran.text
    );
    machine.assert_nothing_runs();
}

/// Nobody can be asked: declined, and the exit code says whether Codex found another way.
#[rstest]
#[case::no_other_way(vec![], 4)]
#[case::another_way(vec![command("echo neigh")], 0)]
fn without_a_terminal_every_ask_is_declined(
    #[values("0.130.0", "0.166.0")] version: &str,
    #[case] then: Vec<Answer>,
    #[case] exit: i32,
) {
    let wants_more = json!({
        "cmd": LEAVES_A_LINE, "sandbox_permissions": "require_escalated", "justification": "must I?"
    });
    let call = Call::function("exec_command", wants_more);
    let asks = Answer { calls: vec![call], ..Answer::default() };
    let answers = [vec![asks], then, vec![text("That is all.")]].concat();
    let machine = Machine::new(version, answers);

    let ran = machine.run(&["--json", PROMPT]);

    let closed: Vec<Value> =
        ran.events().into_iter().filter(|event| event["event"] == "ask_closed").collect();
    assert_eq!(closed.len(), 1, "{}", ran.text);
    assert_eq!(closed[0]["text"], "declined: there is nobody to ask");
    assert_eq!((ran.exit, &ran.result()["declined"]), (exit, &json!(1)), "{}", ran.text);
    assert_eq!(machine.lines("ran.log"), 0);
}

#[rstest]
fn a_thread_goes_on_with_the_settings_it_had(#[values("0.130.0", "0.166.0")] version: &str) {
    let machine = Machine::new(version, vec![text("First."), text("Second.")]);
    let first = machine.run(&["--json", "--sandbox", "workspace-write", "--network", PROMPT]);

    let beginning = first.thread()[..18].to_owned();
    let second = machine.run(&["--json", "--resume", &beginning, "and on"]);

    assert_eq!(second.exit, 0, "{}{}", second.text, second.errors);
    assert_eq!(second.result()["answer"], "Second.");
    let opened = |ran: &Ran| {
        let mut thread = ran.events().into_iter().find(|event| event["event"] == "thread").unwrap();
        thread["keeper"] = Value::Null;
        thread
    };
    assert_eq!(opened(&first), opened(&second));
    assert_eq!(opened(&second)["sandbox"], "workspace-write with network");
}

#[test]
fn what_is_piped_in_goes_with_the_prompt() {
    let machine = Machine::new("0.166.0", vec![text("Read.")]);
    let mut command = machine.ostler(&["run", "--json", PROMPT]);
    let list = machine.workspace().join("list.txt");
    fs::write(&list, "oats\nhay\n").unwrap();

    let ran = Ran::new(&command.stdin(fs::File::open(&list).unwrap()).output().unwrap(), &machine);

    assert_eq!(ran.exit, 0, "{}{}", ran.text, ran.errors);
    let prompts: Vec<Value> =
        ran.events().into_iter().filter(|event| event["event"] == "prompt").collect();
    assert_eq!(prompts[0]["text"], format!("{PROMPT}\n(and 2 lines from stdin)"));
    let requests = format!("{:?}", machine.model.requests());
    assert!(requests.contains("<stdin>") && requests.contains("oats"), "{requests}");
}

#[rstest]
#[case::no_prompt(&[], 2, "there is no prompt")]
#[case::no_folder(&["--cd", "nowhere", "go"], 3, "cannot use the folder nowhere")]
#[case::no_image(&["--image", "no.png", "go"], 3, "cannot use the image no.png")]
#[case::roots_without_sandbox(&["--add-dir", ".", "go"], 2, "--add-dir needs --sandbox workspace-write")]
#[case::setting_twice(&["-c", "sandbox_mode=read-only", "go"], 2, "config key `sandbox_mode` is set by `sandbox`; use that")]
#[case::no_setting(&["-c", "nonsense", "go"], 2, "`nonsense` is no setting; write key=value")]
#[case::no_thread(&["--resume", "01a1e245-ab9a-7f50-acbf-0d80ce9cd6ae", "go"], 3, "codex has no thread ")]
fn what_cannot_work_is_refused(
    #[case] arguments: &[&str],
    #[case] exit: i32,
    #[case] message: &str,
) {
    let machine = Machine::new("0.166.0", vec![text("Never said.")]);

    let ran = machine.run(&[&["--json"], arguments].concat());

    let error = ran.result()["error"].clone();
    assert_eq!((ran.exit, &error["exit"]), (exit, &json!(exit)), "{}", ran.errors);
    assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
}

#[test]
fn without_a_login_nothing_long_is_started() {
    let machine = Machine::new("0.166.0", vec![text("Never said.")]);
    fs::write(machine.folder.path().join("home/config.toml"), "").unwrap();

    let ran = machine.run(&["--json", PROMPT]);

    assert_eq!(
        (ran.exit, &ran.result()["error"]["message"]),
        (1, &json!("nobody is logged in to Codex"))
    );
    assert_eq!(machine.keeper_folders(), Vec::<PathBuf>::new());
    machine.assert_nothing_runs();
}
