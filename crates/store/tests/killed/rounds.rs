//! SIGKILL in the middle of everything, fifty times.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ostler_store::{Batch, Committed, Store, StoreSettings};

use crate::samples::{event, new};

const ROUNDS: u32 = 50;
const TASKS: u32 = 4;

pub(crate) fn every_acknowledged_commit_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ostler.db");
    let mut acknowledged = BTreeMap::<String, BTreeMap<u64, i64>>::new();
    let mut kills_in_the_middle = 0;
    for round in 0..ROUNDS {
        let before = count(&acknowledged);
        play(path.to_str().unwrap(), round, &mut acknowledged);
        let grown = count(&acknowledged) - before;
        kills_in_the_middle += u32::from(grown > 0);
        check(&path, round, &acknowledged);
    }
    // A child that was killed before its first commit shows little.
    assert!(kills_in_the_middle > ROUNDS / 2, "{kills_in_the_middle}");
    println!("{} commits acknowledged in {ROUNDS} rounds, all there", count(&acknowledged));
}

fn count(acknowledged: &BTreeMap<String, BTreeMap<u64, i64>>) -> usize {
    acknowledged.values().map(BTreeMap::len).sum()
}

/// Lets a child commit for a while, kills it, and notes what it was told to be on disk.
fn play(path: &str, round: u32, acknowledged: &mut BTreeMap<String, BTreeMap<u64, i64>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["part:commit", path, &round.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "open");
    // From the very first write to some hundred commits later.
    let until = Instant::now() + Duration::from_millis(u64::from(round * 37 % 90));
    let mut note = |line: String| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap();
        let (task, seq, number) = (word().to_owned(), word(), word());
        acknowledged.entry(task).or_default().insert(seq.parse().unwrap(), number.parse().unwrap());
    };
    while Instant::now() < until
        && let Some(line) = lines.next()
    {
        note(line.unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts. A line that broke off was not said.
    for line in lines.map_while(Result::ok).filter(|line| line.ends_with('.')) {
        note(line);
    }
}

fn check(path: &std::path::Path, round: u32, acknowledged: &BTreeMap<String, BTreeMap<u64, i64>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(StoreSettings::at(path)).unwrap();
        for (task, known) in acknowledged {
            let log = store.events(&task.as_str().into(), 0, usize::MAX).await.unwrap();
            let seqs: Vec<_> = log.iter().map(|logged| logged.seq).collect();
            assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<_>>(), "round {round}");
            let found: BTreeMap<_, _> = log.iter().map(|logged| (logged.seq, logged.at)).collect();
            let lost: Vec<_> =
                known.iter().filter(|(seq, number)| found.get(seq) != Some(number)).collect();
            assert!(lost.is_empty(), "round {round}, {task}: {lost:?}");
        }
        store.close().await;
    });
}

/// Commits from several sides at once, among appends, and says each commit that was acknowledged.
pub(crate) fn commit_until_killed(path: &str, round: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(StoreSettings::at(path)).unwrap();
        say("open");
        let sides: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(commit(store.clone(), format!("t{task}"), round)))
            .collect();
        for side in sides {
            side.await.unwrap();
        }
    });
}

async fn commit(store: Store, task: String, round: u32) {
    // It is there from the second round on.
    store.commit(Batch(vec![new(&task)])).await.ok();
    for step in 0_u32.. {
        let number = i64::from(round) * 1_000_000 + i64::from(step);
        if step % 3 == 0 {
            store.append(Batch(vec![event(&task, number, 100)])).await.unwrap();
            continue;
        }
        let committed = store.commit(Batch(vec![event(&task, number, 100)])).await.unwrap();
        let Committed::Written(seqs) = committed else { panic!("{committed:?}") };
        let [seqs] = seqs.as_slice() else { panic!("{seqs:?}") };
        say(&format!("{task} {} {number} .", seqs.last));
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}
