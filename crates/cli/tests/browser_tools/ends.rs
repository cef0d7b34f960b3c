//! However a browser ends, nothing of it stays, and another can be had.

use std::path::Path;
use std::time::Duration;

use ostler_agent::sandbox::Means;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::inn::{Inn, named, until};

const PAGES: &[(&str, &str)] = &[
    ("/", "<title>Inn</title><p>Hello."),
    ("/spin", "<title>Spin</title><button onclick='for (;;);'>Spin</button>"),
];

fn is_empty(inn: &Inn) -> bool {
    inn.processes().is_empty()
        && inn.profiles().read_dir().map_or(true, |mut entries| entries.next().is_none())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_goes_with_its_tools() {
    let mut inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let running = inn.processes();
    assert!(running.len() > 2, "the supervisor, and Chromium with its parts");
    // Without a sandbox of its own, as root has none, it is held by ours where the kernel has one.
    let is_held = running.iter().any(|pid| line_of(*pid).contains("\"walls\":\"landlock\""));
    let is_bare = rustix::process::geteuid().is_root();
    assert_eq!(is_held, is_bare && Means::find(None) == Ok(Means::Landlock));
    inn.close();
    until("all of it ends", || is_empty(&inn)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_has_a_browser_of_its_own() {
    let inn = Inn::new(PAGES).await;
    let set = json!({ "expression": "document.cookie = 'mare=1'; localStorage.mare = 1; document.title = 'Mine'" });
    for conversation in ["one", "two"] {
        let opened =
            inn.call_as(conversation, "browser_navigate", json!({ "url": inn.url("/") })).await;
        assert!(!opened.is_error, "{}", opened.content);
    }
    inn.said("browser_console", set).await;
    let look =
        json!({ "expression": "`${document.title} ${document.cookie} ${localStorage.mare}`" });
    let other = inn.call_as("two", "browser_console", look).await;
    assert!(other.content.starts_with("result: Inn  undefined\n"), "{}", other.content);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_killed_is_followed_by_another() {
    let inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let before = inn.processes();
    // In the middle of a call that would never end.
    let endless = json!({ "expression": "new Promise(() => {})" });
    let killing = async {
        let main = main_process(&before);
        kill_process(Pid::from_raw(main).unwrap(), Signal::KILL).unwrap();
    };
    let (cut, ()) = tokio::join!(inn.failed("browser_console", endless), killing);
    assert_eq!(cut, "the browser has ended; `browser_navigate` starts another");
    let none = inn.failed("browser_snapshot", json!({})).await;
    assert!(none.contains("`browser_navigate`"), "{none}");

    let again = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(again.contains("title: Inn\n"), "{again}");
    until("the first one ends whole", || before.iter().all(|pid| !inn.processes().contains(pid)))
        .await;
    assert_eq!(inn.profiles().read_dir().unwrap().count(), 1, "only the new one has a folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_supervisor_itself_may_be_killed_too() {
    let inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let before = inn.processes();
    let supervisor = before.iter().find(|pid| line_of(**pid).contains("sandbox-exec")).unwrap();
    kill_process(Pid::from_raw(*supervisor).unwrap(), Signal::KILL).unwrap();
    // Nobody has to call for that.
    until("all of it ends", || before.iter().all(|pid| !inn.processes().contains(pid))).await;
    let again = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(again.contains("title: Inn\n"), "{again}");
    assert_eq!(inn.profiles().read_dir().unwrap().count(), 1, "the old folder was swept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_stuck_is_left_behind() {
    let inn = Inn::with(PAGES, |browser| browser.timeout = Duration::from_secs(30)).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/spin") })).await;
    let spin = named(&seen, "- button \"Spin\"");
    let stuck = inn.failed("browser_click", json!({ "ref": spin })).await;
    assert_eq!(stuck, "the page did not answer within 30 s");
    let again = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(again.contains("title: Inn\n"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_come_up_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("chromium");
    let script = "#!/bin/sh\necho 'No usable sandbox!' >&2\nexit 1\n";
    ostler_testkit::write_script(&program, script, 0o755).unwrap();
    let inn = Inn::with(PAGES, |browser| browser.program = Some(program)).await;
    let said = inn.failed("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert_eq!(
        said,
        "the browser did not come up:\nNo usable sandbox!\nIf this machine has no sandbox for it, the user can set \
         sandbox = false in [browser] of Ostler's config.toml"
    );
    until("its folder goes", || is_empty(&inn)).await;
}

/// Sockets have no room for such a path.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_path_to_its_folder_is_no_hindrance() {
    let mut inn = Inn::with(PAGES, |browser| {
        browser.profiles = browser.profiles.join("long".repeat(20));
    })
    .await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(seen.contains("title: Inn\n"), "{seen}");
    let folder =
        inn.profiles().join("long".repeat(20)).read_dir().unwrap().next().unwrap().unwrap();
    let name = folder.file_name().into_string().unwrap();
    let beside = Path::new("/tmp").join(format!("ostler-browser-{name}"));
    assert!(beside.exists());
    inn.close();
    until("both folders go", || !folder.path().exists() && !beside.exists()).await;
}

fn line_of(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Chromium itself: it has the flag, and is of no kind.
fn main_process(pids: &[i32]) -> i32 {
    let is_main = |pid: &&i32| {
        let line = line_of(**pid);
        line.contains("--remote-debugging-pipe")
            && !line.contains("--type=")
            && !line.contains("sandbox-exec")
            && !line.starts_with("sh ")
    };
    *pids.iter().find(is_main).unwrap()
}
