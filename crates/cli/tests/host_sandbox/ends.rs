//! However a command ends, nothing of it stays.

use std::process::{Command, Stdio};

use ostler_agent::sandbox::{Means, Walls};
use ostler_agent::tool::{Tool, ToolResult};
use ostler_model::task::SandboxMode;
use serde_json::json;

use crate::place::{Place, is_alive, is_gone};

/// One in the group, one in a session of its own whose parent has gone, and one that does not listen.
const TREE: &str = "
    sleep 1000 & echo $! >> pids
    (setsid sh -c 'echo $$ >> pids; exec sleep 1000' &)
    sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 1000; sleep 1000' &
    echo $$ >> pids
    while [ $(wc -l < pids) -lt 4 ]; do sleep 0.01; done
    echo begun
";

fn place() -> Place {
    Place::new(SandboxMode::WorkspaceWrite, Means::Landlock)
}

#[tokio::test]
async fn a_command_that_takes_too_long_ends_with_its_whole_tree() {
    let place = place();
    let command = format!("{TREE}\nwait");
    let result = place.call(json!({ "command": command, "timeout_s": 20 })).await;

    let said = "begun\nended after 20 s, with all that it had started: it took too long";
    assert_eq!(result, ToolResult::failed(said));
    is_gone(&place.pids(4).await).await;
}

#[tokio::test]
async fn a_command_that_ends_leaves_nothing_running() {
    let place = place();
    let result = place.run(&format!("{TREE}\nexit 3")).await;
    assert_eq!(result, ToolResult::failed("begun\nexit code: 3"));
    let pids = place.pids(4).await;
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0, "when the call returns");
}

#[tokio::test]
async fn a_stop_ends_it_and_keeps_what_it_said() {
    let place = place();
    let (terminal, context) = (place.terminal(&[]), place.context());
    let stop = context.stop.clone();
    let arguments = json!({ "command": format!("{TREE}\necho $$ >> pids\nwait") });
    let stopping = async {
        // The fifth comes when it has said what it says.
        let pids = place.pids(5).await;
        stop.cancel();
        pids
    };
    let (result, pids) = tokio::join!(terminal.call(arguments, &context), stopping);

    let said = "begun\nended, with all that it had started: the turn was stopped";
    assert_eq!(result, ToolResult::failed(said));
    is_gone(&pids).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_it_too() {
    let place = place();
    let (terminal, context) = (place.terminal(&[]), place.context());
    let arguments = json!({ "command": format!("{TREE}\nwait") });
    let pids = tokio::select! {
        result = terminal.call(arguments, &context) => panic!("{result:?}"),
        pids = place.pids(4) => pids,
    };
    is_gone(&pids).await;
}

/// The process that wants the command may be killed at any time; then the line closes by itself.
#[tokio::test]
async fn the_death_of_who_wants_it_ends_it() {
    let place = place();
    let walls = serde_json::to_string(&Walls::None).unwrap();
    // The shell holds the line and is killed.
    let script = "sleep 1000 | \"$0\" sandbox-exec --walls \"$1\" -- sh -c \"$2\"";
    let mut holder = Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ostler"), &walls])
        .arg(format!("{TREE}\nwait"))
        .current_dir(&place.work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pids = place.pids(4).await;
    let children = format!("/proc/{0}/task/{0}/children", holder.id());
    let children = std::fs::read_to_string(children).unwrap();
    // The first is the `sleep` that has the writing end.
    let sleeper: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    let sleeper = rustix::process::Pid::from_raw(sleeper).unwrap();
    rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();

    is_gone(&pids).await;
    holder.wait().unwrap();
}
