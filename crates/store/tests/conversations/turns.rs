//! Turns begin and end together with their messages.

use ostler_store::conversations::{
    Change, ConversationError, Ended, NewTurn, Turn, TurnBegun, TurnEnding, TurnState,
};

use crate::world::{World, new, says};

fn new_turn(at: i64) -> NewTurn {
    NewTurn { runtime: "codex".to_owned(), at, body: "{}".to_owned() }
}

fn turn(number: u64) -> Turn {
    Turn {
        conversation: "c1".to_owned(),
        number,
        runtime: "codex".to_owned(),
        state: TurnState::Running,
        began_at: 20,
        ended_at: None,
        body: "{}".to_owned(),
    }
}

fn ending(turn: u64, version: u64, keys: &[&str]) -> TurnEnding {
    TurnEnding {
        turn,
        at: 30,
        body: "\"over\"".to_owned(),
        messages: keys.iter().map(|key| says(key, "answer")).collect(),
        change: Change { version, title: None, body: Some("\"after\"".to_owned()), at: 30 },
    }
}

#[tokio::test]
async fn a_turn_begins_once_with_the_message_that_asks_for_it() {
    let world = World::new();
    let conversations = world.with_one().await;
    let begin = async |keys: &[&str]| {
        let messages = keys.iter().map(|key| says(key, "question")).collect();
        conversations.begin_turn("c1", new_turn(20), messages).await.unwrap()
    };
    assert_eq!(begin(&["q1"]).await, TurnBegun { turn: 1, numbers: vec![1] });
    assert_eq!(begin(&["q1"]).await, TurnBegun { turn: 1, numbers: vec![1] });
    assert_eq!(begin(&["q2", "q3"]).await, TurnBegun { turn: 2, numbers: vec![2, 3] });
    assert_eq!(begin(&[]).await, TurnBegun { turn: 3, numbers: vec![] });
    assert_eq!(conversations.turns("c1", 0, 9).await.unwrap(), [turn(1), turn(2), turn(3)]);
    assert_eq!(conversations.turns("c1", 1, 1).await.unwrap(), [turn(2)]);
    let found = conversations.get("c1").await.unwrap().unwrap();
    assert_eq!((found.turns, found.messages, found.updated_at), (3, 3, 20));
    assert_eq!(conversations.append("c1", 2, vec![says("r", "")]).await.unwrap(), [4]);
    let messages = conversations.messages("c1", 0, 9).await.unwrap();
    let turns: Vec<_> = messages.iter().map(|message| message.turn).collect();
    assert_eq!(turns, [1, 2, 2, 2]);
}

#[tokio::test]
async fn a_turn_ends_whole_or_not_at_all_and_only_once() {
    let world = World::new();
    let conversations = world.with_one().await;
    let asked = vec![says("q", "question")];
    conversations.begin_turn("c1", new_turn(20), asked).await.unwrap();

    // The conversation was changed meanwhile: nothing of the end is written.
    let lost = conversations.end_turn("c1", ending(1, 7, &["a"])).await.unwrap_err();
    assert!(matches!(lost, ConversationError::Changed { found: 1, .. }), "{lost}");
    assert_eq!(conversations.messages("c1", 0, 9).await.unwrap().len(), 1);
    assert_eq!(conversations.unfinished_turns().await.unwrap(), [turn(1)]);

    let ended = conversations.end_turn("c1", ending(1, 1, &["q", "a", "b"])).await.unwrap();
    assert_eq!(ended, Ended { numbers: vec![1, 2, 3], version: 2 });
    let over = Turn {
        state: TurnState::Ended,
        ended_at: Some(30),
        body: "\"over\"".to_owned(),
        ..turn(1)
    };
    assert_eq!(conversations.turns("c1", 0, 9).await.unwrap(), [over]);
    assert_eq!(conversations.unfinished_turns().await.unwrap(), []);
    let found = conversations.get("c1").await.unwrap().unwrap();
    assert_eq!((found.body.as_str(), found.updated_at), ("\"after\"", 30));

    // The same again, because nobody heard the answer.
    let again = conversations.end_turn("c1", ending(1, 1, &["q", "a", "b"])).await.unwrap();
    assert_eq!(again, ended);
    let other = conversations.end_turn("c1", ending(1, 2, &["z"])).await.unwrap_err();
    assert!(matches!(other, ConversationError::TurnOver { turn: 1, .. }), "{other}");
    let none = conversations.end_turn("c1", ending(2, 2, &[])).await.unwrap_err();
    assert!(matches!(none, ConversationError::NoTurn { turn: 2, .. }), "{none}");
    assert_eq!(conversations.messages("c1", 0, 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn turns_without_an_end_are_found_in_all_conversations() {
    let world = World::new();
    let conversations = world.with_one().await;
    conversations.create(new("c2", 1)).await.unwrap();
    for id in ["c2", "c1", "c1"] {
        conversations.begin_turn(id, new_turn(20), vec![]).await.unwrap();
    }
    conversations.end_turn("c1", ending(1, 1, &[])).await.unwrap();
    let of_the_other = Turn { conversation: "c2".to_owned(), ..turn(1) };
    let after_a_kill = world.open().await;
    assert_eq!(after_a_kill.unfinished_turns().await.unwrap(), [turn(2), of_the_other]);
}
