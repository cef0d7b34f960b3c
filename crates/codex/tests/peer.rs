//! The peer against a server of our own that misbehaves on purpose: what real Codex cannot be made to do on demand.
//! Lines that stand for Codex's are recorded from it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::os::fd::AsFd;
use std::time::Duration;

use ostler_codex::peer::{self, Closed, Event, Events, Peer, PeerSettings, RequestError};
use ostler_codex::transport::Stdio;
use ostler_codex::wire::{OddityKind, RequestId};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

const SOON: Duration = Duration::from_secs(60);
/// For what needs no waiting at all; as long as a busy machine may need.
const AT_ONCE: Duration = Duration::from_secs(20);

/// The server's end of the pipe.
struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Server {
    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    async fn say(&mut self, value: &Value) {
        self.write(format!("{value}\n").as_bytes()).await;
    }

    async fn answer_next(&mut self, result: &Value) {
        let request = self.read().await;
        self.say(&json!({"id": request["id"], "result": result})).await;
    }
}

fn pair(settings: &PeerSettings) -> (Peer, Events, Server) {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(ours);
    let (peer, events) = peer::open(Stdio::new(reader, writer), settings);
    let (reader, writer) = tokio::io::split(theirs);
    (peer, events, Server { lines: BufReader::new(reader).lines(), writer })
}

fn small() -> PeerSettings {
    PeerSettings { queued_events: 4, queued_bytes: 1024, ..PeerSettings::default() }
}

#[tokio::test]
async fn a_request_gets_its_own_answer_whatever_the_order() {
    let (peer, _events, mut server) = pair(&PeerSettings::default());
    let (first, second) = (peer.clone(), peer);
    let first = tokio::spawn(async move { first.request("a", &json!({"n": 1}), SOON).await });
    let one = server.read().await;
    let second = tokio::spawn(async move { second.request("b", &json!({}), SOON).await });
    let two = server.read().await;
    assert_eq!(one, json!({"id": 1, "method": "a", "params": {"n": 1}}));
    server.say(&json!({"id": two["id"], "result": "two"})).await;
    server.say(&json!({"id": one["id"], "result": "one"})).await;
    assert_eq!(first.await.unwrap().unwrap().get(), "\"one\"");
    assert_eq!(second.await.unwrap().unwrap().get(), "\"two\"");
}

#[tokio::test]
async fn the_end_of_the_stream_fails_all_pending_requests_at_once() {
    let (peer, mut events, mut server) = pair(&PeerSettings::default());
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let peer = peer.clone();
            // The deadline is an hour: only the end of the stream can end this test.
            tokio::spawn(async move { peer.request("x", &json!({}), SOON * 60).await })
        })
        .collect();
    for _ in 0..20 {
        server.read().await;
    }
    drop(server);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(
            matches!(error, RequestError::Closed { reason: Closed::Eof, may_have_arrived: true }),
            "{error}"
        );
    }
    assert_eq!(events.next().await, Some(Event::Closed(Closed::Eof)));
    assert_eq!(events.next().await, None);
    let error = peer.request("x", &json!({}), SOON).await.unwrap_err();
    assert!(
        matches!(error, RequestError::Closed { reason: Closed::Eof, may_have_arrived: false }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_at_its_deadline_and_a_late_answer_is_only_odd() {
    let (peer, mut events, mut server) = pair(&PeerSettings::default());
    let call = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("slow", &json!({}), Duration::from_secs(30)).await }
    });
    let request = server.read().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, RequestError::TimedOut { may_have_arrived: true, .. }), "{error}");
    server.say(&json!({"id": request["id"], "result": {}})).await;
    let Some(Event::Oddity(oddity)) = events.next().await else { panic!() };
    assert_eq!(oddity.kind, OddityKind::LateReply);
    let call = tokio::spawn(async move { peer.request("next", &json!({}), SOON).await });
    server.answer_next(&json!({"ok": true})).await;
    assert_eq!(call.await.unwrap().unwrap().get(), r#"{"ok":true}"#);
}

