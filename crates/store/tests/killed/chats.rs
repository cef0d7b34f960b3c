//! Two chats that write the same conversation, and die in the middle of it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use ostler_store::Conversations;
use ostler_store::conversations::{ConversationError, NewConversation, NewMessage};

const ROUNDS: usize = 15;

pub(crate) fn two_chats_that_are_killed_lose_nothing_and_write_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    let path = path.to_str().unwrap();
    block_on(async {
        let conversations = Conversations::open(path).await.unwrap();
        let new = NewConversation {
            id: "c1".to_owned(),
            title: String::new(),
            cwd: "/".to_owned(),
            at: 0,
            body: "{}".to_owned(),
        };
        conversations.create(new).await.unwrap();
        conversations.close().await;
    });
    let mut acknowledged = BTreeMap::<String, u64>::new();
    for round in 0..ROUNDS {
        let mut chats = ["one", "other"].map(|who| start(&["part:chat", path, who]));
        let mut lines = Vec::new();
        for (child, said) in &mut chats {
            // Each has begun, and comes as far as its round says; the other goes on meanwhile.
            lines.extend(said.take(1 + round * 37 % 90));
            child.kill().unwrap();
            child.wait().unwrap();
            lines.extend(said.by_ref());
        }
        for line in lines.into_iter().map_while(Result::ok).filter(|line| line.ends_with('.')) {
            let (number, key) = line.trim_end_matches(" .").split_once(' ').unwrap();
            let number: u64 = number.parse().unwrap();
            let before = acknowledged.insert(key.to_owned(), number);
            assert!(before.is_none_or(|before| before == number), "{key}");
        }
        block_on(check(path, &acknowledged));
    }
    assert!(acknowledged.len() > 30, "{}", acknowledged.len());
    println!("{} messages acknowledged in {ROUNDS} rounds, each there once", acknowledged.len());
}

async fn check(path: &str, acknowledged: &BTreeMap<String, u64>) {
    let conversations = Conversations::open(path).await.unwrap();
    let messages = conversations.messages("c1", 0, usize::MAX).await.unwrap();
    let numbers: Vec<u64> = messages.iter().map(|message| message.number).collect();
    assert_eq!(numbers, (1..=messages.len() as u64).collect::<Vec<_>>());
    let found: BTreeMap<String, u64> =
        messages.into_iter().map(|message| (message.key, message.number)).collect();
    assert_eq!(found.len(), numbers.len());
    let lost: Vec<_> =
        acknowledged.iter().filter(|(key, number)| found.get(*key) != Some(*number)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    conversations.close().await;
}

/// Every second key is the same in both, and all keys are those of the rounds before: what was written then is the first one.
pub(crate) fn append_until_killed(path: &str, who: &str) {
    block_on(async {
        let conversations = Conversations::open(path).await.unwrap();
        for step in 0_u32.. {
            let keys = [format!("shared {step}"), format!("{who} {step}")];
            let message = |key: &String| NewMessage {
                key: key.clone(),
                role: "user".to_owned(),
                text: format!("words of {key}"),
                body: "{}".to_owned(),
                at: i64::from(step),
            };
            let messages = keys.iter().map(message).collect();
            let numbers = conversations.append("c1", 0, messages).await.unwrap();
            for (number, key) in numbers.iter().zip(&keys) {
                say(&format!("{number} {key} ."));
            }
        }
    });
}

pub(crate) fn a_hold_dies_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    let path = path.to_str().unwrap();
    let (mut child, mut said) = start(&["part:hold", path]);
    assert_eq!(said.next().unwrap().unwrap(), "held");
    block_on(async {
        let conversations = Conversations::open(path).await.unwrap();
        let refused = conversations.hold("c1").await.unwrap_err();
        let ConversationError::InUse { pid, .. } = refused else { panic!("{refused}") };
        assert_eq!(pid, Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        conversations.hold("c1").await.unwrap();
    });
    println!("a hold dies with its process");
}

pub(crate) fn hold_until_killed(path: &str) {
    block_on(async {
        let conversations = Conversations::open(path).await.unwrap();
        let _hold = conversations.hold("c1").await.unwrap();
        say("held");
        std::future::pending::<()>().await;
    });
}

type Lines = std::io::Lines<BufReader<std::process::ChildStdout>>;

fn start(words: &[&str]) -> (Child, Lines) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}
