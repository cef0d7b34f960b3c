//! What a command says.

use ostler_agent::sandbox::Means;
use ostler_agent::tool::ToolResult;
use ostler_model::task::SandboxMode;
use serde_json::json;

use crate::place::{Place, both};

/// The most that this process ever held, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn both_outputs_come_in_their_order_with_the_exit_code() {
    for means in both() {
        let place = Place::new(SandboxMode::WorkspaceWrite, means);
        let result = place.run("echo 1; echo 2 >&2; echo 3; cat; exit 7").await;
        assert_eq!(result, ToolResult::failed("1\n2\n3\nexit code: 7"), "{:?}", place.means);
        assert_eq!(place.run("kill -9 $$").await, ToolResult::failed("exit code: 137"));
    }
}

#[tokio::test]
async fn a_wall_in_the_way_is_explained() {
    let place = Place::new(SandboxMode::WorkspaceWrite, Means::Landlock);
    let result = place.run("echo x > \"$OTHER/new\"").await;
    let hint = format!(
        "\n(The sandbox may be the cause: it lets a command write to /tmp, {}, and it has no network. If more is needed, \
        call again with `outside_sandbox` and a `justification`; a person decides.)",
        place.work.display()
    );
    assert!(result.content.ends_with(&hint), "{}", result.content);
}

/// Says to this program that it runs one test and no other beside it.
const ALONE: &str = "OSTLER_TEST_ALONE";

/// In a process of its own: the others hold whole binaries at times.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is how this process tells its child"
)]
async fn a_gigabyte_of_output_is_cut_while_it_is_read() {
    if std::env::var_os(ALONE).is_none() {
        let mut alone = tokio::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "output::a_gigabyte_of_output_is_cut_while_it_is_read"]);
        let ran = alone.env(ALONE, "yes").output().await.unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let place = Place::new(SandboxMode::WorkspaceWrite, Means::Landlock);
    let before = peak_memory();
    let command = "echo begin; head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo end";
    let result = place.call(json!({ "command": command, "timeout_s": 600 })).await;
    let grown = peak_memory() - before;

    assert!(grown < 32 * 1024, "{grown} KiB");
    let text = result.content;
    assert!(text.len() < 50 * 1024, "{}", text.len());
    assert!(text.starts_with("begin\nxxx") && text.ends_with("xxx\nend\nexit code: 0"));
    let mark = "\n[… 1073692683 bytes with 0 lines were cut here …]\n";
    assert!(text.contains(mark), "{:?}", text.lines().find(|line| line.starts_with('[')));
}
