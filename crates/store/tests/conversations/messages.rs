//! Conversations and their messages.

use ostler_store::Cursor;
use ostler_store::conversations::{
    Change, Conversation, ConversationError, ConversationFilter, NewConversation, NewMessage,
    StoredMessage,
};

use crate::world::{World, new, says};

#[tokio::test]
async fn a_conversation_is_made_once_and_read_as_it_was_made() {
    let world = World::new();
    let conversations = world.with_one().await;
    let expected = Conversation {
        id: "c1".to_owned(),
        title: "about c1".to_owned(),
        cwd: "/work".to_owned(),
        created_at: 1,
        updated_at: 1,
        version: 1,
        messages: 0,
        turns: 0,
        body: "{}".to_owned(),
    };
    assert_eq!(conversations.get("c1").await.unwrap(), Some(expected));
    assert_eq!(conversations.get("c2").await.unwrap(), None);
    let again = conversations.create(new("c1", 9)).await.unwrap_err();
    assert!(matches!(again, ConversationError::Taken(_)), "{again}");
    for id in ["", "../c1", "a/b", "a b", "ä", &"x".repeat(65)] {
        let refused = conversations.create(new(id, 1)).await.unwrap_err();
        assert!(matches!(refused, ConversationError::BadId(_)), "{id}: {refused}");
    }
}

#[tokio::test]
async fn only_who_read_the_newest_may_change_it() {
    let world = World::new();
    let (one, other) = (world.with_one().await, world.open().await);
    let change =
        |body: &str| Change { version: 1, title: None, body: Some(body.to_owned()), at: 5 };
    assert_eq!(one.update("c1", change("1")).await.unwrap(), 2);
    let lost = other.update("c1", change("2")).await.unwrap_err();
    assert!(matches!(lost, ConversationError::Changed { expected: 1, found: 2, .. }), "{lost}");
    let titled = Change { version: 2, title: Some("new".to_owned()), body: None, at: 4 };
    assert_eq!(other.update("c1", titled).await.unwrap(), 3);
    let found = one.get("c1").await.unwrap().unwrap();
    assert_eq!(
        (found.title.as_str(), found.body.as_str(), found.version, found.updated_at),
        ("new", "1", 3, 5)
    );
    let nobody = one.update("c9", change("")).await.unwrap_err();
    assert!(matches!(nobody, ConversationError::NoConversation(_)), "{nobody}");
}

#[tokio::test]
async fn messages_are_numbered_without_gaps_and_the_same_key_is_the_first_one() {
    let world = World::new();
    let conversations = world.with_one().await;
    let append = async |keys: &[&str]| {
        let messages = keys.iter().map(|key| says(key, "hello")).collect();
        conversations.append("c1", 0, messages).await.unwrap()
    };
    assert_eq!(append(&["a", "b"]).await, [1, 2]);
    let changed = NewMessage { body: "other".to_owned(), ..says("b", "changed") };
    assert_eq!(conversations.append("c1", 0, vec![changed]).await.unwrap(), [2]);
    assert_eq!(append(&["b", "c", "c", "a", "d"]).await, [2, 3, 3, 1, 4]);
    assert_eq!(append(&[]).await, [0; 0]);

    let stored = |number: u64, key: &str| StoredMessage {
        number,
        turn: 0,
        key: key.to_owned(),
        role: "user".to_owned(),
        at: 10,
        body: format!("{{\"key\":{key:?}}}"),
    };
    let all = [stored(1, "a"), stored(2, "b"), stored(3, "c"), stored(4, "d")];
    assert_eq!(conversations.messages("c1", 0, 99).await.unwrap(), all);
    assert_eq!(conversations.messages("c1", 1, 2).await.unwrap(), all[1..3]);
    assert_eq!(conversations.messages("c1", u64::MAX, 2).await.unwrap(), []);
    assert_eq!(conversations.around("c1", 3, 1, 5).await.unwrap(), all[1..4]);
    assert_eq!(conversations.around("c1", 1, 9, 0).await.unwrap(), all[0..1]);
    let found = conversations.get("c1").await.unwrap().unwrap();
    assert_eq!((found.messages, found.updated_at, found.version), (4, 10, 1));
    let nobody = conversations.append("c9", 0, vec![]).await.unwrap_err();
    assert!(matches!(nobody, ConversationError::NoConversation(_)), "{nobody}");
    let nowhere = conversations.append("c1", 1, vec![says("e", "")]).await.unwrap_err();
    assert!(matches!(nowhere, ConversationError::NoTurn { turn: 1, .. }), "{nowhere}");
}

/// Eight who write at once, each with a database of its own opened, and all of them with the same fifty keys besides their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_write_at_once_lose_nothing_and_write_nothing_twice() {
    let world = World::new();
    let first = world.with_one().await;
    let write = async |conversations: ostler_store::Conversations, who: usize| {
        for round in 0..25 {
            let keys = [format!("shared {round}"), format!("own {who} {round}")];
            let messages = keys.iter().map(|key| says(key, "many words")).collect();
            let numbers = conversations.append("c1", 0, messages).await.unwrap();
            assert_eq!(numbers.len(), 2);
        }
        conversations.close().await;
    };
    let mut writers = Vec::new();
    for who in 0..8 {
        let conversations = world.open().await;
        writers.push(write(conversations, who));
    }
    futures(writers).await;
    let all = first.messages("c1", 0, 999).await.unwrap();
    let numbers: Vec<u64> = all.iter().map(|message| message.number).collect();
    assert_eq!(numbers, (1..=225).collect::<Vec<u64>>());
    assert_eq!((world.count("messages"), world.count("said")), (225, 225));
}

/// All of them, side by side.
async fn futures(all: Vec<impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_file_may_be_opened_by_many_at_once() {
    for _ in 0..10 {
        let world = World::new();
        let opened = (0..6).map(|_| async {
            world.open().await.close().await;
        });
        futures(opened.collect()).await;
        assert_eq!(world.count("conversations"), 0);
    }
}

#[tokio::test]
async fn conversations_are_listed_newest_first_page_by_page_and_found_by_their_beginning() {
    let world = World::new();
    let conversations = world.open().await;
    for (id, at, cwd) in [("aa1", 1, "/a"), ("aa2", 5, "/b"), ("ab3", 5, "/a"), ("b4", 3, "/a")] {
        let conversation = NewConversation { cwd: cwd.to_owned(), ..new(id, at) };
        conversations.create(conversation).await.unwrap();
    }
    let pages = async |cwd: Option<&str>| {
        let filter = ConversationFilter { cwd: cwd.map(str::to_owned) };
        let (mut pages, mut before) = (Vec::new(), Some(Cursor::FIRST));
        while let Some(cursor) = before {
            let page = conversations.list(&filter, cursor, 2).await.unwrap();
            pages.push(page.conversations.into_iter().map(|one| one.id).collect::<Vec<_>>());
            before = page.next;
        }
        pages
    };
    assert_eq!(pages(None).await, [vec!["ab3", "aa2"], vec!["b4", "aa1"], vec![]]);
    assert_eq!(pages(Some("/a")).await, [vec!["ab3", "b4"], vec!["aa1"]]);
    assert_eq!(pages(Some("/c")).await, [[""; 0]]);

    let find = async |prefix: &str| {
        let found = conversations.find(prefix, 3).await.unwrap();
        found.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(find("aa").await, ["aa1", "aa2"]);
    assert_eq!(find("").await, ["aa1", "aa2", "ab3"]);
    assert_eq!(find("%").await, [""; 0]);
}
