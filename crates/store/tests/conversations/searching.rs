//! What was said is found again, in every language, whatever the query looks like.

use ostler_store::Conversations;
use ostler_store::conversations::{Hit, NewMessage, Search};
use proptest::prelude::*;

use crate::world::{World, new, says};

fn search(text: &str) -> Search {
    Search { text: text.to_owned(), most: 20, ..Search::default() }
}

async fn numbers(conversations: &Conversations, text: &str) -> Vec<u64> {
    let mut found: Vec<u64> =
        conversations.search(search(text)).await.unwrap().iter().map(|hit| hit.number).collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn words_are_found_in_many_languages_and_by_their_beginnings() {
    let world = World::new();
    let conversations = world.with_one().await;
    let texts = [
        "The deployment failed because café credentials were stale",
        "Größe der Straße geändert",
        "今天天气很好，我们去公园",
        "Привет, как проходит развёртывание?",
        "データベースの移行を実行した",
        "नमस्ते दुनिया, परीक्षण सफल",
        "สวัสดีชาวโลก",
        "데이터베이스를 배포했습니다",
        "مرحبا بالعالم",
        "call src/store/open.rs::take_over(&mut connection)",
        "cafe\u{301} in two parts",
    ];
    let messages = texts.iter().enumerate().map(|(at, text)| says(&at.to_string(), text)).collect();
    conversations.append("c1", 0, messages).await.unwrap();
    for (query, expected) in [
        ("deploy", vec![1]),
        ("DEPLOYMENT failed", vec![1]),
        ("cafe", vec![1, 11]),
        ("café", vec![1, 11]),
        ("strasse", vec![]),
        ("straße", vec![2]),
        ("grosse", vec![]),
        ("große", vec![2]),
        ("天气", vec![3]),
        ("公园", vec![3]),
        ("气天", vec![]),
        ("развёртывание", vec![4]),
        ("разв", vec![4]),
        ("移行", vec![5]),
        ("ベース", vec![5]),
        ("दुनिया", vec![6]),
        ("परी", vec![6]),
        ("ชาวโลก", vec![7]),
        ("데이터", vec![8]),
        ("بالعالم", vec![9]),
        ("open.rs", vec![10]),
        ("take_over", vec![10]),
        ("store/open", vec![10]),
        // No message has both, so either will do.
        ("公园 deploy", vec![1, 3]),
        // A single letter is no beginning.
        ("d", vec![]),
    ] {
        assert_eq!(numbers(&conversations, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_hit_says_where_it_is_and_shows_the_words_around() {
    let world = World::new();
    let conversations = world.with_one().await;
    conversations.create(new("c2", 1)).await.unwrap();
    let tool = NewMessage { role: "tool".to_owned(), ..says("t", "the harbour is empty") };
    conversations.append("c1", 0, vec![says("a", "我们在 harbour 等你"), tool]).await.unwrap();
    conversations.append("c2", 0, vec![says("a", "another harbour")]).await.unwrap();
    let hit = |conversation: &str, number: u64, role: &str, snippet: &str| Hit {
        conversation: conversation.to_owned(),
        title: format!("about {conversation}"),
        cwd: "/work".to_owned(),
        number,
        turn: 0,
        role: role.to_owned(),
        at: 10,
        snippet: snippet.to_owned(),
    };
    let found = async |without: Option<&str>, roles: &[&str]| {
        let search = Search {
            without: without.map(str::to_owned),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            ..search("harbour")
        };
        let mut hits = conversations.search(search).await.unwrap();
        hits.sort_by_key(|hit| (hit.conversation.clone(), hit.number));
        hits
    };
    let all = [
        hit("c1", 1, "user", "我们在 **harbour** 等你"),
        hit("c1", 2, "tool", "the **harbour** is empty"),
        hit("c2", 1, "user", "another **harbour**"),
    ];
    assert_eq!(found(None, &[]).await, all);
    assert_eq!(found(Some("c2"), &[]).await, all[..2]);
    assert_eq!(found(Some("c2"), &["assistant", "tool"]).await, all[1..2]);
    assert_eq!(found(None, &["us"]).await, []);
    let one = Search { most: 1, ..search("harbour") };
    assert_eq!(conversations.search(one).await.unwrap().len(), 1);
}

#[tokio::test]
async fn ten_thousand_messages_are_searched() {
    let world = World::new();
    let conversations = world.with_one().await;
    for hundred in 0..100 {
        let text = |n: usize| format!("message {n} speaks of harbours, ships and number{n}");
        let messages = (hundred * 100..hundred * 100 + 100).map(|n| says(&n.to_string(), &text(n)));
        conversations.append("c1", 0, messages.collect()).await.unwrap();
    }
    assert_eq!(numbers(&conversations, "number7777").await, [7778]);
    assert_eq!(numbers(&conversations, "ships").await.len(), 20);
    assert_eq!(numbers(&conversations, "harb number9998 ships").await, [9999]);
}

/// Whatever somebody types, it is no error, also among all that was typed before.
#[test]
fn no_query_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = World::new();
    let conversations = runtime.block_on(world.with_one());
    let known = ["\"", "\"\"", "a AND", "NEAR(a b", "text:x", "-a", "^a", "a*b*", "(", "{a b}:c"];
    let known = known.into_iter().chain(["NOT", "a NOT", "\0", "a\0b", "'; DROP TABLE said", "*"]);
    for query in known {
        runtime.block_on(conversations.search(search(query))).unwrap();
    }
    proptest!(ProptestConfig::with_cases(300), |(text in "\\PC{0,40}|[a\" *:^(){}-]{0,20}")| {
        let search = runtime.block_on(conversations.search(search(&text))).unwrap();
        prop_assert!(search.len() <= 20);
        runtime.block_on(conversations.append("c1", 0, vec![says(&text, &text)])).unwrap();
    });
}
