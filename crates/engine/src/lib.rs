//! Who decides: commands in, facts out. Tasks run here, and nothing of them is lost when anything is killed.
//!
//! This room knows no HTTP, no SQL, no terminal, and reads neither the environment nor the home folder. Codex's words come
//! translated by the codex room; what is remembered goes to the store.
//!
//! Start reading at [`Engine`] for what doors may ask, then `dispatcher` (which task is loaded, which may run), `runner` (one
//! task at work), `pool` (the app-servers they share). The rules of a task are [`ostler_model::task::machine`].

mod approver;
mod dispatcher;
mod engine;
mod hub;
mod line;
mod pool;
mod refusal;
mod runner;
mod shared;
mod start;
mod translate;
mod worktree;

pub use approver::{Approver, kind_name};
pub use engine::{
    Answer, AppServerShown, DiffFrom, DiffOf, Engine, EngineSettings, EngineTask, Started,
    TaskDiff, fork_of, fresh_task_id,
};
pub use hub::{Changed, News};
pub use ostler_store::{
    Cursor, LoggedEvent, Retention, Store, StoreError, StoreSettings, SweepReport, TaskFilter,
};
pub use pool::{Binaries, PoolSettings, PoolWaits};
pub use refusal::{Problem, Refusal};
pub use runner::{AnswerError, Reach, Remembering};
pub use start::{Allowed, StartTask};
pub use worktree::{Force, Merged, Work, WorktreeError, WorktreeSettings, WorktreeShown};
