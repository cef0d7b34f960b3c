//! Who is asked before what. Real walls are tested with the real program, in `crates/cli/tests/host_sandbox`.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_model::ask::{AskKind, CommandAsk, Permissions};
use ostler_model::task::{Approval, Sandbox, SandboxMode};
use ostler_model::{Ask, Decision};
use serde_json::{Value, json};

use super::{Terminal, TerminalSettings};
use crate::sandbox::{Confinement, Means, Unavailable};
use crate::tool::{Tool, ToolResult};
use crate::tools::ask_first::question;
use crate::tools::fakes::{Answer, FakeAsks, context};

/// Says which walls it was told to build, and builds none.
const LAUNCHER: [&str; 4] = ["/bin/sh", "-c", r#"echo "$2"; shift 3; exec "$@""#, "launcher"];

const LANDLOCK: &str = r#"{"walls":"landlock","writable":["/usr"],"network":false}"#;
const READ_ONLY: &str = r#"{"walls":"landlock","writable":[],"network":false}"#;
const BUBBLEWRAP: &str = r#"{"walls":"bubblewrap","program":"/bwrap","writable":["/usr"],"read_only":["/usr/.git","/usr/.codex","/usr/.agents"],"network":false}"#;
const NONE: &str = r#"{"walls":"none"}"#;

fn terminal(mode: SandboxMode, approval: Approval, means: Result<Means, Unavailable>) -> Terminal {
    let sandbox = Sandbox { mode, ..Sandbox::default() };
    let confinement =
        Confinement { sandbox, approval, cwd: "/usr".into(), ..Confinement::default() };
    Terminal::new(TerminalSettings {
        launcher: LAUNCHER.map(Into::into).to_vec(),
        boundary: Arc::new(confinement.resolve()),
        means,
        environment: [("PATH".into(), "/usr/bin:/bin".into()), ("SEEN".into(), "yes".into())]
            .into(),
    })
}

async fn call(terminal: &Terminal, asks: &Arc<FakeAsks>, arguments: Value) -> ToolResult {
    terminal.call(arguments, &context(asks, PathBuf::from("/usr"))).await
}

#[tokio::test]
async fn what_is_confined_runs_and_what_is_not_is_asked_for() {
    use Approval::{Never, OnRequest, Untrusted};
    use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let inside = || json!({ "command": "touch x && false" });
    let reads = || json!({ "command": "ls /usr" });
    let outside = || json!({ "command": "ls /usr", "outside_sandbox": true });
    let bubblewrap = || Ok(Means::Bubblewrap("/bwrap".into()));
    let cases = [
        (WorkspaceWrite, OnRequest, bubblewrap(), inside(), Ok(BUBBLEWRAP)),
        (WorkspaceWrite, Never, bubblewrap(), inside(), Ok(BUBBLEWRAP)),
        (WorkspaceWrite, Untrusted, bubblewrap(), inside(), Err(1)),
        (WorkspaceWrite, OnRequest, Ok(Means::Landlock), inside(), Err(1)),
        (WorkspaceWrite, OnRequest, Ok(Means::Landlock), reads(), Ok(LANDLOCK)),
        (ReadOnly, OnRequest, Ok(Means::Landlock), inside(), Ok(READ_ONLY)),
        (DangerFullAccess, OnRequest, Ok(Means::Landlock), inside(), Ok(NONE)),
        (WorkspaceWrite, Never, Ok(Means::Landlock), inside(), Err(0)),
        (WorkspaceWrite, Untrusted, Ok(Means::Landlock), inside(), Err(1)),
        (WorkspaceWrite, Untrusted, Ok(Means::Landlock), reads(), Ok(LANDLOCK)),
        (DangerFullAccess, Untrusted, Ok(Means::Landlock), inside(), Err(1)),
        (WorkspaceWrite, OnRequest, Ok(Means::Landlock), outside(), Err(1)),
        (WorkspaceWrite, Never, Ok(Means::Landlock), outside(), Err(0)),
        (WorkspaceWrite, OnRequest, Err(Unavailable("old".into())), reads(), Err(1)),
        (WorkspaceWrite, Never, Err(Unavailable("old".into())), reads(), Err(0)),
    ];
    for (mode, approval, means, arguments, wanted) in cases {
        let what = format!("{mode:?} {approval:?} {means:?} {arguments}");
        let terminal = terminal(mode, approval, means);
        let asks = FakeAsks::answering(Answer::of(Decision::Deny));

        let result = call(&terminal, &asks, arguments).await;

        match wanted {
            Ok(walls) => {
                assert_eq!(result.content.lines().next(), Some(walls), "{what}");
                assert_eq!(asks.asks(), [], "{what}");
            }
            Err(questions) => {
                assert!(
                    result.is_error && result.content.starts_with("declined"),
                    "{what}: {result:?}"
                );
                assert_eq!(asks.asks().len(), questions, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn outside_of_the_sandbox_the_person_sees_command_place_and_reason() {
    let terminal = terminal(SandboxMode::WorkspaceWrite, Approval::OnRequest, Ok(Means::Landlock));
    let asks = FakeAsks::answering(Answer::of(Decision::Once));
    let arguments = json!({
        "command": "echo $SEEN $HOME.", "cwd": "bin", "outside_sandbox": true, "justification": "to see",
    });

    let result = call(&terminal, &asks, arguments).await;

    let everything =
        Permissions { network: Some(true), write: vec!["/".into()], ..Permissions::default() };
    let wanted: Ask = question(
        AskKind::Command(CommandAsk {
            command: Some("echo $SEEN $HOME.".into()),
            cwd: Some("/usr/bin".into()),
            extra: Some(everything),
            sandboxing: ostler_model::ask::Sandboxing::Outside,
            ..CommandAsk::default()
        }),
        Some("outside of the sandbox: to see".into()),
    );
    assert_eq!(asks.asks(), [wanted]);
    assert_eq!(
        result,
        ToolResult::said(format!("{NONE}\nyes .\nexit code: 0")),
        "nothing is inherited"
    );
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_told() {
    let terminal = terminal(SandboxMode::WorkspaceWrite, Approval::OnRequest, Ok(Means::Landlock));
    let asks = FakeAsks::answering(Answer::of(Decision::Deny));
    let cases = [
        (json!({ "command": " " }), "`command` is empty; give a line for `sh`"),
        (json!({ "command": "ls", "cwd": "nowhere" }), "`cwd` is no folder: /usr/nowhere"),
        (json!({}), "the arguments of `terminal` do not fit: missing field `command`"),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(call(&terminal, &asks, arguments).await, ToolResult::failed(wanted));
    }
}
