//! What we remember: tasks, their logs, asks, intents, rules, app-servers. SQL stops here.
//!
//! One thread writes and shares each sync of the disk among all who wait for it; a few threads read beside it and are never held
//! up. This room never decides anything and has no clock: what is written, when it happened and who may write comes in as data.
//!
//! Start reading at [`Write`] for what can be written, at [`Store`] for how, at `migrations/0001.sql` for where it goes.

mod batch;
mod check;
mod error;
mod job;
mod open;
mod queries;
mod read;
mod readers;
mod schema;
mod secrets;
mod store;
mod sweep;
mod write;
mod writer;

pub use batch::{AppServerRow, Batch, Committed, RuleRow, Seqs, StartKey, TurnRow, Write};
pub use check::quick_check;
pub use error::StoreError;
pub use open::StoreSettings;
pub use read::{
    Counts, Cursor, LoggedEvent, NotACursor, Page, Queued, RuleUse, Sizes, StoredItem, TableSize,
    TaskFilter, TurnMessages, WireChunk,
};
pub use store::{Health, Store};
pub use sweep::{Retention, SweepReport};
