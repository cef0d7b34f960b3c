//! The log of a whole connection, over a pair of pipes.
#![cfg(test)]

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use ostler_codex::peer::{self, Event, Events, Peer, PeerSettings};
use ostler_codex::transport::Stdio;
use ostler_codex::wire::RequestId;
use ostler_codex::wire_log::{
    Ending, ReadError, Recording, Said, Side, WireLog, WireLogError, WireLogFailure,
    WireLogSettings, read,
};
use ostler_model::ThreadId;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

const PATIENCE: Duration = Duration::from_secs(20);

/// The other end of the pipes.
struct Codex {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    sink: WriteHalf<DuplexStream>,
}

impl Codex {
    async fn says(&mut self, line: &str) {
        self.sink.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hears(&mut self) -> String {
        self.lines.next_line().await.unwrap().unwrap()
    }
}

fn connect(log: &WireLog) -> (Peer, Events, Codex) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let settings = PeerSettings { tap: Some(log.tap()), ..PeerSettings::default() };
    let (peer, events) = peer::open(Stdio::new(reader, writer), &settings);
    let (reader, sink) = tokio::io::split(theirs);
    (peer, events, Codex { lines: BufReader::new(reader).lines(), sink })
}

fn start(folder: &Path) -> WireLog {
    WireLog::start(WireLogSettings::in_folder(folder)).unwrap()
}

/// The messages of a file, `>` before ours.
fn said(path: &Path) -> Vec<String> {
    let mut recording = read(path).unwrap();
    let told = |said: Said| match said {
        Said::Json(json) => json.get().to_owned(),
        Said::Text(text) => format!("text {text}"),
        Said::TooLong { bytes, head } => format!("{bytes} bytes of {head}"),
    };
    let mut last = 0;
    let said = recording.by_ref().map(|entry| {
        let entry = entry.unwrap();
        assert!(entry.at_ms >= last);
        last = entry.at_ms;
        let mark = if entry.from == Side::Us { "> " } else { "" };
        format!("{mark}{}", told(entry.said))
    });
    said.collect()
}

fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn every_message_is_in_the_file_of_its_thread_as_it_was_on_the_wire() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("log");
    let log = start(&folder);
    let (peer, mut events, mut codex) = connect(&log);
    let greet = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("initialize", &json!({}), PATIENCE).await.unwrap() }
    });
    assert_eq!(codex.hears().await, r#"{"id":1,"method":"initialize","params":{}}"#);
    let greeting = r#"{"id":1,"result":{"userAgent":"x/0.166.0 (y)"}}"#;
    codex.says(greeting).await;
    greet.await.unwrap();
    let open = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("thread/start", &json!({"cwd":"/"}), PATIENCE).await.unwrap() }
    });
    let request = codex.hears().await;
    let opened = r#"{"id":2, "result":{"thread":{"id":"a/b"}}}"#;
    codex.says(opened).await;
    open.await.unwrap();
    let question = r#"{"id":0,"method":"item/tool/requestUserInput","params":{"threadId":"a/b","questions":[{"id":"q","isSecret":true}]}}"#;
    codex.says(question).await;
    let Some(Event::Request { id, .. }) = events.next().await else { panic!() };
    assert_eq!(id, RequestId::integer(0));
    peer.answer(&id, &json!({"answers":{"q":{"answers":["open sesame"]}}})).await.unwrap();
    codex.hears().await;
    codex.says(r#"{"method":"m","params":{"threadId":"a/b","said":"open sesame!"}}"#).await;
    codex.says("panic at sk-0123456789abcdef").await;
    let child = r#"{"method":"m","params":{"threadId":"child","n":1}}"#;
    codex.says(child).await;
    for _ in 0..3 {
        events.next().await.unwrap();
    }
    log.adopt(&ThreadId::new("child"), &ThreadId::new("a/b")).await;
    let adopted = r#"{"method":"m","params":{"threadId":"child","n":2}}"#;
    codex.says(adopted).await;
    events.next().await.unwrap();
    log.flush().await.unwrap();

    let connection = said(&folder.join("connection.jsonl"));
    assert_eq!(
        connection,
        [
            r#"> {"id":1,"method":"initialize","params":{}}"#,
            greeting,
            &format!("> {request}"),
            opened,
            "text panic at ‹redacted›",
        ]
    );
    assert_eq!(
        said(&folder.join("a%2Fb.jsonl")),
        [
            &format!("> {request}"),
            opened,
            question,
            r#"> {"id":0,"result":{"answers":{"q":{"answers":["‹redacted›"]}}}}"#,
            r#"{"method":"m","params":{"threadId":"a/b","said":"‹redacted›!"}}"#,
            adopted,
        ]
    );
    assert_eq!(said(&folder.join("child.jsonl")), [child, adopted]);
    let recording = read(&folder.join("a%2Fb.jsonl")).unwrap();
    let header = recording.header().unwrap();
    assert_eq!(
        (header.thread.as_deref(), header.codex_version.as_deref()),
        (Some("a/b"), Some("0.166.0"))
    );
    assert!(header.started_at.as_ref().unwrap().parse::<jiff::Timestamp>().is_ok());
    events.close().await;
    log.close().await.unwrap();
    assert_eq!(files(&folder), ["a%2Fb.jsonl", "child.jsonl", "connection.jsonl"]);
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_log_and_not_the_conversation() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("log");
    let log = start(&folder);
    let (peer, mut events, mut codex) = connect(&log);
    codex.says(r#"{"method":"m"}"#).await;
    events.next().await.unwrap();
    log.flush().await.unwrap();
    fs::remove_dir_all(&folder).unwrap();
    codex.says(r#"{"method":"m","params":{"threadId":"t"}}"#).await;
    events.next().await.unwrap();
    let failure = log.flush().await.unwrap_err();
    let path = folder.join("t.jsonl").display().to_string();
    let reason = "No such file or directory (os error 2)".to_owned();
    assert_eq!(failure, WireLogFailure::File { path, reason });
    assert_eq!(log.failure(), Some(failure.clone()));
    // More than any queue would hold.
    let flood = tokio::spawn(async move {
        for _ in 0..5000 {
            codex.says(r#"{"method":"m"}"#).await;
        }
        codex
    });
    for _ in 0..5000 {
        events.next().await.unwrap();
    }
    let _codex = flood.await.unwrap();
    peer.notify("still here").await.unwrap();
    assert_eq!(log.close().await, Err(failure));
}

/// Ten times more than the queue to the log's thread holds: the conversation waits, and nothing is missing.
#[tokio::test]
async fn a_flood_is_recorded_without_a_hole() {
    const LINES: usize = 10_240;
    let directory = tempfile::tempdir().unwrap();
    let log = start(&directory.path().join("log"));
    let line =
        |number: usize| format!(r#"{{"method":"m","params":{{"threadId":"t","n":{number}}}}}"#);
    let flood: String = (0..LINES).map(|number| line(number) + "\n").collect();
    let settings = PeerSettings { tap: Some(log.tap()), ..PeerSettings::default() };
    let (_peer, mut events) =
        peer::open(Stdio::new(Cursor::new(flood.into_bytes()), tokio::io::sink()), &settings);
    while events.next().await.is_some() {}
    log.close().await.unwrap();
    let said = said(&directory.path().join("log/t.jsonl"));
    assert!(said.into_iter().eq((0..LINES).map(line)));
}

#[tokio::test]
async fn a_file_at_its_bound_says_that_it_was_cut() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("log");
    let settings = WireLogSettings { max_file_bytes: 2000, ..WireLogSettings::in_folder(&folder) };
    let log = WireLog::start(settings).unwrap();
    let (_peer, mut events, mut codex) = connect(&log);
    for _ in 0..100 {
        codex.says(r#"{"method":"m","params":{"threadId":"t"}}"#).await;
        events.next().await.unwrap();
    }
    log.close().await.unwrap();
    let path = folder.join("t.jsonl");
    assert!(fs::metadata(&path).unwrap().len() <= 2000);
    let mut recording = read(&path).unwrap();
    assert!(recording.by_ref().count() > 10);
    assert_eq!(recording.ending(), Some(Ending::Cut));
}

#[tokio::test]
async fn a_log_that_could_not_keep_its_promises_is_not_started() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = WireLogSettings::in_folder(directory.path().join("log"));
    settings.secrets.push("abc".to_owned());
    assert!(matches!(WireLog::start(settings), Err(WireLogError::Secret(_))));
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let settings = WireLogSettings::in_folder(file.join("log"));
    assert!(matches!(WireLog::start(settings), Err(WireLogError::Folder { .. })));
}

fn recording(text: &str) -> Result<Recording<Cursor<Vec<u8>>>, ReadError> {
    Recording::of(Cursor::new(text.as_bytes().to_vec()))
}

/// What was read, how it ended, and the error that ended it.
fn all(text: &str) -> (Vec<String>, Option<Ending>, Option<String>) {
    let mut recording = match recording(text) {
        Ok(recording) => recording,
        Err(error) => return (Vec::new(), None, Some(error.to_string())),
    };
    let mut said = Vec::new();
    let mut error = None;
    for entry in recording.by_ref() {
        match entry {
            Ok(entry) => said.push(format!("{} {} {:?}", entry.line, entry.at_ms, entry.said)),
            Err(found) => error = Some(found.to_string()),
        }
    }
    (said, recording.ending(), error)
}

#[test]
fn a_recording_is_read_with_and_without_header_and_with_a_torn_end() {
    let header = r#"{"ostler_wire_log":1,"later":[],"thread":null}"#;
    let line = r#"{"at_ms":3,"from":"us","line":{"a": 1.0},"later":1}"#;
    let read = |line: u64| format!("{line} 3 Json(RawValue({{\"a\": 1.0}}))");
    let whole = |text: &str| all(text);
    assert_eq!(
        whole(&format!("{header}\n{line}\n\n{line}\n")),
        (vec![read(2), read(4)], Some(Ending::Whole), None)
    );
    assert_eq!(
        whole(&format!("{line}\n{line}")),
        (vec![read(1), read(2)], Some(Ending::Whole), None)
    );
    assert_eq!(
        whole(&format!("{header}\n{line}\n{}", &line[..20])),
        (vec![read(2)], Some(Ending::Torn), None)
    );
    assert_eq!(whole(&header[..9]), (vec![], Some(Ending::Torn), None));
    assert_eq!(whole(header), (vec![], Some(Ending::Whole), None));
    assert_eq!(
        whole(&format!("{header}\n{line}\n{{\"cut\":true}}\n")),
        (vec![read(2)], Some(Ending::Cut), None)
    );
}

#[test]
fn what_is_no_recording_is_named_with_its_line() {
    let header = r#"{"ostler_wire_log":1}"#;
    let errors = [
        ("", "the recording is empty"),
        (
            "{\"ostler_wire_log\":2}\n",
            "the recording has format 2, this ostler reads up to 1; use a newer ostler",
        ),
        ("hello\n", "line 1 is no recorded message: expected value at line 1 column 1"),
        (&format!("{header}\n[]\n"), "line 2 is no recorded message: expected an object"),
        (
            &format!("{header}\n\n{{\"from\":\"me\"}}\n"),
            "line 3 is no recorded message: `from` must be \"codex\" or \"us\"",
        ),
        (
            &format!("{header}\n{{\"from\":\"us\",\"at_ms\":1}}\n"),
            "line 2 is no recorded message: it has neither `line` nor `text`",
        ),
        (
            &format!("{header}\n{{\"from\":\"us\",\"text\":\"\"}}\n"),
            "line 2 is no recorded message: `at_ms` must be a number",
        ),
    ];
    for (text, expected) in errors {
        assert_eq!(all(text).2.as_deref(), Some(expected), "{text}");
    }
}
