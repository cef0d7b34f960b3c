//! A long turn, a turn at Codex's own pace, and one commit.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use ostler_model::item::ItemEnd;
use ostler_model::task::Partial;
use ostler_model::thread::DeltaKind;
use ostler_store::{Batch, Store, StoreSettings, Write};

use crate::fill::{NOON, command, ended, id, message, task};
use crate::{Samples, scratch};

/// The turn of `spec/performance.md`: 1,000 messages of 100 pieces, and 1,000 commands.
const MESSAGES: usize = 1000;
const PIECES: usize = 100;
const LINES: usize = MESSAGES * (PIECES + 7);
/// What is gathered into one chunk of raw lines.
const CHUNK: usize = 64 * 1024;

/// One word of a text. Noise would compress less, and cost more, than anything that a model writes.
fn word(number: usize) -> &'static str {
    let text = "the test shares a port with another one so I give each its own and run both again to see that \
                neither fails now while the old helper stays as it is because other tests still use it";
    let words = text.split(' ').count();
    let chosen = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    text.split(' ').nth(usize::try_from(chosen).unwrap() % words).unwrap()
}

fn piece(number: usize) -> String {
    format!(
        "{{\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"01a13c1e-6e5b-7d62-b3c5-5f5e9b1d2c11\",\
         \"turnId\":\"01a13c1e-6e61-7a53-9a5d-0b5f3f7c9e02\",\"itemId\":\"msg_{:04}\",\"delta\":\"{} \"}},\
         \"emittedAtMs\":1794771024958}}\n",
        number / PIECES,
        word(number)
    )
}

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

/// As the engine does it: raw lines in chunks, what has grown of a message with each chunk, rows for whole items only.
async fn in_chunks(store: &Store, pieces: &[String]) {
    let task = id(0);
    let mut lines = Vec::with_capacity(CHUNK);
    let mut grown = String::new();
    for number in 0..MESSAGES {
        let item = message(number);
        for part in 0..PIECES {
            lines.extend_from_slice(pieces.get(number * PIECES + part).unwrap().as_bytes());
            grown.push_str("another ");
            if lines.len() >= CHUNK {
                let text = std::mem::take(&mut grown);
                let lines = std::mem::replace(&mut lines, Vec::with_capacity(CHUNK));
                let partial = Partial {
                    agent: None,
                    turn: "turn-1".into(),
                    item: item.id.clone(),
                    kind: DeltaKind::Message,
                    text,
                };
                let writes = vec![
                    Write::Wire { task: task.clone(), at: NOON, lines },
                    Write::Partial { task: task.clone(), partial },
                ];
                store.append(Batch(writes)).await.unwrap();
            }
        }
        grown.clear();
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
    store.commit(Batch(vec![Write::Wire { task, at: NOON, lines }])).await.unwrap();
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
    let pieces: Vec<_> = (0..MESSAGES * PIECES).map(piece).collect();
    for round in 1..=5 {
        let (chunks, writer, rate) = measured(async |store| in_chunks(store, &pieces).await).await;
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
        for chunk in 0..events / 50 {
            tick.tick().await;
            let lines = (0..50).flat_map(|line| piece(chunk * 50 + line).into_bytes()).collect();
            let write = Write::Wire { task: id(0), at: NOON, lines };
            store.append(Batch(vec![write])).await.unwrap();
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
    let commits = Samples::take(300, async |number| {
        store.commit(Batch(vec![ended(&id(0), NOON, message(number))])).await.unwrap();
    })
    .await;
    let mut file = File::create(folder.path().join("bare")).unwrap();
    let syncs = Samples::take(300, async |_| {
        file.write_all(&[7; 12_000]).unwrap();
        file.sync_data().unwrap();
    })
    .await;
    println!(
        "one commit: median {:.0} µs, p99 {:.0} µs; a bare write and sync of as much: median {:.0} µs, p99 {:.0} µs",
        commits.median_us(),
        commits.p99_us(),
        syncs.median_us(),
        syncs.p99_us()
    );
    store.close().await;
}
