//! Events, raw lines, and text that still grows.

use ostler_model::item::ItemEnd;
use ostler_model::task::{Agent, Partial};
use ostler_model::thread::{DeltaKind, Update};
use ostler_model::{Event, Item, ItemBody, TaskState};
use ostler_store::{LoggedEvent, PlacedEvent, PlacedPage, Store, Write};

use crate::samples::{event, id, moved, new, task};
use crate::world::{World, write};

fn notice(seq: u64, number: u64) -> LoggedEvent {
    let Write::Event { at, event, .. } = event("", number) else { panic!() };
    LoggedEvent { seq, at, event: *event }
}

#[tokio::test]
async fn each_log_has_its_own_seqs_without_a_gap() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), new(task("t2"))]).await;
    write(&store, vec![event("t1", 10), event("t2", 20), event("t1", 11)]).await;
    write(&store, vec![event("t2", 21), event("t1", 12)]).await;

    let first = store.events(&id("t1"), 0, 2).await.unwrap();
    assert_eq!(first, [notice(1, 10), notice(2, 11)]);
    assert_eq!(store.events(&id("t1"), 2, 9).await.unwrap(), [notice(3, 12)]);
    assert_eq!(store.events(&id("t2"), 0, 9).await.unwrap(), [notice(1, 20), notice(2, 21)]);
    assert_eq!(store.events(&id("t2"), 2, 9).await.unwrap(), []);
    assert_eq!(store.events(&id("nobody"), 0, 9).await.unwrap(), []);
}

async fn all_after(store: &Store, after: u64) -> Vec<PlacedEvent> {
    store.events_of_all(after, 9, usize::MAX).await.unwrap().events
}

/// Whoever reads all logs as one says where it was by the place of the last event: none may come behind its back.
#[tokio::test]
async fn all_logs_are_one_and_no_place_is_used_twice() {
    let world = World::new();
    let store = world.open();
    let placed = |place, task: &str, logged| PlacedEvent { place, task: id(task), logged };
    write(&store, vec![new(task("t1")), new(task("t2"))]).await;
    write(&store, vec![event("t1", 10), event("t2", 20), event("t1", 11)]).await;

    let (first, second) = (placed(1, "t1", notice(1, 10)), placed(2, "t2", notice(1, 20)));
    let third = placed(3, "t1", notice(2, 11));
    assert_eq!(all_after(&store, 0).await, [first.clone(), second.clone(), third.clone()]);
    let page = store.events_of_all(0, 2, usize::MAX).await.unwrap();
    assert_eq!(page, PlacedPage { events: vec![first.clone(), second.clone()], is_last: false });
    let page = store.events_of_all(0, 9, 1).await.unwrap();
    assert_eq!(page, PlacedPage { events: vec![first], is_last: false });
    assert_eq!(store.last_place().await.unwrap(), 3);

    // The last events go with their task, twice, and no later one gets their places.
    for (gone, next) in [("t1", 4), ("t3", 5)] {
        write(&store, vec![Write::RemoveTask(id(gone))]).await;
        world.wait_until_rows(&store, "events", 2).await;
        assert_eq!(all_after(&store, 0).await, std::slice::from_ref(&second));
        assert_eq!(store.last_place().await.unwrap(), next - 1);
        let name = format!("t{}", next - 1);
        write(&store, vec![new(task(&name)), event(&name, 30)]).await;
        assert_eq!(all_after(&store, next - 1).await, [placed(next, &name, notice(1, 30))]);
    }
}

