//! The web and the browser in a real chat.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ostler_scripted_model::{Answer, Pace};
use serde_json::json;

use crate::world::{Plan, World};
use crate::{call, conversation, said, text};

const PAGE: &str = "<title>The inn</title><main><h1>Rooms</h1><p>All stables are warm.</p></main><button>Book</button>";

/// A page on loopback, for as long as the test runs.
pub(crate) fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                if matches!(stream.read(&mut head), Ok(1..)) {
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{PAGE}",
                        PAGE.len()
                    );
                    stream.write_all(answer.as_bytes()).ok();
                }
            });
        }
    });
    port
}

/// Only by its name.
pub(crate) fn allowing(port: u16) -> &'static str {
    format!("review = false\n\n[web]\nallowed_hosts = [\"localhost:{port}\"]\n").leak()
}

/// Every process that has the folder of a browser in its command line.
fn browsers(profiles: &Path) -> usize {
    let wanted = profiles.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.filter(|line| String::from_utf8_lossy(line).contains(wanted)).count()
}

fn until_nothing_is_left(profiles: &Path) {
    until(profiles, || browsers(profiles) == 0 && profiles.read_dir().unwrap().next().is_none());
}

/// Whoever is ended with a whole app-server is killed, and its folder is removed by the next browser.
pub(crate) fn until_no_browser_runs(profiles: &Path) {
    until(profiles, || browsers(profiles) == 0);
}

fn until(profiles: &Path, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{} processes live on", browsers(profiles));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_chat_reads_the_web_and_looks_at_pages_and_leaves_no_browser_behind() {
    let port = serve();
    let url = format!("http://localhost:{port}/");
    let private = format!("http://127.0.0.1:{port}/");
    let host = conversation(
        "look at the inn",
        vec![
            call("web_extract", json!({ "urls": [url, private] })),
            call("browser_navigate", json!({ "url": url })),
            call("browser_navigate", json!({ "url": private })),
            call("web_search", json!({ "query": "inn" })),
            text("Warm stables."),
        ],
    );
    let world = World::new(Plan { host: vec![host], agent: allowing(port), ..Plan::default() });

    let found = world.ask("look at the inn", &[]);

    assert_eq!(found["final_response"], "Warm stables.", "{found}");
    let results: Vec<String> =
        said(&found).into_iter().filter(|(role, _)| role == "tool").map(|(_, text)| text).collect();
    assert!(results[0].contains("# Rooms\n\nAll stables are warm."), "{}", results[0]);
    assert!(results[0].contains("not read: 127.0.0.1 is refused"), "{}", results[0]);
    assert!(
        results[1].contains("title: The inn\n") && results[1].contains("- button \"Book\" @e1"),
        "{}",
        results[1]
    );
    assert!(results[2].starts_with("127.0.0.1 is refused"), "{}", results[2]);
    assert!(results[3].contains("`search` in [web]"), "{}", results[3]);
    until_nothing_is_left(&world.path("o/state/agent/browser"));
}

#[test]
fn a_chat_that_is_killed_leaves_no_browser_behind() {
    let port = serve();
    let thinks = Pace { before_headers_ms: 600_000, ..Pace::default() };
    let host = conversation(
        "look at the inn",
        vec![
            call("browser_navigate", json!({ "url": format!("http://localhost:{port}/") })),
            Answer { pace: Some(thinks), ..text("Never said.") },
        ],
    );
    let world = World::new(Plan { host: vec![host], agent: allowing(port), ..Plan::default() });
    let mut chat = world.command(&["chat", "-q", "look at the inn", "--json"]);
    let mut chat = chat.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The page was opened, and the model thinks about it.
    world.wait_for_host(2);
    let profiles = world.path("o/state/agent/browser");
    assert!(browsers(&profiles) > 2, "the supervisor, the shell, and Chromium");

    chat.kill().unwrap();
    chat.wait().unwrap();

    until_nothing_is_left(&profiles);
}
