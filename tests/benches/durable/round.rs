//! One round of one measurement, in a process of its own: what an earlier one left in memory would be measured too.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use ostler_engine::Answer;
use ostler_model::task::DecidedBy;
use ostler_model::{Decision, Event, ItemBody, TaskId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use crate::fake::{SEEN, monotonic_ns};
use crate::processes::forget_peak;
use crate::turn::{bare, cpu, lines_of, output, text_of, turn};
use crate::world::{World, rule};

/// What one round came to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Microseconds of the processor per line, of the whole path and of the bare parse.
    pub(crate) path_us: f64,
    pub(crate) bare_us: f64,
    pub(crate) wall_s: f64,
    /// What the path took at its most, above what the engine takes after a short turn.
    pub(crate) memory_kb: u64,
    /// Sorted, in microseconds: of each answer, and of a bare sync of the disk next to it.
    pub(crate) answers_us: Vec<f64>,
    pub(crate) syncs_us: Vec<f64>,
}

/// By the name that it is started with.
pub(crate) fn run(name: &str, messages: usize) -> Figures {
    // As the daemon has it.
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match name {
            "long" | "paced" => streamed(name, messages).await,
            "slow" => slow_disk(messages).await,
            "asks" => asks_by_rule(messages).await,
            _ => asks_by_people(messages).await,
        }
    })
}

async fn streamed(name: &str, messages: usize) -> Figures {
    let world = World::open(Vec::new()).await;
    world.run("long 3").await;
    forget_peak("self");
    let (memory, begin, spent) = (status_kb("VmRSS"), Instant::now(), cpu());
    let task = world.run(&format!("{name} {messages}")).await;
    let path = cpu() - spent;
    let wall_s = begin.elapsed().as_secs_f64();
    let memory_kb = status_kb("VmHWM").saturating_sub(memory);
    whole(&world, &task, messages).await;
    world.close().await;
    let per_line = |spent: Duration| spent.as_secs_f64() * 1e6 / lines_of(messages) as f64;
    let bytes = turn(messages);
    let bare_us = per_line((0..3).map(|_| bare(&bytes)).min().unwrap());
    Figures { path_us: per_line(path), bare_us, wall_s, memory_kb, ..Figures::default() }
}

/// Everything that the fake Codex said is in the store.
async fn whole(world: &World, task: &TaskId, messages: usize) {
    let store = world.engine.store();
    let turns = store.turns(task).await.unwrap();
    let turn = &turns.first().unwrap().turn;
    let items = store.items_of_turn(task, turn, 0, usize::MAX).await.unwrap();
    let bodies: Vec<ItemBody> = items.into_iter().map(|stored| stored.item.body).collect();
    assert_eq!(bodies.len(), 2 * messages, "items were lost");
    for (number, pair) in bodies.chunks(2).enumerate() {
        let [ItemBody::AgentMessage(message), ItemBody::Command(command)] = pair else {
            panic!("not a message and a command: {pair:?}")
        };
        assert_eq!(message.text, text_of(number), "pieces were lost");
        assert_eq!(command.output, output());
    }
    let log = store.events(task, 0, usize::MAX).await.unwrap();
    for (number, logged) in log.iter().enumerate() {
        assert_eq!(logged.seq, number as u64 + 1, "a gap in the log");
        assert!(!matches!(logged.event, Event::Lost { .. }), "{:?}", logged.event);
    }
    assert_eq!(store.health().lost_events, 0);
}

/// A disk that takes a tenth of a second for each commit: another connection holds the database meanwhile.
async fn slow_disk(messages: usize) -> Figures {
    let world = World::open(Vec::new()).await;
    world.run("long 3").await;
    forget_peak("self");
    let (memory, begin) = (status_kb("VmRSS"), Instant::now());
    let database = world.database();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let connection = Connection::open(database).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        while is_done.recv_timeout(Duration::from_millis(5)).is_err() {
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            std::thread::sleep(Duration::from_millis(100));
            connection.execute_batch("ROLLBACK").unwrap();
        }
    });
    let task = world.run(&format!("long {messages}")).await;
    done.send(()).unwrap();
    holder.join().unwrap();
    let wall_s = begin.elapsed().as_secs_f64();
    let memory_kb = status_kb("VmHWM").saturating_sub(memory);
    whole(&world, &task, messages).await;
    world.close().await;
    Figures { wall_s, memory_kb, ..Figures::default() }
}

/// From the question of Codex to the answer at Codex, decided by a rule: asked, decided and written down in between.
async fn asks_by_rule(count: usize) -> Figures {
    let world = World::open(vec![rule()]).await;
    let mut syncs = syncs(&world, count);
    let task = world.start(&format!("asks {count}")).await;
    world.completed(&task).await;
    syncs.extend(self::syncs(&world, count));
    let asks = seen(&world);
    world.close().await;
    let answers = asks.iter().map(|[asked, answered]| (answered - asked) as f64 / 1e3);
    Figures { answers_us: sorted(answers), syncs_us: sorted(syncs), ..Figures::default() }
}

/// From the word of a person to the answer at Codex, written down in between.
async fn asks_by_people(count: usize) -> Figures {
    let world = World::open(Vec::new()).await;
    let mut changes = world.engine.watch_all();
    let task = world.start(&format!("asks {count}")).await;
    let mut given = Vec::new();
    let mut syncs = Vec::new();
    let mut file = File::create(world.scratch("bare")).unwrap();
    while given.len() < count {
        let asks = world.engine.store().undecided_asks_of(&task).await.unwrap();
        let Some(ask) = asks.first() else {
            drop(tokio::time::timeout(Duration::from_millis(50), changes.recv()).await);
            continue;
        };
        syncs.push(sync(&mut file));
        let by = DecidedBy::Person { name: "bench".to_owned(), surface: "bench".to_owned() };
        let answer = Answer { decision: Decision::Once, reason: None, remember: None, by };
        given.push(monotonic_ns());
        world.engine.answer(&ask.id, answer).await.unwrap();
    }
    world.completed(&task).await;
    let asks = seen(&world);
    world.close().await;
    let answers =
        asks.iter().zip(given).map(|([_, answered], given)| (answered - given) as f64 / 1e3);
    Figures { answers_us: sorted(answers), syncs_us: sorted(syncs), ..Figures::default() }
}

/// Bare syncs of the disk, right before and after what they are compared with: what else the machine does falls on both.
fn syncs(world: &World, count: usize) -> Vec<f64> {
    let mut file = File::create(world.scratch("bare")).unwrap();
    (0..count).map(|_| sync(&mut file)).collect()
}

/// As much as a small commit writes, and a sync.
fn sync(file: &mut File) -> f64 {
    let begin = Instant::now();
    file.write_all(&[7; 20_000]).unwrap();
    file.sync_data().unwrap();
    begin.elapsed().as_secs_f64() * 1e6
}

fn seen(world: &World) -> Vec<[u64; 2]> {
    let text = std::fs::read_to_string(world.codex_home().join(SEEN)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn sorted(samples: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    samples
}

fn status_kb(name: &str) -> u64 {
    crate::processes::status_kb("self", name)
}