#[tokio::test]
async fn changes_of_state_are_found_among_all_else() {
    let world = World::new();
    let store = world.open();
    let steps = [TaskState::Queued, TaskState::Starting, TaskState::Working];
    write(&store, vec![new(task("t1")), event("t1", 1), moved("t1", steps[0], steps[1])]).await;
    write(&store, vec![event("t1", 2), moved("t1", steps[1], steps[2]), event("t1", 3)]).await;

    let found = store.state_events(&id("t1")).await.unwrap();
    let states: Vec<_> = found
        .into_iter()
        .map(|logged| match logged.event {
            Event::State { from, to, .. } => (logged.seq, from, to),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(states, [(2, steps[0], steps[1]), (4, steps[1], steps[2])]);
}

fn partial(item: &str, kind: DeltaKind, text: &str) -> Partial {
    let scout = || Agent { thread: "thread-2".into(), name: Some("scout".to_owned()), role: None };
    let agent = (kind == DeltaKind::Reasoning).then(scout);
    Partial { agent, turn: "turn-1".into(), item: item.into(), kind, text: text.to_owned() }
}

#[tokio::test]
async fn text_grows_until_its_item_or_turn_ends() {
    let world = World::new();
    let store = world.open();
    let grow = |item: &str, kind, text: &str| Write::Partial {
        task: id("t1"),
        partial: partial(item, kind, text),
    };
    let (message, reasoning) = (DeltaKind::Message, DeltaKind::Reasoning);
    write(&store, vec![new(task("t1")), grow("z", message, "Once "), grow("z", message, "upon ")])
        .await;
    write(
        &store,
        vec![grow("a", message, "x"), grow("z", reasoning, "hm"), grow("z", message, "a")],
    )
    .await;
    write(&store, vec![grow("b", message, "y")]).await;
    // In the order in which they began.
    let all = [
        partial("z", message, "Once upon a"),
        partial("a", message, "x"),
        partial("z", reasoning, "hm"),
        partial("b", message, "y"),
    ];
    assert_eq!(store.partials(&id("t1")).await.unwrap(), all);

    let (task, turn) = (id("t1"), "turn-1".into());
    write(&store, vec![Write::PartialsGone { task, turn, item: "z".into() }]).await;
    assert_eq!(store.partials(&id("t1")).await.unwrap(), [all[1].clone(), all[3].clone()]);
    let (task, turn) = (id("t1"), "turn-1".into());
    write(&store, vec![Write::TurnPartialsGone { task, turn }]).await;
    assert_eq!(store.partials(&id("t1")).await.unwrap(), []);
}

/// The text of an item is stored once, and the log tells it all the same.
#[tokio::test]
async fn the_end_of_an_item_is_told_as_it_was() {
    let world = World::new();
    let store = world.open();
    let item = |text: &str| Item {
        id: "i1".into(),
        body: ItemBody::Plan { text: format!("hay{}", text.repeat(400)) },
    };
    let ended = |agent, text: &str, how| {
        let update = Update::ItemEnded { turn: "u1".into(), item: item(text), how };
        Event::Thread { agent, update: Box::new(update) }
    };
    let (own, how) = (ended(None, "one", ItemEnd::Interrupted), ItemEnd::Interrupted);
    let agent = Some(Agent { thread: "thread-2".into(), name: None, role: None });
    let of_agent = ended(agent, "two", ItemEnd::Reported);
    let row = Box::new(item("one"));
    let log =
        |event: &Event| Write::Event { task: id("t1"), at: 1, event: Box::new(event.clone()) };
    write(
        &store,
        vec![
            new(task("t1")),
            Write::Item { task: id("t1"), turn: "u1".into(), number: 1, item: row, how },
            log(&own),
            // A sub-agent's items stand in the log alone.
            log(&of_agent),
        ],
    )
    .await;

    let told: Vec<Event> =
        store.events(&id("t1"), 0, 9).await.unwrap().into_iter().map(|it| it.event).collect();
    assert_eq!(told, [own, of_agent]);
    let connection = rusqlite::Connection::open(world.settings().path).unwrap();
    let bodies = "SELECT sum(instr(body, 'hayone') > 0) FROM events";
    let with_text: i64 = connection.query_row(bodies, [], |row| row.get(0)).unwrap();
    assert_eq!(with_text, 0, "the text stands in the log, too");
}
