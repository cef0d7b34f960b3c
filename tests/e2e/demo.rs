use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_model::{Decision, ThreadId};
use ostler_testkit::{Client, Terminal, codex_binary};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// At the end of each question that the demo asks a person.
const CURSOR: &str = "› ";

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

    fn ostler(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path().join("o"));
        command
    }

    fn demo(&self) -> Output {
        self.ostler(&["demo", "--yes", "--json"]).output().unwrap()
    }

    fn demo_on_terminal(&self) -> Terminal {
        Terminal::run(self.ostler(&["demo"])).unwrap()
    }

    fn keeper_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("o/run/keepers")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    }

    /// The record of the one keeper.
    fn record(&self) -> Value {
        let listed = self.ostler(&["keeper", "list", "--json"]).output().unwrap();
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed.pointer("/keepers/0/record").unwrap().clone()
    }

    /// How often the checker ran in the newest demo.
    fn checks_run(&self) -> usize {
        let demos = fs::read_dir(self.folder.path().join("o/state/demo")).unwrap();
        let newest = demos.map(|entry| entry.unwrap().path()).max().unwrap();
        let log = fs::read_to_string(newest.join("workspace/check.log")).unwrap_or_default();
        log.lines().count()
    }

    /// Neither a process nor a keeper's folder.
    fn assert_nothing_left(&self) {
        assert_eq!(runs_below(self.folder.path()), Vec::<String>::new());
        assert_eq!(self.keeper_folders(), Vec::<PathBuf>::new());
    }
}

/// A test that fails in the middle kills its demo, and what that started outlives it.
impl Drop for Machine {
    fn drop(&mut self) {
        for folder in self.keeper_folders() {
            let id = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            drop(self.ostler(&["keeper", "stop", "--now", id]).output());
        }
    }
}

/// Socket paths must be short, so not below `target/`.
fn scratch() -> PathBuf {
    let folder = Path::new("/var/tmp").to_owned();
    assert!(folder.is_dir(), "/var/tmp is missing");
    folder
}

