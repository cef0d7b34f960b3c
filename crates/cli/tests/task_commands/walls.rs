//! What a command in Codex's sandbox can do to the daemon and to its own app-server when it may use the network: nothing that would
//! give it more than its sandbox does.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use ostler_scripted_model::Conversation;
use rstest::rstest;

use crate::self_approval::read_until_there;
use crate::world::World;
use crate::{PROMPT, command, text};

/// Names a socket that this test binary, started by the command, tries to reach.
const SOCKET: &str = "OSTLER_TEST_SOCKET";

/// Names the task that the test's own program is to release.
const RELEASE: &str = "OSTLER_TEST_RELEASE";

/// Every way out that the daemon or the app-server could be. Each leaves what was said and how it ended.
const CLIMB: &str = r#"
export OSTLER_HOME="$(cat ostler-home)" OSTLER_NO_DAEMON_START=1
ostler="$(cat ostler)" task="$(cat task)" ask="$(cat ask)"
try() { name=$1; shift; "$@" < /dev/null > "said-$name" 2>&1; echo $? > "code-$name"; }
touch "$OSTLER_HOME/outside" 2> /dev/null && echo 0 > code-touch
try start "$ostler" start hello -c 'mcp_servers.evil.command="sh"' \
  -c "mcp_servers.evil.args=[\"-c\",\"touch $OSTLER_HOME/escaped\"]"
try fork "$ostler" fork "$task" "do it again"
try send "$ostler" send "$task" "do it"
try steer "$ostler" steer "$task" "do it"
try interrupt "$ostler" interrupt "$task"
OSTLER_TEST_RELEASE="$task" try release "$(cat tests)" --exact walls::releases_a_task --nocapture
try answer "$ostler" answer "$ask" once
for socket in "$OSTLER_HOME"/run/keepers/*/socket; do
  OSTLER_TEST_SOCKET="$socket" try socket "$(cat tests)" --exact walls::reaches_a_socket --nocapture
done
cat code-*; echo over > over
"#;

/// Run by the command above; otherwise there is nothing to reach.
#[test]
fn reaches_a_socket() {
    #[expect(clippy::disallowed_methods, reason = "this is a program of the test's own")]
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let reached = UnixStream::connect(socket);
    assert!(reached.is_err(), "it is reached");
    panic!("not reached: {}", reached.unwrap_err());
}

/// Run by the command above, because no command of ours does it: closes what Codex has open for a task.
#[test]
fn releases_a_task() {
    #[expect(clippy::disallowed_methods, reason = "this is a program of the test's own")]
    let (task, home) = (std::env::var(RELEASE), std::env::var("OSTLER_HOME"));
    let Ok(task) = task else { return };
    let mut daemon = UnixStream::connect(format!("{}/run/daemon.sock", home.unwrap())).unwrap();
    let head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close";
    write!(daemon, "POST /v1/tasks/{task}/release HTTP/1.1\r\n{head}\r\n\r\n{{}}").unwrap();
    let mut said = String::new();
    daemon.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "refused: {said}");
}

#[rstest]
fn a_command_with_network_gets_out_of_its_sandbox_by_no_door_of_ours(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let talk = |prompt: &str, answers| Conversation { prompt: prompt.to_owned(), answers };
    let asks = command("sh -c 'echo ran >> ran.log'");
    let conversations = vec![
        talk(PROMPT, vec![asks, text("Done.")]),
        talk("climb the wall", vec![command("sh climb.sh"), text("I tried.")]),
    ];
    let world = World::with(version, conversations, "allow_approval_never = true");
    let (task, ask) = world.start_asking();
    let tests = std::env::current_exe().unwrap();
    let ours = world.path("o").display().to_string();
    for (name, text) in [
        ("climb.sh", CLIMB),
        ("ostler-home", &ours),
        ("ostler", env!("CARGO_BIN_EXE_ostler")),
        ("tests", tests.to_str().unwrap()),
        ("task", &task),
        ("ask", &ask),
    ] {
        fs::write(world.path("inn").join(name), text).unwrap();
    }

    let wide = ["--sandbox", "workspace-write", "--network", "--approval", "never"];
    let agent = world.run(&[&["start", "climb the wall", "--wait"], &wide[..]].concat());

    assert_eq!(agent.exit, 0, "{} {}", agent.out, agent.errors);
    let read = |name: &str| fs::read_to_string(world.path("inn").join(name)).unwrap_or_default();
    assert_eq!(read_until_there(&world, "over", 1), "over\n", "{}", read("said-start"));
    assert_eq!(read("code-touch"), "", "it was in no sandbox");
    for (name, said) in [
        ("start", "mcp_servers.evil.command"),
        ("fork", "an agent may not fork"),
        ("send", "an agent may not speak into"),
        ("steer", "an agent may not speak into"),
        ("interrupt", "an agent may not interrupt"),
        ("release", "an agent may not release"),
        ("answer", "an agent may not answer"),
        ("socket", "not reached"),
    ] {
        let (heard, code) = (read(&format!("said-{name}")), read(&format!("code-{name}")));
        assert!(heard.contains(said), "{name}: {heard}");
        assert_ne!(code, "0\n", "{name}");
    }
    assert!(!world.path("o/escaped").exists());
    assert_eq!(world.json(&["ls", "--all"])["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(world.json(&["asks"])["asks"][0]["ask"]["id"], *ask, "nobody has decided");
    assert_eq!(world.lines("ran.log"), 0);
    let log = fs::read_to_string(world.path("o/state/logs/daemon.log")).unwrap();
    for tried in ["fork", "speak into", "interrupt", "release"] {
        let noted = format!("an agent was refused: it tried to {tried} a task of ");
        assert!(log.contains(&noted), "{noted:?} is not in {log}");
    }
    let tried = |line: &serde_json::Value| line["event"]["event"] == "self_approval_refused";
    assert_eq!(world.log(&task).iter().filter(|line| tried(line)).count(), 1);
}

#[rstest]
fn a_program_in_a_task_s_settings_needs_the_operator_s_leave(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let answers = || vec![text("Done.")];
    let started = |world: &World| {
        let ran = world.path("inn/ran").display().to_string();
        let program = r#"mcp_servers.hay.command="sh""#;
        let arguments = format!(r#"mcp_servers.hay.args=["-c","touch {ran}"]"#);
        let ran = world.run(&["start", PROMPT, "--wait", "-c", program, "-c", &arguments]);
        (ran, world.path("inn/ran").exists())
    };

    let (refused, has_run) = started(&World::new(version, answers()));
    assert_eq!((refused.exit, has_run), (2, false), "{}", refused.errors);
    for key in ["mcp_servers.hay.command", "mcp_servers.hay.args"] {
        let leave = format!("`allow_config = [\"{key}\"]` in [tasks]");
        assert!(refused.errors.contains(&leave), "{}", refused.errors);
    }

    let conversation = Conversation { prompt: PROMPT.to_owned(), answers: answers() };
    let allowed = "allow_config = [\"mcp_servers.hay\"]";
    let (taken, has_run) = started(&World::with(version, vec![conversation], allowed));
    assert_eq!((taken.exit, has_run), (0, true), "{} {}", taken.out, taken.errors);
}
