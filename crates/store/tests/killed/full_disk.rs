//! A disk of three megabytes, in a namespace of its own.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ostler_model::Event;
use ostler_store::{Batch, Committed, Store, StoreError, StoreSettings};

use crate::samples::{event, new};

const MOUNT: &str =
    "mount -t tmpfs -o size=3m,mode=700 none \"$0\" && exec \"$1\" part:full-disk \"$0\"";

pub(crate) fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", MOUNT])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

pub(crate) fn on_a_small_disk(folder: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fill(Path::new(folder)));
    runtime.block_on(open_when_full(Path::new(folder)));
    runtime.block_on(read_only(Path::new(folder)));
}

fn settings(folder: &Path) -> StoreSettings {
    let mut settings = StoreSettings::at(folder.join("ostler.db"));
    settings.spool_bytes = 20_000;
    settings.retry_after = Duration::from_millis(20);
    settings
}

async fn fill(folder: &Path) {
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![1; 1_500_000]).unwrap();
    let store = Store::open(settings(folder)).unwrap();
    store.commit(Batch(vec![new("t1"), new("t2")])).await.unwrap();

    let mut acknowledged = 0;
    let error = loop {
        match store.commit(Batch(vec![event("t1", acknowledged + 1, 3000)])).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full), "{error}");
    assert!(acknowledged > 50, "{acknowledged}");
    assert!(matches!(store.health().failing, Some(StoreError::Full)));
    // What is there can be read.
    let read = store.task(&"t1".into()).await.unwrap().unwrap();
    assert_eq!(read.last_seq.cast_signed(), acknowledged);

    // Six fit into the spool of 20,000 bytes; of the rest only the number is kept.
    for number in 1..=10 {
        store.append(Batch(vec![event("t1", 1000 + number, 3000)])).await.unwrap();
    }
    store.append(Batch(vec![event("t2", 2001, 3000)])).await.unwrap();
    let refused = store.commit(Batch(vec![event("t2", 2002, 3000)])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Full), "{refused}");
    let health = store.health();
    assert_eq!((health.lost_events, health.refused_appends), (5, 0), "{health:?}");
    assert!(health.spooled_bytes > 15_000 && health.spooled_bytes <= 20_000, "{health:?}");

    // It is tried again and again, and what is kept stays as it is.
    let refused = store.commit(Batch(vec![event("t2", 2003, 3000)])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Full), "{refused}");
    assert_eq!(store.health().spooled_bytes, health.spooled_bytes);
    assert_eq!(store.health().lost_events, 5);

    // Room again: it goes on by itself.
    let mut news = store.news();
    std::fs::remove_file(&ballast).unwrap();
    tokio::time::timeout(Duration::from_secs(20), news.recv()).await.unwrap().unwrap();
    let health = store.health();
    assert!(health.failing.is_none() && health.spooled_bytes == 0, "{health:?}");
    let committed = store.commit(Batch(vec![event("t1", 3000, 3000)])).await.unwrap();
    let Committed::Written(seqs) = committed else { panic!("{committed:?}") };
    // All that was acknowledged, six spooled, one mark, this one.
    assert_eq!(
        seqs.iter().map(|seqs| seqs.last.cast_signed()).collect::<Vec<_>>(),
        [acknowledged + 8]
    );

    let log = store.events(&"t1".into(), 0, 9999).await.unwrap();
    let times: Vec<_> = log.iter().map(|logged| logged.at).collect();
    let expected: Vec<_> = (1..=acknowledged).chain(1001..=1006).chain([1010, 3000]).collect();
    assert_eq!(times, expected);
    let marks: Vec<_> = log
        .iter()
        .filter_map(|logged| match logged.event {
            Event::Lost { events, .. } => Some((logged.seq.cast_signed(), events)),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [(acknowledged + 7, 4)]);
    let other = store.events(&"t2".into(), 0, 99).await.unwrap();
    assert!(
        matches!(other.as_slice(), [only] if matches!(only.event, Event::Lost { events: 1, .. }))
    );
    store.close().await;
}

/// The first one stands for a daemon that was killed: its log is still there.
async fn open_when_full(folder: &Path) {
    let settings = || StoreSettings { path: folder.join("other.db"), ..settings(folder) };
    let first = Store::open(settings()).unwrap();
    first.commit(Batch(vec![new("t1")])).await.unwrap();
    // A new store cuts its log after its first write. The second write waits for that, so that no room comes back below.
    first.commit(Batch(vec![new("t0")])).await.unwrap();
    let ballast = folder.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    for size in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }

    let second = Store::open(settings()).unwrap();
    assert_eq!(second.epoch(), first.epoch() + 1);
    assert!(matches!(second.health().failing, Some(StoreError::Full)));
    assert!(second.task(&"t1".into()).await.unwrap().is_some());
    let refused = second.commit(Batch(vec![new("t2")])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Full), "{refused}");

    drop(file);
    std::fs::remove_file(&ballast).unwrap();
    second.commit(Batch(vec![new("t2")])).await.unwrap();
    assert!(second.health().failing.is_none());
    let fenced = first.commit(Batch(vec![new("t3")])).await.unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced), "{fenced}");
    second.commit(Batch(vec![new("t3")])).await.unwrap();
    first.close().await;
    second.close().await;
}

async fn read_only(folder: &Path) {
    let remount = |rights: &str| {
        let options = format!("remount,{rights}");
        let status = Command::new("mount").args(["-o", &options]).arg(folder).status().unwrap();
        assert!(status.success(), "{rights}: {status}");
    };
    remount("ro");
    let Err(error) = Store::open(settings(folder)) else { panic!("it was opened") };
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    let Err(error) = Store::open(StoreSettings::at(folder.join("new.db"))) else { panic!("made") };
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    remount("rw");
    Store::open(settings(folder)).unwrap().close().await;
}
