//! A long turn, a turn at Codex's own pace, and one commit.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use ostler_model::item::ItemEnd;
use ostler_store::{Batch, Store, StoreSettings, Write};

use crate::fill::{NOON, command, ended, grown, id, message, task};
use crate::{Samples, scratch};

/// The turn of `spec/performance.md`: 1,000 messages of 100 pieces, and 1,000 commands.
const MESSAGES: usize = 1000;
const PIECES: usize = 100;
const LINES: usize = MESSAGES * (PIECES + 7);
/// Pieces that the engine gathers into one write while a turn streams at full speed.
const GATHERED: usize = 50;

/// The time that the threads of this process were on a processor; only of those whose name begins so.
fn cpu(name: &str) -> Duration {
    let mut total = 0;
    for thread in std::fs::read_dir("/proc/self/task").unwrap().map(Result::unwrap) {
        let read =
            |file: &str| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        if read("comm").starts_with(name) {
            let schedstat = read("schedstat");
            total += schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(total)
}

fn settings(folder: &tempfile::TempDir) -> StoreSettings {
    StoreSettings::at(folder.path().join("ostler.db"))
}

async fn with_a_task(settings: StoreSettings) -> Store {
    let store = Store::open(settings).unwrap();
    let new = Write::NewTask { task: Box::new(task(0, 1)), key: None };
    store.commit(Batch(vec![new])).await.unwrap();
    store
}

/// As the engine does it: what has grown of a message in chunks, rows for whole items only.
async fn in_chunks(store: &Store) {
    let task = id(0);
    for number in 0..MESSAGES {
        let item = message(number);
        for _ in 0..PIECES / GATHERED {
            let partial = grown(number, "another ".repeat(GATHERED));
            store
                .append(Batch(vec![Write::Partial { task: task.clone(), partial }]))
                .await
                .unwrap();
        }
        let mut writes = Vec::new();
        for item in [item, command(number)] {
            writes.push(Write::PartialsGone {
                task: task.clone(),
                turn: "turn-1".into(),
                item: item.id.clone(),
            });
            writes.push(Write::Item {
                task: task.clone(),
                turn: "turn-1".into(),
                number: 0,
                item: Box::new(item.clone()),
                how: ItemEnd::Reported,
            });
            writes.push(ended(&task, NOON, item));
        }
        store.append(Batch(writes)).await.unwrap();
    }
    store.commit(Batch::new()).await.unwrap();
}

/// A row for each line, to compare with.
async fn in_rows(store: &Store) {
    for number in 0..LINES {
        store.append(Batch(vec![ended(&id(0), NOON, message(number))])).await.unwrap();
    }
    store.commit(Batch::new()).await.unwrap();
}

/// CPU per event of the whole process and of the writer alone, in microseconds, and events per second.
async fn measured(work: impl AsyncFnOnce(&Store)) -> (f64, f64, f64) {
    let folder = scratch();
    let store = with_a_task(settings(&folder)).await;
    let (all, writer, begin) = (cpu(""), cpu("store-writer"), Instant::now());
    work(&store).await;
    let took = begin.elapsed().as_secs_f64();
    let per_event = |spent: Duration| spent.as_secs_f64() * 1e6 / LINES as f64;
    let spent = (per_event(cpu("") - all), per_event(cpu("store-writer") - writer));
    store.close().await;
    (spent.0, spent.1, LINES as f64 / took)
}

pub(crate) async fn a_long_turn() {
    println!("a turn of {LINES} lines, all of it on disk");
    let mut ratios = Vec::new();
    for round in 1..=5 {
        let (chunks, writer, rate) = measured(in_chunks).await;
        let (rows, _, slow_rate) = measured(in_rows).await;
        println!(
            "round {round}: in chunks {chunks:.2} µs CPU per event ({writer:.2} of it the writer), {rate:.0} events/s; \
             a row each {rows:.2} µs, {slow_rate:.0} events/s"
        );
        ratios.push(chunks / rows);
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios.get(2).unwrap();
    println!("median ratio {ratio:.2} of chunks to rows");
    assert!(*ratio < 0.6, "chunks are to cost far less than rows");
}

/// 10,000 events a second, handed over every 5 ms.
pub(crate) async fn at_a_real_pace() {
    for linger_ms in [5, 10, 20] {
        let folder = scratch();
        let mut settings = settings(&folder);
        settings.linger = Duration::from_millis(linger_ms);
        let store = with_a_task(settings).await;
        let begin_cpu = cpu("");
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        let events = 20_000;
        for chunk in 0..events / GATHERED {
            tick.tick().await;
            let partial = grown(chunk / 2, "another ".repeat(GATHERED));
            store.append(Batch(vec![Write::Partial { task: id(0), partial }])).await.unwrap();
        }
        store.commit(Batch::new()).await.unwrap();
        let per_event = (cpu("") - begin_cpu).as_secs_f64() * 1e6 / events as f64;
        println!(
            "at 10,000 events/s with a linger of {linger_ms} ms: {per_event:.2} µs CPU per event, of the 12 that the \
             whole path may take"
        );
        store.close().await;
    }
}

pub(crate) async fn one_commit_beside_one_sync() {
    let folder = scratch();
    let store = with_a_task(settings(&folder)).await;
    let mut file = File::create(folder.path().join("bare")).unwrap();
    let (mut commits, mut syncs) = (Vec::new(), Vec::new());
    // In turn: what else the disk does then falls on both alike.
    for number in 0..300 {
        let begin = Instant::now();
        store.commit(Batch(vec![ended(&id(0), NOON, message(number))])).await.unwrap();
        commits.push(begin.elapsed());
        let begin = Instant::now();
        file.write_all(&[7; 12_000]).unwrap();
        file.sync_data().unwrap();
        syncs.push(begin.elapsed());
    }
    let (commits, syncs) = (Samples::of(commits), Samples::of(syncs));
    println!(
        "one commit: median {:.0} µs, p99 {:.0} µs; a bare write and sync of as much: median {:.0} µs, p99 {:.0} µs",
        commits.median_us(),
        commits.p99_us(),
        syncs.median_us(),
        syncs.p99_us()
    );
    store.close().await;
}
