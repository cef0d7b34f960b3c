//! Files that are not what they should be, and a database that others hold.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_model::task::{Budget, Cause, Spent};
use ostler_model::{Event, Task, TaskId, TaskSettings, TaskState};
use ostler_store::{Batch, Store, StoreError, StoreSettings, Write, quick_check};
use tempfile::TempDir;

const PAGE: u64 = 4096;

fn task(id: &str) -> Task {
    Task {
        id: id.into(),
        state: TaskState::Queued,
        cause: Cause::Placed,
        title: String::new(),
        settings: TaskSettings::in_folder("/"),
        started_by: String::new(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: 0,
        updated_at: 0,
        ended_at: None,
        last_seq: 0,
        forked_from: None,
    }
}

fn event(number: i64) -> Write {
    let json = format!("{number:0500}");
    let event = Box::new(Event::Notice { name: String::new(), json, agent: None });
    Write::Event { task: "t1".into(), at: number, event }
}

async fn write(store: &Store, writes: Vec<Write>) {
    store.commit(Batch(writes)).await.unwrap();
}

struct Place {
    _folder: TempDir,
    path: PathBuf,
}

impl Place {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ostler.db");
        Self { _folder: folder, path }
    }

    /// With a task of a thousand events, closed.
    async fn filled() -> Self {
        let place = Self::empty();
        let store = place.open().unwrap();
        let new = Write::NewTask { task: Box::new(task("t1")), key: None };
        write(&store, std::iter::once(new).chain((0..1000).map(event)).collect()).await;
        store.close().await;
        assert!(quick_check(&place.path).is_ok());
        place
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open(self.settings())
    }

    fn settings(&self) -> StoreSettings {
        let mut settings = StoreSettings::at(&self.path);
        settings.lock_wait = Duration::from_millis(50);
        settings.retry_after = Duration::from_millis(20);
        settings
    }

    fn overwrite(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    fn error(&self) -> StoreError {
        match self.open() {
            Ok(_) => panic!("it was opened"),
            Err(error) => error,
        }
    }

    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(&self.path).unwrap().execute_batch(sql).unwrap();
    }

    fn file(&self) -> String {
        self.path.display().to_string()
    }
}

/// What can be told apart, said with what to do.
fn says(error: &StoreError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing: {text}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let place = Place::empty();
    let text = "dear diary, ".repeat(1000);
    fs::write(&place.path, &text).unwrap();
    assert!(matches!(place.error(), StoreError::NotADatabase { .. }));
    says(&place.error(), &[&place.file(), "is not a database", "move it aside"]);
    says(&quick_check(&place.path).unwrap_err(), &["is not a database"]);
    assert_eq!(fs::read_to_string(&place.path).unwrap(), text);
}

#[tokio::test]
async fn a_broken_head_is_told() {
    let place = Place::filled().await;
    place.overwrite(0, &[0xA5; 100]);
    assert!(matches!(place.error(), StoreError::NotADatabase { .. }));
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let place = Place::empty();
    place.sql("CREATE TABLE recipes (name TEXT)");
    assert!(matches!(place.error(), StoreError::Foreign { .. }));
    place.sql("PRAGMA application_id = 7");
    assert!(matches!(place.error(), StoreError::Foreign { .. }));
    says(&place.error(), &[&place.file(), "of another program"]);
    assert!(matches!(quick_check(&place.path), Err(StoreError::Foreign { .. })));
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let place = Place::filled().await;
    place.sql("PRAGMA user_version = 999");
    let found = place.error();
    assert!(matches!(&found, StoreError::Newer { found: 999, .. }), "{found}");
    says(&found, &[&place.file(), "newer version"]);
    assert!(matches!(quick_check(&place.path), Err(StoreError::Newer { found: 999, .. })));
}

#[tokio::test]
async fn a_cut_file_is_told_when_it_is_opened() {
    let place = Place::filled().await;
    let file = OpenOptions::new().write(true).open(&place.path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2 / PAGE * PAGE).unwrap();
    assert!(matches!(place.error(), StoreError::Corrupt { .. }), "{}", place.error());
    says(&place.error(), &[&place.file(), "is damaged", "move the file", ".recover"]);
    assert!(matches!(quick_check(&place.path), Err(StoreError::Corrupt { .. })));
}

