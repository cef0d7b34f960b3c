//! Conversations that go, because they are old or because somebody wants it.

use std::process::Output;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ostler_store::conversations::{
    Change, Conversations, NewConversation, NewMessage, NewTurn, TurnEnding,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{Plan, World};
use crate::{conversation, text};

/// Conversations of so many days ago; the last turn of some has no end.
fn begun(world: &World, all: &[(&str, u64, bool)]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    world.runtime.block_on(async {
        let conversations =
            Conversations::open(world.path("o/state/conversations.db")).await.unwrap();
        for (id, days, is_over) in all {
            let at = now - Duration::from_secs(days * 24 * 60 * 60);
            let at = i64::try_from(at.as_millis()).unwrap();
            let (id, body) = ((*id).to_owned(), "{}".to_owned());
            let cwd = world.path("inn").display().to_string();
            let title = format!("of {days} days ago");
            let new = NewConversation { id: id.clone(), title, cwd, at, body };
            conversations.create(new).await.unwrap();
            let entry = json!({ "message": { "role": "user", "content": "hay" } });
            let said = NewMessage {
                key: "1.user".to_owned(),
                role: "user".to_owned(),
                text: "hay".to_owned(),
                body: entry.to_string(),
                at,
            };
            let turn = NewTurn { runtime: "auto".to_owned(), at, body: String::new() };
            conversations.begin_turn(&id, turn, vec![said]).await.unwrap();
            if *is_over {
                let change = Change { version: 1, title: None, body: None, at };
                let (body, messages) = (String::new(), Vec::new());
                let ending = TurnEnding { turn: 1, at, body, messages, change };
                conversations.end_turn(&id, ending).await.unwrap();
            }
        }
        conversations.close().await;
    });
}

fn listed(world: &World) -> Vec<String> {
    let listed = world.run(&["chat", "--list", "--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    let listed = listed["conversations"].as_array().unwrap().iter();
    listed.map(|it| it["title"].as_str().unwrap().to_owned()).collect()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[rstest]
#[case::by_default("", &["hello", "of 300 days ago", "of 400 days ago", "of 500 days ago"], "1 conversation of more than 365 days ago was removed")]
#[case::never("conversation_age = \"off\"", &["hello", "of 300 days ago", "of 400 days ago", "of 450 days ago", "of 500 days ago"], "")]
#[case::sooner("conversation_age = \"30d\"", &["hello", "of 400 days ago", "of 500 days ago"], "2 conversations of more than 30 days ago were removed")]
fn a_chat_that_begins_removes_what_is_old_and_says_so(
    #[case] setting: &str,
    #[case] left: &[&str],
    #[case] told: &str,
) {
    let host = vec![conversation("hello", vec![text("Hello.")])];
    let world = World::new(Plan { host, agent: "review = false", ..Plan::default() });
    world.set(&format!("[retention]\n{setting}"));
    begun(
        &world,
        &[
            ("aa-cut", 500, false),
            ("ab-old", 450, true),
            ("ac-held", 400, true),
            ("ad-new", 300, true),
        ],
    );
    // Somebody is in it.
    let held = world.runtime.block_on(async {
        let all = Conversations::open(world.path("o/state/conversations.db")).await.unwrap();
        all.hold("ac-held").await.unwrap()
    });

    let answered = world.run(&["chat", "-q", "hello"]);

    drop(held);
    assert_eq!(String::from_utf8_lossy(&answered.stdout).trim(), "Hello.", "{answered:?}");
    assert_eq!(listed(&world), left);
    match told.is_empty() {
        true => assert!(!errors(&answered).contains("removed"), "{}", errors(&answered)),
        false => assert!(errors(&answered).contains(told), "{}", errors(&answered)),
    }
}

/// However old it is, whoever takes it up has it.
#[test]
fn an_old_conversation_that_is_taken_up_stays() {
    let host = vec![conversation("hello", vec![text("Hello.")])];
    let world = World::new(Plan { host, agent: "review = false", ..Plan::default() });
    begun(&world, &[("ab-old", 450, true)]);

    let answered = world.ask("hello", &["--resume", "ab"]);

    assert_eq!(answered["conversation"], "ab-old", "{answered}");
    assert_eq!(listed(&world), ["of 450 days ago"]);
}

#[test]
fn a_person_removes_conversations_by_the_first_letters_of_their_ids() {
    let world = World::new(Plan::default());
    begun(&world, &[("aa-1", 1, true), ("aa-2", 2, true), ("bb-cut", 3, false), ("cc-4", 4, true)]);
    let all = ["of 1 days ago", "of 2 days ago", "of 3 days ago", "of 4 days ago"];
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let output = world.run(&[&["chat", "rm"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(errors(&output).contains(why), "{why} in {}", errors(&output));
        assert_eq!(listed(&world), all, "nothing goes unless all of them do");
    };
    refused(&[], 2, "required");
    refused(&["cc", "dd"], 3, "there is no conversation dd");
    refused(&["aa"], 2, "several conversations");
    refused(&["cc", "bb"], 2, "has no end");
    let held = world.runtime.block_on(async {
        let all = Conversations::open(world.path("o/state/conversations.db")).await.unwrap();
        all.hold("cc-4").await.unwrap()
    });
    refused(&["cc", "--force"], 1, "is in use by");
    drop(held);

    let removed = world.run(&["chat", "rm", "aa-1", "bb", "--force", "--json"]);
    assert!(removed.status.success(), "{removed:?}");
    let lines = String::from_utf8(removed.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let line = |id: &str, days: u32| json!({ "conversation": id, "title": format!("of {days} days ago"), "messages": 1 });
    assert_eq!(lines, [line("aa-1", 1), line("bb-cut", 3)]);
    let removed = world.run(&["chat", "rm", "cc"]);
    let said = String::from_utf8_lossy(&removed.stdout).into_owned();
    assert_eq!(said.trim(), "cc-4 is removed: of 4 days ago");
    assert_eq!(listed(&world), ["of 2 days ago"]);
}
