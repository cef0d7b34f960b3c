//! Each service against a receiver on this machine that answers as the real one is documented to, and the ways that are not gone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use ostler_engine::Courier;
use ostler_model::Notification;
use ostler_model::ask::{Ask, AskKind, CommandAsk};
use ostler_model::notification::{Addressee, Content, Kind, Occasion, Outcome};
use ostler_model::task::{Budget, Cause, Spent, Tally, Task, TaskSettings, TaskState};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::address::check_brought;
use super::chat::sign_feishu;
use super::road::seconds_of;
use super::webhook::sign;
use super::{Place, Post, Reveal, Route, Service};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const CANARY: &str = "canary-3f9a77";

/// What came: the line, the head, the body.
#[derive(Debug, Clone)]
struct Got {
    line: String,
    head: BTreeMap<String, String>,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Answers each request with the next of these, the last for ever.
struct Receiver {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(status: &str, head: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

impl Receiver {
    async fn that_says(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let noted = got.clone();
        let serving = tokio::spawn(async move {
            let mut next = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                let request = loop {
                    let mut piece = [0; 4096];
                    let read = stream.read(&mut piece).await.unwrap();
                    bytes.extend_from_slice(piece.get(..read).unwrap());
                    if let Some(got) = whole(&bytes) {
                        break got;
                    }
                };
                noted.lock().unwrap().push(request);
                let said = answers.get(next).or(answers.last()).unwrap();
                next += 1;
                stream.write_all(said.as_bytes()).await.unwrap();
            }
        });
        Self { address, got, serving }
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn whole(bytes: &[u8]) -> Option<Got> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let head: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = head.get("content-length").map_or(0, |length| length.parse().unwrap());
    (body.len() >= length).then(|| Got { line, head, body: body.to_owned() })
}

fn task() -> Task {
    Task {
        id: "t1".into(),
        state: TaskState::Completed,
        cause: Cause::TurnCompleted { turn: "turn-1".into() },
        title: "feed <!channel> & the horse".to_owned(),
        settings: TaskSettings::in_folder("/inn"),
        started_by: "ada".to_owned(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: Tally::default(),
        created_at: 1,
        updated_at: 1,
        ended_at: Some(1),
        last_seq: 1,
        forked_from: None,
    }
}

fn told(target: &str) -> Notification {
    let mut content = Content::of_state(&task(), Kind::Finished, Some("https://inn.example"));
    content.answer = Some("Fed. <at user_id=\"all\">hay</at>".to_owned());
    let occasion = Occasion::Moved { nonce: "n".to_owned() };
    let to = Addressee::To(target.to_owned());
    Notification::new(&occasion, &"t1".into(), Kind::Finished, to, content, 1_795_000_000_000)
}

fn asked(target: &str) -> Notification {
    let command = CommandAsk {
        command: Some("rm -r stable".to_owned()),
        sandboxing: ostler_model::ask::Sandboxing::Inside,
        ..CommandAsk::default()
    };
    let ask = Ask {
        thread: None,
        turn: None,
        item: None,
        reason: None,
        kind: AskKind::Command(command),
        offers: Vec::new(),
    };
    let content = Content::of_ask(&task(), &"a1".into(), &ask, false, None);
    let occasion = Occasion::Asked { ask: "a1".into(), round: 0 };
    let to = Addressee::To(target.to_owned());
    Notification::new(&occasion, &"t1".into(), Kind::NeedsApproval, to, content, 1)
}

fn secret(text: &str) -> Reveal {
    let text = text.to_owned();
    let fetch = move || -> futures_util::future::BoxFuture<'static, Result<String, String>> {
        let text = text.clone();
        Box::pin(async move { Ok(text) })
    };
    Reveal { name: "THE_SECRET".to_owned(), fetch: Arc::new(fetch) }
}

fn post(service: Service) -> Post {
    Post::new(BTreeMap::from([("ops".to_owned(), Route { service, private: false })])).unwrap()
}

fn why(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Delivered { answer } => answer,
        Outcome::Failed { why, .. } | Outcome::Refused { why } | Outcome::NoTarget { why } => why,
    }
}

/// The test vector of the Standard Webhooks libraries.
#[test]
fn a_signature_is_the_published_one() {
    let signed =
        sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
    assert_eq!(signed.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    for wrong in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!", "whsec_c2hvcnQ="] {
        let refused = sign(wrong, "m", 1, "").unwrap_err();
        assert!(!refused.contains("c2hvcnQ"), "{refused}");
    }
}

#[tokio::test]
async fn a_webhook_has_its_three_headers_and_the_same_id_and_body_each_time() {
    let fails = answer("503 Unavailable", "retry-after: 7\r\n", "later");
    let receiver = Receiver::that_says(vec![fails, answer("204 No Content", "", "")]).await;
    let url = Place::Known(receiver.url("/hook"));
    let post = post(Service::Webhook { url, secret: Some(secret(SECRET)) });
    let first = post.carry(told("ops")).await;
    let failed = Outcome::Failed { why: "HTTP 503: later".to_owned(), retry_after_ms: Some(7000) };
    assert_eq!(first, failed);
    assert_eq!(post.carry(told("ops")).await, Outcome::Delivered { answer: "HTTP 204".to_owned() });

    let got = receiver.got();
    assert_eq!(
        got.iter().map(|got| got.line.as_str()).collect::<Vec<_>>(),
        ["POST /hook HTTP/1.1"; 2]
    );
    assert_eq!(got[0].body, got[1].body);
    for got in &got {
        let head = |name: &str| got.head[name].clone();
        assert_eq!(head("webhook-id"), told("ops").id.as_str());
        let time: i64 = head("webhook-timestamp").parse().unwrap();
        let expected = sign(SECRET, &head("webhook-id"), time, &got.body).unwrap();
        assert_eq!(
            (head("webhook-signature"), head("content-type")),
            (expected, "application/json".to_owned())
        );
        let body = got.json();
        assert_eq!(
            (&body["type"], &body["timestamp"]),
            (&json!("task.finished"), &json!("2026-11-18T11:06:40Z"))
        );
        assert_eq!(
            (&body["data"]["task"], &body["data"]["state"]),
            (&json!("t1"), &json!("completed"))
        );
        assert_eq!(body["data"]["answer"], "Fed. <at user_id=\"all\">hay</at>");
        assert_eq!(body["data"]["link"], "https://inn.example/#/tasks/t1");
    }
}

#[test]
fn a_receiver_says_in_seconds_or_by_the_clock_when_to_come_again() {
    let now = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
    for (said, seconds) in [
        ("7", Some(7)),
        (" 30 ", Some(30)),
        ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
        ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
        ("soon", None),
        ("-1", None),
    ] {
        assert_eq!(seconds_of(said, now), seconds, "{said}");
    }
}

#[tokio::test]
async fn only_410_says_that_a_webhook_is_gone_for_good() {
    for (status, is_final) in [("404 Not Found", false), ("400 Bad", false), ("410 Gone", true)] {
        let receiver = Receiver::that_says(vec![answer(status, "", "")]).await;
        let url = Place::Known(receiver.url("/"));
        let outcome = post(Service::Webhook { url, secret: None }).carry(told("ops")).await;
        assert_eq!(matches!(outcome, Outcome::Refused { .. }), is_final, "{status}: {outcome:?}");
        assert!(!receiver.got()[0].head.contains_key("webhook-signature"));
    }
}

#[tokio::test]
async fn nobody_leads_to_a_private_address() {
    let inner = Receiver::that_says(vec![answer("200 OK", "", "")]).await;
    for (status, place) in [
        ("307 Temporary Redirect", inner.url("/inner")),
        ("308 Permanent Redirect", format!("http://localhost:{}/inner", inner.address.port())),
        ("302 Found", inner.url("/inner")),
        ("307 Temporary Redirect", "file:///etc/passwd".to_owned()),
        ("307 Temporary Redirect", "http://[::ffff:127.0.0.1]/".to_owned()),
        ("307 Temporary Redirect", "http://0x7f.1/".to_owned()),
        ("307 Temporary Redirect", "http://169.254.169.254/latest/meta-data".to_owned()),
    ] {
        let points = answer(status, &format!("location: {place}\r\n"), "");
        let receiver = Receiver::that_says(vec![points]).await;
        // The operator has named this one, and so it is reached; where it points to is another matter.
        let url = Place::Known(receiver.url("/"));
        let outcome = post(Service::Webhook { url, secret: None }).carry(told("ops")).await;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{place}: {outcome:?}");
        assert_eq!(receiver.got().len(), 1);
    }
    assert_eq!(inner.got().len(), 0);
}

#[tokio::test]
async fn an_address_of_a_task_is_public_or_nothing() {
    let inner = Receiver::that_says(vec![answer("200 OK", "", "")]).await;
    let port = inner.address.port();
    let post = Post::new(BTreeMap::new()).unwrap();
    for address in [
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        // A name that stands for a private address, looked up when it is sent.
        format!("https://localhost:{port}/"),
        "https://10.1.2.3/".to_owned(),
    ] {
        let outcome = post.carry(told(&address)).await;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{address}: {outcome:?}");
        assert!(why(&outcome).contains("not public"), "{outcome:?}");
    }
    assert_eq!(inner.got().len(), 0);
    assert!(matches!(post.carry(told("nobody")).await, Outcome::NoTarget { .. }));

    assert_eq!(check_brought("https://hooks.example.org/a"), Ok(()));
    for wrong in [
        "http://hooks.example.org/a",
        "https://user:word@hooks.example.org/",
        "https://hooks.example.org/?token=1",
        "https://hooks.example.org/#a",
        "https://192.168.1.1/",
        "https://localhost/",
        "https://",
    ] {
        assert!(check_brought(wrong).is_err(), "{wrong}");
    }
}

/// A name of the operator's that stands for a private address is reached only if they said so.
#[tokio::test]
async fn the_operator_names_private_addresses() {
    let receiver = Receiver::that_says(vec![answer("200 OK", "", "")]).await;
    // A host of /etc/hosts that everybody has and that says nothing of itself.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let url = format!("http://{}:{}/", name.trim(), receiver.address.port());
    let carry = async |private| {
        let service = Service::Webhook { url: Place::Known(url.clone()), secret: None };
        let route = Route { service, private };
        let post = Post::new(BTreeMap::from([("ops".to_owned(), route)])).unwrap();
        post.carry(told("ops")).await
    };
    assert!(matches!(carry(false).await, Outcome::Refused { .. }));
    // Whether this machine's own name leads to its loopback is its own matter; nothing is refused.
    assert!(!matches!(carry(true).await, Outcome::Refused { .. }));
}

#[tokio::test]
async fn slack_by_an_incoming_webhook_and_by_a_bot() {
    let hook = Receiver::that_says(vec![answer("200 OK", "", "ok")]).await;
    let url = Place::Secret(secret(&hook.url(&format!("/services/{CANARY}"))));
    let outcome = post(Service::SlackHook { url }).carry(told("ops")).await;
    assert_eq!(outcome, Outcome::Delivered { answer: "HTTP 200: ok".to_owned() });
    let body = hook.got()[0].json();
    // What people see first is escaped, and the rest is plain text: nobody is called by it.
    assert_eq!(body["text"], "feed &lt;!channel&gt; &amp; the horse finished");
    assert_eq!(body["blocks"][0]["text"]["type"], "plain_text");
    assert_eq!(body["blocks"][1]["text"]["type"], "plain_text");
    assert!(body["blocks"][1]["text"]["text"].as_str().unwrap().contains("Fed."));
    // Slack refuses a message with more than 3000 characters in a section.
    let mut long = told("ops");
    long.content.answer = Some("hay ".repeat(5000));
    let url = Place::Secret(secret(&hook.url("/services")));
    post(Service::SlackHook { url }).carry(long).await;
    let body = hook.got()[1].json();
    let text = body["blocks"][1]["text"]["text"].as_str().unwrap().to_owned();
    assert!((2900..=3000).contains(&text.chars().count()), "{}", text.chars().count());

    let said = |body: &str| answer("200 OK", "content-type: application/json\r\n", body);
    let bot = Receiver::that_says(vec![
        said(r#"{"ok":true,"channel":"C1","ts":"1503435956.000247"}"#),
        said(r#"{"ok":false,"error":"channel_not_found"}"#),
        answer(
            "429 Too Many Requests",
            "retry-after: 30\r\n",
            r#"{"ok":false,"error":"ratelimited"}"#,
        ),
    ])
    .await;
    let service = Service::SlackBot {
        server: Some(bot.url("/api")),
        token: secret(&format!("xoxb-{CANARY}")),
        channel: "#stable".to_owned(),
    };
    let post = post(service);
    let outcome = post.carry(told("ops")).await;
    assert_eq!(outcome, Outcome::Delivered { answer: "HTTP 200, ts 1503435956.000247".to_owned() });
    assert!(matches!(post.carry(told("ops")).await, Outcome::Refused { .. }));
    let Outcome::Failed { retry_after_ms, .. } = post.carry(told("ops")).await else { panic!() };
    assert_eq!(retry_after_ms, Some(30_000));
    let got = &bot.got()[0];
    assert_eq!(got.line, "POST /api/chat.postMessage HTTP/1.1");
    assert_eq!(got.head["authorization"], format!("Bearer xoxb-{CANARY}"));
    assert_eq!(got.json()["channel"], "#stable");
}

#[tokio::test]
async fn telegram_gets_plain_text_by_its_bot() {
    let said = |status, body: &str| answer(status, "content-type: application/json\r\n", body);
    let receiver = Receiver::that_says(vec![
        said("200 OK", r#"{"ok":true,"result":{"message_id":17,"chat":{"id":-100}}}"#),
        said("429 Too Many Requests", r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":9}}"#),
        said("400 Bad Request", r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#),
    ])
    .await;
    let service = Service::Telegram {
        server: Some(receiver.url("/")),
        token: secret(&format!("123:{CANARY}")),
        chat: "-100".to_owned(),
    };
    let post = post(service);
    let outcome = post.carry(told("ops")).await;
    assert_eq!(outcome, Outcome::Delivered { answer: "HTTP 200, message 17".to_owned() });
    let Outcome::Failed { retry_after_ms, .. } = post.carry(told("ops")).await else { panic!() };
    assert_eq!(retry_after_ms, Some(9000));
    let refused = post.carry(told("ops")).await;
    assert!(
        matches!(&refused, Outcome::Refused { why } if why.contains("chat not found")),
        "{refused:?}"
    );
    let got = &receiver.got()[0];
    assert_eq!(got.line, format!("POST /bot123:{CANARY}/sendMessage HTTP/1.1"));
    let body = got.json();
    assert_eq!((&body["chat_id"], body.get("parse_mode")), (&json!("-100"), None));
    let text = body["text"].as_str().unwrap();
    assert!(
        text.starts_with("feed <!channel> & the horse finished\n") && text.contains("Fed."),
        "{text}"
    );
}

#[tokio::test]
async fn feishu_is_signed_and_says_in_the_body_whether_it_took_it() {
    let said = |body: &str| answer("200 OK", "", body);
    let receiver = Receiver::that_says(vec![
        said(r#"{"code":0,"msg":"success","data":{}}"#),
        said(r#"{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}"#),
        said(r#"{"code":11232,"msg":"frequency limited psm"}"#),
    ])
    .await;
    let url = Place::Secret(secret(&receiver.url(&format!("/open-apis/bot/v2/hook/{CANARY}"))));
    let post = post(Service::Feishu { url, secret: Some(secret("SEC1")) });
    let outcome = post.carry(told("ops")).await;
    assert_eq!(outcome, Outcome::Delivered { answer: "HTTP 200, code 0".to_owned() });
    assert!(matches!(post.carry(told("ops")).await, Outcome::Refused { .. }));
    assert!(matches!(post.carry(told("ops")).await, Outcome::Failed { .. }));
    let body = receiver.got()[0].json();
    assert_eq!(body["msg_type"], "text");
    let text = body["content"]["text"].as_str().unwrap();
    assert!(!text.contains("<at") && text.contains("Fed."), "{text}");
    let mut expected = json!({});
    sign_feishu(&mut expected, "SEC1", body["timestamp"].as_str().unwrap().parse().unwrap());
    assert_eq!(body["sign"], expected["sign"]);
    // By openssl: printf '' | openssl dgst -sha256 -hmac $'1599360473\nSEC1' -binary | base64
    sign_feishu(&mut expected, "SEC1", 1_599_360_473);
    assert_eq!(expected["sign"], "0hLYmfoUxI4qR6gxrHZUwT+7HcMcncQkWF5gKyZReuU=");
}

#[tokio::test]
async fn ntfy_gets_json_and_urgent_things_are_urgent() {
    let said = answer(
        "200 OK",
        "",
        r#"{"id":"sPs71M8A2T","time":1643935928,"event":"message","topic":"stable"}"#,
    );
    let receiver = Receiver::that_says(vec![said]).await;
    let service = Service::Ntfy {
        server: Some(receiver.url("")),
        token: Some(secret(&format!("tk_{CANARY}"))),
        topic: "stable".to_owned(),
    };
    let post = post(service);
    let outcome = post.carry(told("ops")).await;
    assert_eq!(outcome, Outcome::Delivered { answer: "HTTP 200, message sPs71M8A2T".to_owned() });
    post.carry(asked("ops")).await;
    let got = receiver.got();
    assert_eq!(got[0].line, "POST / HTTP/1.1");
    assert_eq!(got[0].head["authorization"], format!("Bearer tk_{CANARY}"));
    let (first, second) = (got[0].json(), got[1].json());
    assert_eq!((&first["topic"], &first["priority"]), (&json!("stable"), &json!(3)));
    assert_eq!(
        (&first["click"], &first["tags"]),
        (&json!("https://inn.example/#/tasks/t1"), &json!(["white_check_mark"]))
    );
    assert_eq!(second["priority"], 4);
    let message = second["message"].as_str().unwrap();
    assert!(message.contains("rm -r stable") && message.contains("ostler answer a1"), "{message}");
}

/// Whatever is said of an attempt, and whatever is shown before one, has no secret in it.
#[tokio::test]
async fn no_secret_is_in_what_is_said() {
    let echo = answer("403 Forbidden", "", &format!("no such token: xoxb-{CANARY}"));
    let receiver = Receiver::that_says(vec![echo]).await;
    let token = || secret(&format!("xoxb-{CANARY}"));
    let closed = "http://127.0.0.1:1".to_owned();
    let services = [
        Service::SlackHook { url: Place::Secret(secret(&format!("{closed}/{CANARY}"))) },
        Service::SlackBot {
            server: Some(receiver.url("")),
            token: token(),
            channel: "c".to_owned(),
        },
        Service::Telegram { server: Some(closed.clone()), token: token(), chat: "c".to_owned() },
        Service::Feishu {
            url: Place::Secret(secret(&format!("{closed}/{CANARY}"))),
            secret: Some(token()),
        },
        Service::Ntfy { server: Some(closed.clone()), token: Some(token()), topic: "t".to_owned() },
        Service::Webhook {
            url: Place::Secret(secret(&format!("not an address {CANARY}"))),
            secret: None,
        },
        Service::Webhook { url: Place::Known(closed), secret: Some(token()) },
    ];
    for service in services {
        let shown = format!("{service:?}");
        let post = post(service);
        let preview = serde_json::to_string(&post.preview(&told("ops")).unwrap()).unwrap();
        let outcome = post.carry(told("ops")).await;
        assert!(!matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
        for text in [why(&outcome), &preview, &shown, &format!("{post:?}")] {
            assert!(!text.contains(CANARY), "{shown}: {text}");
        }
    }
}
