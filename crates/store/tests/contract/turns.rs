//! Turns, items, messages.

use ostler_model::item::{Item, ItemBody, ItemEnd};
use ostler_model::{Message, TurnId};
use ostler_store::{StoredItem, TurnMessages, TurnRow, Write};

use crate::samples::{NOON, id, new, result, task};
use crate::world::{World, write};

fn row(turn: &str, number: u32) -> TurnRow {
    TurnRow { task: id("t1"), turn: turn.into(), number, began_at: NOON, result: None }
}

#[tokio::test]
async fn turns_stand_in_their_order_and_get_their_result_later() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), Write::Turn(row("z", 1)), Write::Turn(row("a", 2))]).await;
    assert_eq!(store.turns(&id("t1")).await.unwrap(), [row("z", 1), row("a", 2)]);
    let ended = TurnRow { result: Some(Box::new(result("z"))), ..row("z", 1) };
    write(&store, vec![Write::Turn(ended.clone())]).await;
    assert_eq!(store.turns(&id("t1")).await.unwrap(), [ended, row("a", 2)]);
}

fn item(turn: &str, name: &str, number: u32, text: &str, how: ItemEnd) -> Write {
    let body = ItemBody::Plan { text: text.to_owned() };
    let item = Box::new(Item { id: name.into(), body });
    Write::Item { task: id("t1"), turn: turn.into(), number, item, how }
}

#[tokio::test]
async fn items_stand_as_they_came_and_the_last_word_counts() {
    let world = World::new();
    let store = world.open();
    let reported = ItemEnd::Reported;
    write(&store, vec![new(task("t1"))]).await;
    write(&store, vec![item("u1", "z", 1, "old", ItemEnd::Superseded)]).await;
    write(&store, vec![item("u1", "a", 2, "two", reported)]).await;
    // The same id in another turn is another item.
    write(&store, vec![item("u2", "z", 1, "three", reported)]).await;
    write(&store, vec![item("u1", "z", 1, "new", reported)]).await;

    let all = store.items(&id("t1"), 0, 9).await.unwrap();
    let known = |all: &[StoredItem]| -> Vec<(String, u32, String, Item)> {
        let turn = |turn: &TurnId| turn.to_string();
        all.iter()
            .map(|stored| {
                let how = format!("{:?}", stored.how);
                (turn(&stored.turn), stored.number, how, stored.item.clone())
            })
            .collect()
    };
    let plan = |turn: &str, name: &str, number, text: &str| {
        let body = ItemBody::Plan { text: text.to_owned() };
        (turn.to_owned(), number, "Reported".to_owned(), Item { id: name.into(), body })
    };
    let expected =
        [plan("u1", "z", 1, "new"), plan("u1", "a", 2, "two"), plan("u2", "z", 1, "three")];
    assert_eq!(known(&all), expected);
    assert_eq!(store.items(&id("t1"), all[0].place, 1).await.unwrap(), all[1..2]);
    let of_turn = store.items_of_turn(&id("t1"), &"u1".into(), 0, 9).await.unwrap();
    assert_eq!(of_turn, all[..2]);
    let rest = store.items_of_turn(&id("t1"), &"u1".into(), all[0].place, 9).await.unwrap();
    assert_eq!(rest, all[1..2]);
}

#[tokio::test]
async fn messages_of_a_turn_are_written_anew_part_by_part() {
    let world = World::new();
    let store = world.open();
    let put = |turn: &str, part: u32, texts: &[&str]| {
        let messages = texts.iter().map(|text| Message::user((*text).to_owned())).collect();
        Write::Messages { task: id("t1"), turn: turn.into(), part, messages }
    };
    write(&store, vec![new(task("t1")), put("z", 0, &["one"]), put("a", 0, &["three"])]).await;
    let two_parts = vec![put("z", 0, &["one", "two"]), put("z", 1, &["and more"])];
    write(&store, two_parts).await;
    let expected = |z: Vec<&str>| {
        [("z", z), ("a", vec!["three"])].map(|(turn, texts)| {
            let messages = texts.into_iter().map(|text| Message::user(text.to_owned())).collect();
            TurnMessages { turn: turn.into(), messages }
        })
    };
    let found = store.messages(&id("t1")).await.unwrap();
    assert_eq!(found, expected(vec!["one", "two", "and more"]));

    write(&store, vec![put("z", 0, &["one"])]).await;
    assert_eq!(store.messages(&id("t1")).await.unwrap(), expected(vec!["one"]));
}
