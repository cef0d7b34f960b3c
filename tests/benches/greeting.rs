//! How long Codex waits for our tool server: from the start of the process to the answer to its greeting, beside a process of ours that
//! only says its version.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark speaks and fails by panicking"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;

/// What Codex gives a server by default is 10 s; people notice a tenth of a second.
const MOST: Duration = Duration::from_millis(100);

/// What may be more than the budget before the benchmark fails: other programs run on the same machine.
const NOISE: f64 = 1.4;

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

fn main() {
    let home = tempfile::Builder::new().prefix("b").tempdir_in("/var/tmp").unwrap();
    let ours = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(words).env("OSTLER_HOME", home.path()).stdin(Stdio::piped());
        command.stdout(Stdio::piped());
        command
    };
    let greeted = middle(|| {
        let mut server = ours(&["tools-mcp"]).spawn().unwrap();
        writeln!(server.stdin.as_mut().unwrap(), "{GREETING}").unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("ostler-tools"), "{line}");
        drop(server.stdin.take());
        server
    });
    let bare = middle(|| {
        let mut said = ours(&["--version"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(said.stdout.take().unwrap()).read_line(&mut line).unwrap();
        said
    });
    let verdict = if greeted <= MOST { "ok    " } else { "MISSED" };
    let ratio = greeted.as_secs_f64() / bare.as_secs_f64();
    println!(
        "{verdict} the greeting of `ostler tools-mcp`: {:.1} ms of {} (`ostler --version` takes {:.1} ms, {ratio:.1} ×)",
        greeted.as_secs_f64() * 1000.0,
        MOST.as_millis(),
        bare.as_secs_f64() * 1000.0,
    );
    std::process::exit(i32::from(greeted > MOST.mul_f64(NOISE)));
}

/// The middle of some rounds, each up to its first line.
fn middle(round: impl Fn() -> std::process::Child) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            let mut child = round();
            let taken = begun.elapsed();
            // It ends with its input.
            drop(child.stdin.take());
            child.wait().unwrap();
            taken
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