/// One JSON value for each line.
fn events(output: &Output) -> Vec<Value> {
    let text = str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[rstest]
fn the_demo_changes_a_file_after_an_approval(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let machine = Machine::with_codex(version);
    let output = machine.demo();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let events = events(&output);
    let of = |name: &str| -> Vec<&Value> { events.iter().filter(|e| e["event"] == name).collect() };
    assert_eq!(of("answer").len(), of("ask").len());
    assert!(of("ask").iter().any(|ask| ask["what"] == "Codex asks to run a command"), "{events:?}");
    let ends: Vec<_> = of("command_done").iter().map(|end| end["exit_code"].clone()).collect();
    assert_eq!(ends, [1, 0], "the checker complains first and is content afterwards");
    let result = events.last().unwrap();
    assert_eq!((&result["event"], &result["ok"]), (&"result".into(), &true.into()));
    let sign = Path::new(result["workspace"].as_str().unwrap()).join("sign.txt");
    let sign = fs::read_to_string(sign).unwrap();
    assert_eq!(sign, "Welcome to the Ostler Inn\nFresh horses, warm beds, hot soup\n");
    assert!(!machine.folder.path().join(".codex").exists(), "the user's own home was touched");
    machine.assert_nothing_left();
}

/// With the npm, the registry settings and the npm cache of whoever runs the tests.
#[test]
fn without_codex_the_demo_fetches_one() {
    let folder = tempfile::Builder::new().prefix("d").tempdir_in(scratch()).unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["node", "npm"] {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
        let found = fs::canonicalize(str::from_utf8(&found.stdout).unwrap().trim()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    }
    // No folder of the machine that might have a Codex in it.
    for name in ["sh", "env", "bash", "tr", "grep", "sed", "cat", "uname"] {
        let program = Path::new("/usr/bin").join(name);
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["demo", "--yes", "--json"])
        .env("PATH", &bin)
        .env("OSTLER_HOME", folder.path().join("o"))
        .stdin(Stdio::null())
        .output()
        .unwrap();

    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let events = events(&output);
    let steps: Vec<&str> = events.iter().filter_map(|event| event["text"].as_str()).collect();
    let fetched = folder.path().join("o/cache/codex/0.166.0");
    assert_eq!(
        steps.get(..2).unwrap(),
        [
            "no Codex on this machine yet: fetching 0.166.0 from npm",
            &format!("Codex 0.166.0 in {}", fetched.display()),
        ]
    );
    assert_eq!(events.last().unwrap()["ok"], true, "{events:?}");
    assert_eq!(runs_below(folder.path()), Vec::<String>::new());
}

/// The answers in turn; the last one is given to all further questions.
#[rstest]
#[case::yes(&["y"], 0, 2)]
#[case::no(&["n"], 0, 0)]
#[case::cancel(&["c"], 7, 0)]
#[case::nonsense_first(&["yess", "", "s"], 0, 2)]
fn a_person_decides(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[case] answers: &[&str],
    #[case] exit: i32,
    #[case] checks: usize,
) {
    let machine = Machine::with_codex(version);
    let mut demo = machine.demo_on_terminal();
    answer_all(&mut demo, answers);
    assert_eq!(demo.exit_code().unwrap(), exit, "{}", demo.shown());
    assert_eq!(machine.checks_run(), checks, "{}", demo.shown());
    machine.assert_nothing_left();
}

fn answer_all(demo: &mut Terminal, answers: &[&str]) {
    let mut answers = answers.iter();
    let mut last = "";
    let mut question = 1;
    // The wait fails when the demo ends without a further question.
    while demo.wait_for(CURSOR, question).is_ok() {
        last = answers.next().unwrap_or(&last);
        demo.type_in(&format!("{last}\n")).unwrap();
        question += 1;
    }
}

#[rstest]
fn a_codex_that_dies_ends_the_demo_while_the_person_thinks(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let machine = Machine::with_codex(version);
    let mut demo = machine.demo_on_terminal();
    demo.wait_for(CURSOR, 1).unwrap();
    let codex = i32::try_from(machine.record()["codex"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(codex).unwrap(), Signal::KILL).unwrap();
    assert_eq!(demo.exit_code().unwrap(), 1);
    assert!(demo.shown().contains("codex is gone: "), "{}", demo.shown());
    assert_eq!(runs_below(machine.folder.path()), Vec::<String>::new());
    assert_eq!(machine.keeper_folders().len(), 1, "what it wrote last is kept");
}

/// Another program connects to the same Codex and answers the open question.
#[rstest]
#[tokio::test]
async fn a_question_that_somebody_else_answers_is_taken_back(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let machine = Machine::with_codex(version);
    let mut demo = machine.demo_on_terminal();
    demo.wait_for(CURSOR, 1).unwrap();
    let home = PathBuf::from(machine.record()["codex_home"].as_str().unwrap());
    let socket = machine.keeper_folders()[0].join("socket");
    let mut other = Client::connect(&socket, home.with_file_name("workspace")).await.unwrap();
    other.server.call(&ThreadResume::new(thread_below(&home))).await.unwrap();
    let question = other.question().await.unwrap();
    other.answer(&question, &Decision::Once).await.unwrap();
    demo.wait_for("answered elsewhere", 1).unwrap();
    other.close().await;

    demo.wait_for(CURSOR, 2).unwrap();
    answer_all(&mut demo, &["y"]);
    assert_eq!(demo.exit_code().unwrap(), 0, "{}", demo.shown());
    assert_eq!(machine.checks_run(), 2);
}

/// Codex names the file of a thread after it.
fn thread_below(home: &Path) -> ThreadId {
    let found = Command::new("find").arg(home.join("sessions")).args(["-name", "*.jsonl"]).output();
    let found = String::from_utf8(found.unwrap().stdout).unwrap();
    let name = found.trim().strip_suffix(".jsonl").unwrap();
    ThreadId::new(name.get(name.len() - 36..).unwrap())
}

#[rstest]
fn a_demo_that_is_interrupted_while_its_keeper_starts_leaves_nothing(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(Signal::INT, Signal::TERM)] signal: Signal,
) {
    let machine = Machine::with_codex(version);
    let mut command = machine.ostler(&["demo", "--yes", "--json"]);
    let mut demo = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while machine.keeper_folders().is_empty() {
        assert!(Instant::now() < deadline && demo.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_raw(demo.id().cast_signed()).unwrap(), signal).unwrap();
    let output = demo.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let last = events(&output).pop().unwrap();
    let expected = serde_json::json!({"exit": 130, "message": "interrupted", "hint": null});
    assert_eq!(last["error"], expected);
    machine.assert_nothing_left();
}

/// Only the three newest demos are kept, but not at the cost of one that is still at work.
#[test]
fn a_demo_at_work_is_not_taken_for_an_old_one() {
    let machine = Machine::with_codex("0.166.0");
    let mut first = machine.demo_on_terminal();
    first.wait_for(CURSOR, 1).unwrap();
    let workspace =
        PathBuf::from(machine.record()["codex_home"].as_str().unwrap()).with_file_name("workspace");
    for _ in 0..3 {
        assert!(machine.demo().status.success());
    }
    assert!(workspace.join("sign.txt").is_file());
    answer_all(&mut first, &["y"]);
    assert_eq!(first.exit_code().unwrap(), 0, "{}", first.shown());
    machine.assert_nothing_left();
}

/// Command lines of processes that name the folder.
pub(crate) fn runs_below(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    });
    lines.filter(|line| line.contains(&folder)).collect()
}
