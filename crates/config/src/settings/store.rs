//! `[store]` and `[retention]`: where tasks are remembered, and for how long, conversations too.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::{DAY, GIBIBYTE, HOUR, MEBIBYTE, Size, days};

section! {
    /// Where tasks are remembered.
    Store = "store", at;

    /// The database. It must be on a disk of this machine: SQLite's locks do not hold on network drives.
    path: PathBuf = at.state.join("ostler.db");
}

section! {
    /// How long tasks that have ended and conversations of `ostler chat` are remembered. Tasks that have not ended are never
    /// removed, and neither is a worktree with changes, nor a conversation that is open or whose last turn has no end. What is
    /// removed is reported.
    Retention = "retention", _at;

    /// How long after its end a task is kept.
    age: Option<Duration> = Some(days(90)), HOUR..=36_500 * DAY;
    /// The size of the database. Beyond it the tasks that ended first are removed first.
    size: Option<Size> = Some(Size::from_bytes(10 * GIBIBYTE)), 64 * MEBIBYTE..=65_536 * GIBIBYTE;
    /// The completed tasks that are kept.
    completed: Option<u32> = Some(100_000), 0..=100_000_000;
    /// The failed tasks that are kept.
    failed: Option<u32> = Some(100_000), 0..=100_000_000;
    /// The cancelled tasks that are kept.
    cancelled: Option<u32> = Some(10_000), 0..=100_000_000;
    /// How long after its last message a conversation is kept. Chats see to it when they begin.
    conversation_age: Option<Duration> = Some(days(365)), HOUR..=36_500 * DAY;
}
