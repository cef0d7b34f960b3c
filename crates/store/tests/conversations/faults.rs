//! Files that are not what they should be, and others that write.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::Duration;

use ostler_store::conversations::ConversationError;
use ostler_store::{Conversations, Store, StoreError, StoreSettings, quick_check_conversations};

use crate::world::{World, says};

async fn error(world: &World) -> StoreError {
    match Conversations::open_waiting(world.path(), Duration::from_millis(50)).await {
        Ok(_) => panic!("it was opened"),
        Err(ConversationError::Database(error)) => error,
        Err(error) => panic!("{error}"),
    }
}

async fn filled() -> World {
    let world = World::new();
    let conversations = world.with_one().await;
    let messages = (0..500).map(|n| says(&n.to_string(), &format!("{n:0500}")));
    conversations.append("c1", 0, messages.collect()).await.unwrap();
    conversations.close().await;
    quick_check_conversations(&world.path()).unwrap();
    world
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_left_alone() {
    let world = World::new();
    let text = "dear diary, ".repeat(1000);
    fs::write(world.path(), &text).unwrap();
    assert!(matches!(error(&world).await, StoreError::NotADatabase { .. }));
    assert_eq!(fs::read_to_string(world.path()).unwrap(), text);

    let world = World::new();
    world.sql("CREATE TABLE recipes (name TEXT)");
    assert!(matches!(error(&world).await, StoreError::Foreign { .. }));

    // The tasks' database is no place for conversations, nor the other way round.
    let world = World::new();
    Store::open(StoreSettings::at(world.path())).unwrap().close().await;
    assert!(matches!(error(&world).await, StoreError::Foreign { .. }));
    let world = filled().await;
    let opened = Store::open(StoreSettings::at(world.path()));
    assert!(matches!(opened.err(), Some(StoreError::Foreign { .. })));
}

#[tokio::test]
async fn a_newer_layout_is_left_alone_also_by_those_who_had_it_open_before() {
    let world = filled().await;
    let before = world.open().await;
    world.sql("PRAGMA user_version = 999");
    let found = error(&world).await;
    assert!(matches!(found, StoreError::Newer { found: 999, known: 2, .. }), "{found}");
    assert!(found.to_string().contains(&world.path().display().to_string()), "{found}");
    let refused = before.append("c1", 0, vec![says("new", "")]).await.unwrap_err();
    let ConversationError::Database(refused) = refused else { panic!("{refused}") };
    assert!(matches!(refused, StoreError::Newer { found: 999, .. }), "{refused}");
    assert!(refused.to_string().contains(&world.path().display().to_string()), "{refused}");
}

#[tokio::test]
async fn a_damaged_file_is_told_with_its_name() {
    let world = filled().await;
    let file = OpenOptions::new().write(true).open(world.path()).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    for page in pages / 3..pages {
        file.write_all_at(&[0xA5; 512], page * 4096).unwrap();
    }
    let checked = quick_check_conversations(&world.path()).unwrap_err();
    assert!(matches!(checked, StoreError::Corrupt { .. }), "{checked}");
    let conversations = world.open().await;
    let read = conversations.messages("c1", 0, 999).await.unwrap_err();
    let ConversationError::Database(read) = read else { panic!("{read}") };
    assert!(matches!(read, StoreError::Corrupt { .. }), "{read}");
    assert!(read.to_string().contains(&world.path().display().to_string()), "{read}");

    conversations.close().await;
    file.set_len(pages / 2 * 4096).unwrap();
    assert!(matches!(error(&world).await, StoreError::Corrupt { .. }));
}

#[tokio::test]
async fn who_writes_too_long_is_told_as_a_lock_and_a_short_one_is_waited_for() {
    let world = filled().await;
    let short = Conversations::open_waiting(world.path(), Duration::from_millis(50)).await.unwrap();
    let patient = world.open().await;
    let other = rusqlite::Connection::open(world.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = short.append("c1", 0, vec![says("new", "")]).await.unwrap_err();
    assert!(matches!(refused, ConversationError::Database(StoreError::Locked)), "{refused}");
    // Whoever reads does not notice.
    assert_eq!(short.messages("c1", 0, 999).await.unwrap().len(), 500);
    let waits = tokio::spawn(async move { patient.append("c1", 0, vec![says("new", "")]).await });
    tokio::task::yield_now().await;
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(waits.await.unwrap().unwrap(), [501]);
}

#[tokio::test]
async fn nobody_else_can_read_the_files_and_a_missing_folder_is_told() {
    let world = World::new();
    let conversations = world.open().await;
    let _hold = conversations.hold("c1").await.unwrap();
    let name = world.path().display().to_string();
    let rights =
        |end: &str| fs::metadata(format!("{name}{end}")).unwrap().permissions().mode() & 0o777;
    let found = ["", "-wal", "-shm", "-holds/c1", "-holds"].map(rights);
    assert_eq!(found, [0o600, 0o600, 0o600, 0o600, 0o700]);
    let nowhere = Conversations::open(world.path().with_file_name("no").join("c.db")).await;
    assert!(nowhere.err().unwrap().to_string().contains("folder is not there"));
    conversations.close().await;
    let closed = conversations.get("c1").await.unwrap_err();
    assert!(matches!(closed, ConversationError::Database(StoreError::Closed)), "{closed}");
}
