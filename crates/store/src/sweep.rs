//! Retention: what is removed when, in pieces small enough that nobody waits for them.
//!
//! Only tasks that are over are touched, oldest first, and each goes whole.

mod remove;

pub(crate) use remove::{SQL, clear_leftovers, has_leftovers, step};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use ostler_model::{TaskId, TaskState};

/// What is kept of tasks that are over. A part without a number keeps all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// How long after its end a task is kept, and how long uses of rules, decided questions of host
    /// agents, what people were told and the audit log are.
    pub age_ms: Option<i64>,
    /// How large the database may be, without what is free in it.
    pub size_bytes: Option<u64>,
    /// How many tasks of a state are kept.
    pub tasks: BTreeMap<TaskState, u64>,
}

impl Default for Retention {
    /// A quarter of a year, four gigabytes (about a thousand long turns, or a hundred thousand short tasks), and what the
    /// benchmarks show to be as fast as a hundred tasks.
    fn default() -> Self {
        let over = TaskState::ALL.into_iter().filter(|state| state.is_over());
        Self {
            age_ms: Some(90 * 24 * 3600 * 1000),
            size_bytes: Some(4 << 30),
            tasks: over.map(|state| (state, 100_000)).collect(),
        }
    }
}

impl Retention {
    /// Everything is kept.
    pub fn none() -> Self {
        Self { age_ms: None, size_bytes: None, tasks: BTreeMap::new() }
    }
}

/// What a sweep has removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepReport {
    /// Older than is kept.
    pub too_old: Vec<TaskId>,
    /// More than are kept.
    pub too_many: Vec<TaskId>,
    /// The database was too large.
    pub too_large: Vec<TaskId>,
    pub rule_uses: u64,
    /// Questions of host agents that are decided.
    #[serde(default)]
    pub host_asks: u64,
    /// What people were told, and that is settled.
    #[serde(default)]
    pub notifications: u64,
    /// Entries of the audit log.
    #[serde(default)]
    pub audit: u64,
    /// What was in use before and is now.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// The next piece of a sweep.
pub(crate) struct Step {
    now: i64,
    retention: Retention,
    phase: Phase,
}

enum Phase {
    Age,
    Count,
    Uses,
    Size,
    /// Free pages are given back to the disk.
    Shrink,
}

/// What came of a piece.
#[derive(Default)]
pub(crate) struct Stepped {
    pub(crate) next: Option<Step>,
    pub(crate) cleared_a_secret: bool,
    report: SweepReport,
}

impl Step {
    pub(crate) fn new(now: i64, retention: Retention) -> Self {
        Self { now, retention, phase: Phase::Age }
    }
}

impl SweepReport {
    pub(crate) fn add(&mut self, stepped: &Stepped) {
        let SweepReport {
            too_old,
            too_many,
            too_large,
            rule_uses,
            host_asks,
            notifications,
            audit,
            ..
        } = &stepped.report;
        if self.bytes_before == 0 {
            self.bytes_before = stepped.report.bytes_before;
        }
        self.too_old.extend_from_slice(too_old);
        self.too_many.extend_from_slice(too_many);
        self.too_large.extend_from_slice(too_large);
        self.rule_uses += rule_uses;
        self.host_asks += host_asks;
        self.notifications += notifications;
        self.audit += audit;
        self.bytes_after = stepped.report.bytes_after;
    }

    /// Nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.too_old.is_empty()
            && self.too_many.is_empty()
            && self.too_large.is_empty()
            && self.rule_uses == 0
            && self.host_asks == 0
            && self.notifications == 0
            && self.audit == 0
    }
}
