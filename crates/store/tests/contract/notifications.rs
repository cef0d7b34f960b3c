//! The outbox: written once, tried when due, settled once, gone with its task.

use ostler_model::notification::{Addressee, Content, Kind, Occasion, Outcome, Persistence, State};
use ostler_model::{Notification, TaskState};
use ostler_store::{NotificationFilter, Retention, Store, StoreError, Write};

use crate::samples::{NOON, id, in_state, new, task};
use crate::world::{World, refused, write};

fn row(of: &str, nonce: &str, target: &str, at: i64) -> Notification {
    let occasion = Occasion::Moved { nonce: nonce.to_owned() };
    let content = Content::of_state(&in_state(of, TaskState::Completed, at), Kind::Finished, None);
    let addressee = match target {
        "" => Addressee::Nobody,
        target => Addressee::To(target.to_owned()),
    };
    Notification::new(&occasion, &id(of), Kind::Finished, addressee, content, at)
}

fn put(row: &Notification) -> Write {
    Write::Notification(Box::new(row.clone()))
}

fn tried(row: &Notification) -> Write {
    Write::NotificationTried(Box::new(row.clone()))
}

fn sent(row: &Notification) -> Notification {
    let mut row = row.clone();
    let outcome = Outcome::Delivered { answer: "HTTP 200".to_owned() };
    row.tried(NOON + 9, 7, outcome, &Persistence::default(), 0);
    row
}

async fn of_task(store: &Store, task: &str) -> Vec<Notification> {
    let filter = NotificationFilter { task: Some(id(task)), ..NotificationFilter::default() };
    store.notifications(&filter, None, 99).await.unwrap().notifications
}

#[tokio::test]
async fn what_is_to_be_told_is_written_with_its_cause_and_once() {
    let world = World::new();
    let store = world.open();
    let first = row("t1", "n1", "ops", NOON);
    // All or nothing, with the task itself.
    let lost = refused(&store, vec![new(task("t1")), put(&row("no such", "n", "ops", NOON))]).await;
    assert!(matches!(lost, StoreError::NoTask(_)));
    assert_eq!(store.task(&id("t1")).await.unwrap(), None);

    write(&store, vec![new(task("t1")), put(&first)]).await;
    // The same occasion again, from whoever was killed in between, is the first one.
    let mut again = first.clone();
    again.content.why = "another reason".to_owned();
    write(&store, vec![put(&again)]).await;
    assert_eq!(of_task(&store, "t1").await, std::slice::from_ref(&first));
    assert_eq!(store.notification(&first.id).await.unwrap(), Some(first.clone()));
    let short = first.id.as_str().get(..6).unwrap();
    let found = store.notifications_by_prefix(short, 2).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&first));
    store.close().await;
    assert_eq!(of_task(&world.open(), "t1").await, [first]);
}

#[tokio::test]
async fn what_is_due_is_found_by_target_and_one_target_holds_no_other_up() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1"))]).await;
    for number in 0..20 {
        write(&store, vec![put(&row("t1", &format!("a{number}"), "busy", NOON + number))]).await;
    }
    let other = row("t1", "b", "other", NOON + 50);
    let later = row("t1", "c", "other", NOON + 1000);
    write(&store, vec![put(&later), put(&other), put(&row("t1", "d", "", NOON))]).await;

    let due = store.due_notifications(NOON + 100, 3).await.unwrap();
    let targets: Vec<&str> = due.iter().map(|row| row.target.as_str()).collect();
    assert_eq!(targets, ["busy", "busy", "busy", "other"]);
    assert_eq!(due.last(), Some(&other));
    assert_eq!(store.next_due_notification(NOON + 100).await.unwrap(), Some(NOON + 1000));
    for row in due {
        write(&store, vec![tried(&sent(&row))]).await;
    }
    let due = store.due_notifications(NOON + 100, 3).await.unwrap();
    assert!(due.iter().all(|row| row.target == "busy"), "{due:?}");
    assert_eq!(store.next_due_notification(NOON + 1000).await.unwrap(), None);
}

