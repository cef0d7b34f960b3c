//! What is removed is gone, and nothing else is.

use ostler_store::conversations::{
    Change, ConversationError, ConversationSweep, NewTurn, Search, TurnEnding,
};

use crate::world::{World, new, says};

#[tokio::test]
async fn a_removed_conversation_is_gone_from_every_table() {
    let world = World::new();
    let conversations = world.with_one().await;
    conversations.create(new("c2", 1)).await.unwrap();
    conversations.append("c2", 0, vec![says("a", "a harbour")]).await.unwrap();
    conversations.begin_turn("c1", NewTurn::default(), vec![]).await.unwrap();
    let many = (0..450).map(|n| says(&n.to_string(), "secretword"));
    conversations.append("c1", 1, many.collect()).await.unwrap();

    conversations.keep_note("c1", "todos", "secretword".to_owned()).await.unwrap();
    conversations.keep_note("c2", "todos", "[2]".to_owned()).await.unwrap();
    let hold = conversations.hold("c1").await.unwrap();
    let refused = conversations.remove("c1").await.unwrap_err();
    assert!(matches!(refused, ConversationError::InUse { .. }), "{refused}");
    drop(hold);
    conversations.remove("c1").await.unwrap();
    let rows = ["conversations", "messages", "said", "turns", "notes", "leftovers"];
    assert_eq!(rows.map(|table| world.count(table)), [1, 1, 1, 0, 1, 0]);
    assert_eq!(conversations.unfinished_turns().await.unwrap(), []);
    let again = conversations.remove("c1").await.unwrap_err();
    assert!(matches!(again, ConversationError::NoConversation(_)), "{again}");
    let read = conversations.messages("c1", 0, 9).await.unwrap_err();
    assert!(matches!(read, ConversationError::NoConversation(_)), "{read}");

    // A new one of the same name has nothing of the old one.
    conversations.create(new("c1", 2)).await.unwrap();
    assert_eq!(conversations.messages("c1", 0, 9).await.unwrap(), []);
    let search = Search { text: "secretword".to_owned(), most: 9, ..Search::default() };
    assert_eq!(conversations.search(search).await.unwrap(), []);
    conversations.close().await;
    let bytes = std::fs::read(world.path()).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"secretword"));
}

#[tokio::test]
async fn a_sweep_takes_the_old_and_the_many_but_nobodys_own() {
    let world = World::new();
    let conversations = world.open().await;
    for (id, at) in [("c1", 10), ("c2", 20), ("c3", 30), ("c4", 40), ("c5", 50)] {
        conversations.create(new(id, at)).await.unwrap();
    }
    let _hold = conversations.hold("c1").await.unwrap();
    let names = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let swept = conversations.sweep(30, 99).await.unwrap();
    let expected = ConversationSweep { removed: names(&["c2"]), in_use: names(&["c1"]) };
    assert_eq!(swept, expected);
    let swept = conversations.sweep(0, 2).await.unwrap();
    let expected = ConversationSweep { removed: names(&["c3"]), in_use: names(&["c1"]) };
    assert_eq!(swept, expected);
    assert_eq!(conversations.sweep(0, u64::MAX).await.unwrap(), ConversationSweep::default());
    assert_eq!(world.count("conversations"), 3);
}

/// Whoever was killed in it wants it back.
#[tokio::test]
async fn a_conversation_whose_turn_has_no_end_is_not_swept() {
    let world = World::new();
    let conversations = world.open().await;
    for id in ["c1", "c2"] {
        conversations.create(new(id, 10)).await.unwrap();
        conversations.begin_turn(id, NewTurn::default(), vec![]).await.unwrap();
    }
    let change = Change { version: 1, title: None, body: None, at: 10 };
    let ending = TurnEnding { turn: 1, at: 10, body: String::new(), messages: vec![], change };
    conversations.end_turn("c2", ending).await.unwrap();

    let refused = conversations.remove_finished("c1").await.unwrap_err();
    assert!(matches!(refused, ConversationError::OpenTurn(_)), "{refused}");
    let swept = conversations.sweep(1_000, 0).await.unwrap();
    let (removed, in_use) = (vec!["c2".to_owned()], vec!["c1".to_owned()]);
    assert_eq!(swept, ConversationSweep { removed, in_use });
    conversations.remove("c1").await.unwrap();
    assert_eq!(world.count("conversations"), 0);
}

#[tokio::test]
async fn a_sweep_leaves_the_rest_to_the_next() {
    let world = World::new();
    let conversations = world.open().await;
    for number in 0..105 {
        conversations.create(new(&format!("c{number}"), number)).await.unwrap();
    }
    let count = async || conversations.sweep(1_000, 9).await.unwrap().removed.len();
    assert_eq!([count().await, count().await, count().await], [100, 5, 0]);
}

/// Killed between the removal and the clearing away.
#[tokio::test]
async fn what_a_killed_removal_left_is_hidden_and_cleared_by_the_next() {
    let world = World::new();
    let conversations = world.with_one().await;
    conversations.append("c1", 0, vec![says("a", "harbour")]).await.unwrap();
    world.sql("DELETE FROM conversations; INSERT INTO leftovers VALUES (1)");
    let search = Search { text: "harbour".to_owned(), most: 9, ..Search::default() };
    assert_eq!(conversations.search(search).await.unwrap(), []);
    conversations.sweep(0, 9).await.unwrap();
    assert_eq!(["messages", "said", "leftovers"].map(|table| world.count(table)), [0, 0, 0]);
}
