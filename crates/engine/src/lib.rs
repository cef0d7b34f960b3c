//! Who decides: commands in, facts out. Tasks run here, and nothing of them is lost when anything is killed.
//!
//! This room knows no HTTP, no SQL, no terminal, and reads neither the environment nor the home folder. Codex's words come
//! translated by the codex room; what is remembered goes to the store.
//!
//! Start reading at [`Engine`] for what doors may ask, then `dispatcher` (which task is loaded, which may run), `runner` (one
//! task at work), `pool` (the app-servers they share), `notify` (who is told). The rules of a task are [`ostler_model::task::machine`].
//!
//! | module | duty |
//! |---|---|
//! | `engine` | the handle: what doors may ask; all of it is on disk when a call returns |
//! | `dispatcher`, `line` | which task is loaded, which may run, and the order between callers |
//! | `runner` | one loaded task: collects what happened, writes it, performs the effects |
//! | `pool` | app-servers that tasks share; adopts those that an earlier daemon left |
//! | `approver`, `program`, `verdict` | who decides an ask: rules, the operator's program, people |
//! | `notify` | notification targets and the outbox |
//! | `hub` | live viewers of a task |
//! | `tool_calls` | calls of tools that the owner of a task runs (decision 0017) |
//! | `audit` | the audit log and its limit against floods |
//! | `messages` | a task as chat messages |
//! | `worktree`, `on_disk` | a git worktree per task; what changed on disk in each turn |

mod approver;
mod audit;
mod dispatcher;
mod engine;
mod host_asks;
mod hub;
mod line;
mod messages;
mod notify;
mod on_disk;
mod places;
mod pool;
mod program;
mod refusal;
mod runner;
mod shared;
mod start;
mod tool_calls;
mod translate;
mod verdict;
mod worktree;

pub use approver::{Approver, kind_name};
pub use audit::{AuditLog, AuditOrigin};
pub use engine::{
    AccountLimits, Answer, AppServerShown, DiffFrom, DiffOf, EffortShown, Engine, EngineSettings,
    EngineTask, LimitWindow, ModelShown, Started, TaskDiff, fork_of, fresh_task_id,
};
pub use host_asks::HostAsk;
pub use hub::{Changed, News};
pub use notify::{Courier, NotifySettings, Preview, Sending, Target, Via, payload};
pub use ostler_codex::driver::{Listener, Overheard};
pub use ostler_codex::own_server::OwnServer;
pub use ostler_store::{
    AuditCount, AuditFilter, AuditPage, Cursor, HostAskRow, KeyRow, LoggedEvent,
    NotificationFilter, NotificationPage, Page, PlacedAudit, PlacedEvent, Retention, Seqs, Sound,
    Store, StoreError, StoreSettings, Survey, SweepReport, TaskFilter, Write, has_log, quick_check,
    quick_check_conversations, survey,
};
pub use pool::{Binaries, PoolSettings, PoolWaits, StoredSecrets};
pub use refusal::{Problem, Refusal};
pub use runner::{AnswerError, Reach, Remembering};
pub use start::{Allowed, Homes, OwnConfig, StartTask};
pub use tool_calls::{PATIENCE as TOOL_CALL_PATIENCE, ToolCallError};
pub use worktree::{
    Force, Merged, TidiedWorktree, Work, WorktreeError, WorktreeSettings, WorktreeShown,
    noted_worktrees, tidy_worktrees,
};