#[tokio::test]
async fn what_was_settled_stays_so_until_somebody_wants_it_again() {
    let world = World::new();
    let store = world.open();
    let first = row("t1", "n1", "ops", NOON);
    write(&store, vec![new(task("t1")), put(&first)]).await;
    let done = sent(&first);
    write(&store, vec![tried(&done)]).await;
    // An attempt of whoever is late changes nothing.
    let mut late = first.clone();
    let outcome = Outcome::Failed { why: "too slow".to_owned(), retry_after_ms: None };
    late.tried(NOON + 10, 1, outcome, &Persistence::default(), 0);
    write(&store, vec![tried(&late)]).await;
    assert_eq!(store.notification(&first.id).await.unwrap(), Some(done));

    let replay = || Write::ReplayNotification { id: first.id.clone(), at: NOON + 77 };
    write(&store, vec![replay()]).await;
    let again = store.notification(&first.id).await.unwrap().unwrap();
    assert_eq!(
        (again.state, again.due_at, again.attempts, again.id.clone()),
        (State::Pending, Some(NOON + 77), 0, first.id.clone())
    );
    // Twice is once.
    write(&store, vec![Write::ReplayNotification { id: first.id.clone(), at: NOON + 99 }]).await;
    assert_eq!(store.notification(&first.id).await.unwrap(), Some(again));
    let none = Write::ReplayNotification { id: "no".into(), at: NOON };
    assert!(matches!(refused(&store, vec![none]).await, StoreError::NoNotification(_)));
}

#[tokio::test]
async fn lists_have_pages_and_know_states_tasks_and_what_is_unread() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), new(task("t2"))]).await;
    for number in 0..5 {
        let mut shown = row("t1", &format!("{number}"), "local", NOON + number);
        shown.is_unread = true;
        shown.state = State::Sent;
        shown.due_at = None;
        write(&store, vec![put(&shown), put(&row("t2", &format!("{number}"), "", NOON))]).await;
    }
    let page = |filter: NotificationFilter, before| {
        let store = store.clone();
        async move { store.notifications(&filter, before, 3).await.unwrap() }
    };
    let all = NotificationFilter::default();
    let first = page(all.clone(), None).await;
    assert_eq!(first.notifications.len(), 3);
    let second = page(all, first.next).await;
    assert!(second.newest < first.newest && second.notifications != first.notifications);
    let state = Some(State::NoTarget);
    let none = page(NotificationFilter { state, ..NotificationFilter::default() }, None).await;
    assert!(none.notifications.iter().all(|row| row.task == id("t2")), "{none:?}");
    let both = NotificationFilter { task: Some(id("t1")), state, is_unread: false };
    assert_eq!(page(both, None).await.notifications, []);

    assert_eq!(store.unread_notifications().await.unwrap(), 5);
    let unread = NotificationFilter { is_unread: true, ..NotificationFilter::default() };
    let seen = page(unread.clone(), None).await;
    assert!(seen.notifications.iter().all(|row| row.is_unread), "{seen:?}");
    let up_to = seen.next.unwrap();
    write(&store, vec![Write::NotificationsRead { up_to, task: Some(id("t2")) }]).await;
    assert_eq!(store.unread_notifications().await.unwrap(), 5);
    write(&store, vec![Write::NotificationsRead { up_to, task: Some(id("t1")) }]).await;
    assert_eq!(store.unread_notifications().await.unwrap(), 2);
    write(&store, vec![Write::NotificationsRead { up_to: i64::MAX, task: None }]).await;
    assert_eq!(page(unread, None).await.notifications, []);
}

#[tokio::test]
async fn the_outbox_goes_with_its_task_and_with_its_age() {
    let world = World::new();
    let store = world.open();
    let (old, young) = (row("t1", "old", "ops", NOON), row("t1", "young", "ops", NOON + 500));
    let waits = row("t1", "waits", "ops", NOON);
    write(&store, vec![new(in_state("t1", TaskState::Working, NOON))]).await;
    write(&store, vec![new(in_state("t2", TaskState::Completed, NOON + 900))]).await;
    write(&store, vec![put(&old), put(&young), put(&waits)]).await;
    write(&store, vec![tried(&sent(&old)), tried(&sent(&young))]).await;
    write(&store, vec![put(&row("t2", "x", "ops", NOON + 900))]).await;

    let retention = Retention { age_ms: Some(100), ..Retention::none() };
    let report = store.sweep(NOON + 400, &retention).await.unwrap();
    assert_eq!((report.notifications, report.too_old.len()), (1, 0));
    // What is still to be sent stays, however old.
    assert_eq!(of_task(&store, "t1").await, [waits, sent(&young)]);
    write(&store, vec![Write::RemoveTask(id("t2"))]).await;
    world.wait_until_rows(&store, "notifications", 2).await;
}
