//! What is measured, and what it may take.

use std::process::Command;

use crate::daemon;
use crate::listed;
use crate::round::Figures;
use crate::turn::lines_of;
use crate::viewers;

/// The standard turn.
const MESSAGES: usize = 1000;
const ROUNDS: usize = 5;
const ASKS: usize = 200;

/// What may be more than the budget before the benchmark fails: other programs run on the same machine, and one that is
/// loaded was seen to be slower by this much.
const NOISE: f64 = 1.4;

/// Whether a figure is within its budget, said in one line.
pub(crate) struct Budget {
    pub(crate) what: &'static str,
    pub(crate) figure: f64,
    pub(crate) most: f64,
    pub(crate) unit: &'static str,
    pub(crate) note: String,
}

impl Budget {
    /// True if it is missed by more than noise explains.
    pub(crate) fn tell(&self) -> bool {
        let Self { what, figure, most, unit, note } = self;
        let verdict = if figure <= most { "ok    " } else { "MISSED" };
        println!("{verdict} {what}: {figure:.2} {unit} of {most} ({note})");
        *figure > most * NOISE
    }
}

/// True if anything was clearly missed.
pub(crate) fn all() -> bool {
    of(&[
        long_turn,
        slow_disk,
        real_pace,
        answers,
        daemon::queued,
        listed::few_and_many,
        viewers::many,
    ])
}

/// The same of some parts.
pub(crate) fn of(parts: &[fn() -> Vec<Budget>]) -> bool {
    let mut missed = false;
    for part in parts {
        for budget in part() {
            missed |= budget.tell();
        }
    }
    missed
}

/// A round in a process of its own.
fn round(name: &str, messages: usize) -> Figures {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let done = command.args(["round", name, &messages.to_string()]).output().unwrap();
    let (said, failed) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{name} {messages}: {failed}");
    serde_json::from_str(said.lines().last().unwrap()).unwrap()
}

pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Nothing of it is lost: each round compares what is stored with what was said.
fn long_turn() -> Vec<Budget> {
    let rounds: Vec<Figures> = (0..ROUNDS).map(|_| round("long", MESSAGES)).collect();
    for Figures { path_us, bare_us, wall_s, memory_kb, .. } in &rounds {
        println!(
            "{} lines to the disk: {path_us:.2} µs CPU per line, bare parse {bare_us:.2}, {wall_s:.2} s, {:.1} MB",
            lines_of(MESSAGES),
            megabytes(*memory_kb)
        );
    }
    let longer = round("long", 3 * MESSAGES);
    let path_us = median(rounds.iter().map(|round| round.path_us).collect());
    let ratio = median(rounds.iter().map(|round| round.path_us / round.bare_us).collect());
    let memory = median(rounds.iter().map(|round| megabytes(round.memory_kb)).collect());
    vec![
        Budget {
            what: "a long turn, all of it on disk, beside the bare parse",
            figure: ratio,
            most: 2.0,
            unit: "×",
            note: format!("{path_us:.2} µs CPU per line; every item and piece found in the store"),
        },
        Budget {
            what: "memory of the path, at its most",
            figure: memory,
            most: 16.0,
            unit: "MB",
            note: format!("{} lines", lines_of(MESSAGES)),
        },
        Budget {
            what: "memory of the path in a turn three times as long",
            figure: megabytes(longer.memory_kb),
            most: 16.0,
            unit: "MB",
            note: format!(
                "{} lines, {:.2} µs CPU per line",
                lines_of(3 * MESSAGES),
                longer.path_us
            ),
        },
    ]
}

fn slow_disk() -> Vec<Budget> {
    let slow = round("slow", MESSAGES);
    vec![Budget {
        what: "memory while each commit takes a tenth of a second",
        figure: megabytes(slow.memory_kb),
        most: 16.0,
        unit: "MB",
        note: format!("{:.1} s; every item and piece found in the store", slow.wall_s),
    }]
}

fn real_pace() -> Vec<Budget> {
    let rounds: Vec<Figures> = (0..3).map(|_| round("paced", 300)).collect();
    let rate = lines_of(300) as f64 / rounds[0].wall_s;
    vec![Budget {
        what: "at 10,000 lines a second, each written by itself",
        figure: median(rounds.iter().map(|round| round.path_us).collect()),
        most: 12.0,
        unit: "µs CPU per line",
        note: format!("{rate:.0} lines a second were taken"),
    }]
}

/// One sync of the disk is what an answer may wait for, and half a millisecond more.
fn answers() -> Vec<Budget> {
    let budget = |what, figures: &Figures| {
        let (answer, sync) = (median(figures.answers_us.clone()), median(figures.syncs_us.clone()));
        let worst = figures.answers_us.last().unwrap();
        Budget {
            what,
            figure: answer / 1e3,
            most: (sync + 500.0) / 1e3,
            unit: "ms",
            note: format!(
                "a bare sync {:.2} ms, the slowest answer {:.1} ms",
                sync / 1e3,
                worst / 1e3
            ),
        }
    };
    vec![
        budget("from a question to its answer, decided by a rule", &round("asks", ASKS)),
        budget("from a person's word to the answer at Codex", &round("people", ASKS)),
    ]
}