#[tokio::test]
async fn a_torn_page_is_told_by_whoever_reads_it_and_by_the_check() {
    let place = Place::filled().await;
    let pages = fs::metadata(&place.path).unwrap().len() / PAGE;
    // What is read when it is opened stands in front.
    for page in pages / 2..pages {
        place.overwrite(page * PAGE, &[0xA5; 512]);
    }
    let checked = quick_check(&place.path).unwrap_err();
    assert!(matches!(checked, StoreError::Corrupt { .. }), "{checked}");
    says(&checked, &[&place.file(), "is damaged"]);
    let store = place.open().unwrap();
    let read = store.events(&"t1".into(), 0, 2000).await.unwrap_err();
    assert!(matches!(read, StoreError::Corrupt { .. }), "{read}");
    says(&read, &[&place.file()]);
    let written = store.commit(Batch(vec![event(1)])).await.unwrap_err();
    assert!(matches!(written, StoreError::Corrupt { .. }), "{written}");
    assert!(matches!(store.health().failing, Some(StoreError::Corrupt { .. })));
}

#[tokio::test]
async fn a_row_that_nobody_can_read_hides_no_other() {
    let place = Place::filled().await;
    let store = place.open().unwrap();
    let new = |id: &str| Write::NewTask { task: Box::new(task(id)), key: None };
    write(&store, vec![new("t2"), new("t3")]).await;
    place.sql("UPDATE events SET body = '{\"event\":\"odd\"}' WHERE seq = 5");
    place.sql("UPDATE tasks SET body = '{}' WHERE id = 't2'");

    let log = store.events(&"t1".into(), 4, 1).await.unwrap();
    let (name, json) = ("unreadable".to_owned(), "{\"event\":\"odd\"}".to_owned());
    assert_eq!(log.first().unwrap().event, Event::Notice { name, json, agent: None });
    let names: Vec<_> =
        store.unfinished().await.unwrap().into_iter().map(|task| task.id.to_string()).collect();
    assert_eq!(names, ["t1", "t3"]);
    let read = store.task(&"t2".into()).await.unwrap_err();
    assert!(matches!(read, StoreError::Unreadable { what: "task", .. }), "{read}");
}

#[tokio::test]
async fn a_folder_and_a_missing_folder_are_told() {
    let place = Place::empty();
    fs::create_dir(&place.path).unwrap();
    says(&place.error(), &[&place.file(), "is a folder"]);
    assert!(matches!(quick_check(&place.path), Err(StoreError::IsAFolder { .. })));
    let nowhere = Store::open(StoreSettings::at(place.path.join("no/ostler.db")));
    says(&nowhere.err().unwrap(), &["folder is not there", "make it"]);
}

#[tokio::test]
async fn nobody_else_can_read_the_files() {
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = Place::empty();
    let store = place.open().unwrap();
    let beside = |end: &str| PathBuf::from(format!("{}{end}", place.file()));
    let files = [place.path.clone(), beside("-wal"), beside("-shm")];
    assert_eq!(files.each_ref().map(|file| rights(file)), [0o600; 3]);
    store.close().await;
    // A file that was made too open, by a copy perhaps, is closed again.
    fs::set_permissions(&place.path, Permissions::from_mode(0o644)).unwrap();
    let _store = place.open().unwrap();
    assert_eq!(files.map(|file| rights(&file)), [0o600; 3]);
}

#[tokio::test]
async fn a_lock_of_another_program_refuses_what_is_waited_for_and_keeps_the_rest() {
    let place = Place::filled().await;
    let store = place.open().unwrap();
    let other = rusqlite::Connection::open(&place.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.commit(Batch(vec![event(1)])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked), "{refused}");
    store.append(Batch(vec![event(2)])).await.unwrap();
    let refused = store.commit(Batch(vec![event(3)])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked), "{refused}");
    assert!(matches!(store.health().failing, Some(StoreError::Locked)));
    // Readers do not notice.
    assert_eq!(store.task(&"t1".into()).await.unwrap().unwrap().last_seq, 1000);
    let mut news = store.news();
    other.execute_batch("ROLLBACK").unwrap();
    // Without anybody writing anything more.
    let told = tokio::time::timeout(Duration::from_secs(20), news.recv()).await.unwrap().unwrap();
    assert_eq!((told[0].task.clone(), told[0].last), (TaskId::new("t1"), 1001));
    let last = store.events(&"t1".into(), 1000, 9).await.unwrap();
    assert_eq!(last.iter().map(|logged| logged.at).collect::<Vec<_>>(), [2]);
    assert!(store.health().failing.is_none());
}

#[tokio::test]
async fn opening_a_locked_database_is_told() {
    let place = Place::filled().await;
    let other = rusqlite::Connection::open(&place.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(place.error(), StoreError::Locked), "{}", place.error());
}