#[tokio::test(start_paused = true)]
async fn overload_is_retried_until_it_passes_or_the_deadline_comes() {
    // Recorded from 0.166.0.
    let overload = json!({"code": -32001, "message": "Server overloaded; retry later."});
    let (peer, _events, mut server) = pair(&PeerSettings::default());
    let call = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("thread/list", &json!({}), SOON).await }
    });
    for _ in 0..5 {
        let request = server.read().await;
        server.say(&json!({"error": overload, "id": request["id"]})).await;
    }
    server.answer_next(&json!({"data": []})).await;
    assert_eq!(call.await.unwrap().unwrap().get(), r#"{"data":[]}"#);

    let call = tokio::spawn(async move { peer.request("thread/list", &json!({}), SOON).await });
    let refuse_for_ever = async {
        loop {
            let request = server.read().await;
            server.say(&json!({"error": overload, "id": request["id"]})).await;
        }
    };
    let error = tokio::select! {
        () = refuse_for_ever => unreachable!(),
        outcome = call => outcome.unwrap().unwrap_err(),
    };
    assert!(matches!(error, RequestError::TimedOut { may_have_arrived: false, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn no_more_than_64_requests_are_under_way() {
    let (peer, _events, mut server) = pair(&PeerSettings::default());
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move { peer.request("x", &json!({}), SOON).await })
        })
        .collect();
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(server.read().await["id"].clone());
    }
    // Time is paused, so this waits until everybody is idle: the 65th has not come by then.
    let none = tokio::time::timeout(Duration::from_secs(1), server.read()).await;
    assert!(none.is_err(), "{none:?}");
    for _ in 64..200 {
        server.say(&json!({"id": open.pop(), "result": {}})).await;
        open.push(server.read().await["id"].clone());
    }
    for id in open {
        server.say(&json!({"id": id, "result": {}})).await;
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn unread_events_hold_the_server_back_and_none_is_lost() {
    const COUNT: u64 = 20_000;
    let (peer, mut events, mut server) = pair(&small());
    let flood = tokio::spawn(async move {
        for number in 0..COUNT {
            server.say(&json!({"method": "n", "params": number})).await;
        }
        server
    });
    // The queue holds four; the flood cannot have been taken in.
    tokio::task::yield_now().await;
    assert!(!flood.is_finished());
    for number in 0..COUNT {
        let Some(Event::Notification(call)) = events.next().await else { panic!() };
        assert_eq!(call.params, number.to_string());
    }
    let mut server = flood.await.unwrap();
    let call = tokio::spawn(async move { peer.request("x", &json!({}), SOON).await });
    server.answer_next(&json!({})).await;
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_event_larger_than_the_whole_bound_passes() {
    let (_peer, mut events, mut server) = pair(&small());
    let text = "x".repeat(100_000);
    let message = json!({"method": "big", "params": text});
    let writing = tokio::spawn(async move {
        server.say(&json!({"method": "before"})).await;
        server.say(&message).await;
        server.say(&json!({"method": "after"})).await;
        server
    });
    let mut methods = Vec::new();
    for _ in 0..3 {
        let Some(Event::Notification(call)) = events.next().await else { panic!() };
        methods.push((call.method.to_string(), call.params.len()));
    }
    assert_eq!(
        methods,
        [("before".to_owned(), 4), ("big".to_owned(), 100_002), ("after".to_owned(), 4)]
    );
    drop(writing.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_request_behind_a_full_queue_says_what_is_wrong() {
    let (peer, events, mut server) = pair(&small());
    let call = tokio::spawn(async move { peer.request("x", &json!({}), SOON).await });
    let request = server.read().await;
    for _ in 0..10 {
        server.say(&json!({"method": "n"})).await;
    }
    server.say(&json!({"id": request["id"], "result": {}})).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, RequestError::TimedOut { events_unread: true, .. }), "{error}");
    drop(events);
}

#[tokio::test]
async fn everything_unreadable_is_recorded_and_survived() {
    let (peer, mut events, mut server) = pair(&PeerSettings::default());
    let too_long = vec![b'x'; 64 * 1024 * 1024 + 1];
    let feed = tokio::spawn(async move {
        server.write(b"\n\r\n   \n").await;
        server.write(b"thread 'main' panicked\n").await;
        server.write(b"[1,2]\n42\n\"text\"\n").await;
        server.write(b"{\"method\":\"\xff\"}\n").await;
        server.write(b"{\"nothing\":1}\n").await;
        server.write(b"{\"id\":99,\"result\":{}}\n{\"id\":\"1\",\"result\":{}}\n").await;
        server.write(&too_long).await;
        server.write(b"\n").await;
        server.say(&json!({"method": "r", "id": 0, "params": 1})).await;
        server.say(&json!({"method": "r", "id": 0, "params": 2})).await;
        server.say(&json!({"method": "last"})).await;
        server
    });
    let mut seen = Vec::new();
    loop {
        match events.next().await.unwrap() {
            Event::Oddity(oddity) => seen.push(match oddity.kind {
                OddityKind::NotJson(_) => "not json".to_owned(),
                OddityKind::NotRpc(_) => "not rpc".to_owned(),
                OddityKind::TooLong => format!("too long {}", oddity.bytes),
                kind => format!("{kind:?}"),
            }),
            Event::Request { id, .. } => seen.push(format!("request {id}")),
            Event::Notification(call) => {
                assert_eq!(&*call.method, "last");
                break;
            }
            Event::Closed(closed) => panic!("{closed}"),
        }
    }
    assert_eq!(
        seen,
        [
            "not json",
            "NotAnObject",
            "NotAnObject",
            "NotAnObject",
            "NotUtf8",
            "not rpc",
            "UnknownReply",
            "UnknownReply",
            "too long 67108865",
            "request 0",
            "RepeatedRequest",
            "request 0",
        ]
    );
    let mut server = feed.await.unwrap();
    let call = tokio::spawn(async move { peer.request("x", &json!({}), SOON).await });
    server.answer_next(&json!({})).await;
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn answers_echo_the_id_with_its_type() {
    let (peer, mut events, mut server) = pair(&PeerSettings::default());
    for id in [json!(0), json!("0"), json!(-3)] {
        server.say(&json!({"method": "ask", "id": id, "params": {}})).await;
        let Some(Event::Request { id: asked, .. }) = events.next().await else { panic!() };
        peer.answer(&asked, &json!({"decision": "accept"})).await.unwrap();
        assert_eq!(server.read().await, json!({"id": id, "result": {"decision": "accept"}}));
    }
    peer.refuse(&RequestId::integer(7), -32601, "no such method").await.unwrap();
    let expected = json!({"id": 7, "error": {"code": -32601, "message": "no such method"}});
    assert_eq!(server.read().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_stalls_ends_the_connection() {
    let (peer, mut events, server) = pair(&PeerSettings::default());
    let long = "x".repeat(100_000);
    let error = peer.request("x", &json!({"long": long}), SOON * 60).await.unwrap_err();
    let stalled = Closed::WriteStalled(Duration::from_secs(30));
    assert!(matches!(&error, RequestError::Closed { reason, .. } if *reason == stalled), "{error}");
    assert_eq!(events.next().await, Some(Event::Closed(stalled)));
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_before_it_was_written_is_never_written() {
    let settings = PeerSettings { requests_in_flight: 256, ..PeerSettings::default() };
    let (peer, _events, mut server) = pair(&settings);
    // Fills the pipe (4 KiB) and the writer's queue (64), so that what follows waits in ours.
    let fillers: Vec<_> = (0..130)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move {
                peer.request("filler", &json!({"x": "x".repeat(5000)}), SOON).await
            })
        })
        .collect();
    // Time is paused: this passes when everybody is idle, that is, when the pipe is full.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let params = json!({});
    let dropped = peer.request("dropped", &params, SOON);
    assert!(tokio::time::timeout(Duration::from_millis(10), dropped).await.is_err());
    let call = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("wanted", &json!({}), SOON).await }
    });
    let mut methods = Vec::new();
    for _ in 0..131 {
        let request = server.read().await;
        methods.push(request["method"].as_str().unwrap().to_owned());
        server.say(&json!({"id": request["id"], "result": {}})).await;
    }
    assert_eq!(methods.last().unwrap(), "wanted");
    assert!(!methods.contains(&"dropped".to_owned()));
    call.await.unwrap().unwrap();
    for filler in fillers {
        filler.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn answers_end_with_the_connection_also_when_nobody_reads_events() {
    let (peer, events, mut server) = pair(&small());
    for _ in 0..10 {
        server.say(&json!({"method": "n"})).await;
    }
    let long = "x".repeat(100_000);
    let answers: Vec<_> = (0..200)
        .map(|_| {
            let (peer, long) = (peer.clone(), long.clone());
            tokio::spawn(async move { peer.answer(&RequestId::integer(0), &long).await })
        })
        .collect();
    for answer in answers {
        // The server reads nothing: each must learn of the stall, though its event finds no room.
        let ended = tokio::time::timeout(SOON * 60, answer).await;
        assert!(ended.expect("an answer never ended").unwrap().is_err());
    }
    drop((events, server));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_slowly_is_not_given_up() {
    let (peer, _events, mut server) = pair(&PeerSettings::default());
    let calls: Vec<_> = (0..60)
        .map(|_| {
            let peer = peer.clone();
            let params = json!({"x": "x".repeat(40_000)});
            tokio::spawn(async move { peer.request("slow", &params, SOON * 60).await })
        })
        .collect();
    for _ in 0..60 {
        // All in all twice the deadline of a single write.
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.answer_next(&json!({})).await;
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn the_end_is_seen_behind_a_full_queue_and_no_event_is_lost() {
    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let hang_up = ours.as_fd().try_clone_to_owned().unwrap();
    let (reader, writer) = ours.into_split();
    let transport = Stdio::new(reader, writer).with_hang_up(Some(hang_up));
    let (peer, mut events) = peer::open(transport, &small());
    let (reader, mut writer) = theirs.into_split();
    let mut lines = BufReader::new(reader).lines();
    let call = tokio::spawn(async move { peer.request("x", &json!({}), SOON * 60).await });
    lines.next_line().await.unwrap().unwrap();
    for number in 0..50 {
        let event = json!({"method": "n", "params": number});
        writer.write_all(format!("{event}\n").as_bytes()).await.unwrap();
    }
    drop((writer, lines));
    let error = tokio::time::timeout(AT_ONCE, call)
        .await
        .expect("the end was not seen")
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, RequestError::Closed { reason: Closed::Eof, .. }), "{error}");
    for number in 0..50 {
        let Some(Event::Notification(call)) = events.next().await else { panic!() };
        assert_eq!(call.params, number.to_string());
    }
    assert_eq!(events.next().await, Some(Event::Closed(Closed::Eof)));
}

#[tokio::test(start_paused = true)]
async fn requests_whose_callers_left_still_count_as_under_way() {
    let (peer, _events, mut server) = pair(&PeerSettings::default());
    let impatient = |timeout: u64| {
        let calls = (0..64).map(|_| {
            let peer = peer.clone();
            let timeout = Duration::from_secs(timeout);
            tokio::spawn(async move { peer.request("x", &json!({}), timeout).await })
        });
        calls.collect::<Vec<_>>()
    };
    let first = impatient(1);
    for _ in 0..64 {
        server.read().await;
    }
    for call in first {
        assert!(call.await.unwrap().is_err());
    }
    for call in impatient(1) {
        let error = call.await.unwrap().unwrap_err();
        let never_sent = matches!(error, RequestError::TimedOut { may_have_arrived: false, .. });
        assert!(never_sent, "{error}");
    }
    // After a minute the answers are not expected any more, and there is room again.
    let patient = impatient(120);
    for _ in 0..64 {
        server.answer_next(&json!({})).await;
    }
    for call in patient {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn nobody_waits_at_the_other_end_of_a_message_that_was_too_long() {
    let (peer, mut events, mut server) = pair(&PeerSettings::default());
    let padding = vec![b'x'; 64 * 1024 * 1024];
    let call = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("thread/read", &json!({}), SOON * 60).await }
    });
    let request = server.read().await;
    let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
    server.write(format!("{{\"id\":{},\"result\":\"", request["id"]).as_bytes()).await;
    server.write(&padding).await;
    server.write(b"\"}\n").await;
    let error = tokio::time::timeout(AT_ONCE, call)
        .await
        .expect("the caller still waits")
        .unwrap()
        .unwrap_err();
    assert!(
        matches!(error, RequestError::AnswerTooLong { bytes, .. } if bytes > 64 << 20),
        "{error}"
    );
    server.write(b"{\"method\":\"item/tool/call\",\"id\":\"a\",\"params\":\"").await;
    server.write(&padding).await;
    server.write(b"\"}\n").await;
    let refusal = tokio::time::timeout(AT_ONCE, server.read()).await.expect("codex still waits");
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("a"), &json!(-32600)));
    drop(server);
    drain.await.unwrap();
}

#[tokio::test]
async fn closing_ends_the_connection_for_both_sides() {
    let (peer, events, mut server) = pair(&PeerSettings::default());
    events.close().await;
    assert_eq!(peer.closed(), Some(Closed::ByUs));
    assert_eq!(server.lines.next_line().await.unwrap(), None);
}
