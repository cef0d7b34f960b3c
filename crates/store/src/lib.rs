//! What we remember: tasks, their logs, asks, intents, who is told what, rules, app-servers. SQL stops here.
//!
//! One thread writes and shares each sync of the disk among all who wait for it; a few threads read beside it and are never held
//! up. This room never decides anything and has no clock: what is written, when it happened and who may write comes in as data.
//!
//! Conversations of the host agent are in a database of their own ([`Conversations`]), which several processes write at once.
//!
//! Start reading at [`Write`] for what can be written, at [`Store`] for how, at `migrations/0001.sql` for where it goes.

mod batch;
mod check;
pub mod conversations;
mod error;
mod job;
mod open;
mod queries;
mod read;
mod readers;
mod schema;
mod secrets;
mod store;
mod survey;
mod sweep;
mod write;
mod writer;

pub use batch::{
    AppServerRow, Attempt, Batch, Committed, HostAskRow, KeyRow, RuleRow, Seqs, StartKey, TurnRow,
    Write,
};
pub use check::{Sound, quick_check, quick_check_conversations};
pub use conversations::Conversations;
pub use error::StoreError;
pub use open::StoreSettings;
pub use read::{
    AuditCount, AuditFilter, AuditPage, Counts, Cursor, LogPage, LoggedEvent, NotACursor,
    NotificationFilter, NotificationPage, Page, PlacedAudit, PlacedEvent, PlacedPage, Queued,
    RuleUse, Sizes, StoredItem, TableSize, TaskFilter, TurnMessages,
};
pub use store::{Health, Store};
pub use survey::{Survey, has_log, survey};
pub use sweep::{Retention, SweepReport};
