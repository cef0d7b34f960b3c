//! What is true: the ids, asks and decisions that every other room speaks of.
//!
//! This room knows no clock, no I/O, no randomness and no wire: time and ids come in as data, and none of Codex's JSON
//! words appear here. The `codex` room translates between them and these types.
//!
//! Start reading at [`task`] for what outlives every process, at [`thread`] for the rules of driving Codex, at [`ask`] for
//! what a person is asked, at [`decision`] for what they may answer, at [`policy`] for what is decided without them, at
//! [`notification`] for who is told what.

pub mod addresses;
pub mod ask;
pub mod audit;
pub mod auto_review;
pub mod command_line;
pub mod decision;
mod digest;
pub mod failure;
pub mod form;
pub mod goal;
pub mod id;
pub mod input;
pub mod item;
pub mod message;
pub mod moment;
pub mod notification;
pub mod patience;
pub mod plan;
pub mod policy;
pub mod task;
pub mod thread;
pub mod token;
pub mod turn;
pub mod usage;

pub use ask::{Ask, AskKind};
pub use audit::{AuditEntry, AuditKind};
pub use auto_review::AutoReview;
pub use command_line::CommandLine;
pub use decision::Decision;
pub use failure::{Failure, FailureClass};
pub use goal::{Goal, GoalChange, GoalStatus};
pub use id::{
    AskId, DeliveryId, Id, InputId, IntentId, ItemId, QuestionId, RuleId, TaskId, ThreadId, TurnId,
};
pub use input::Input;
pub use item::{Item, ItemBody};
pub use message::Message;
pub use moment::Moment;
pub use notification::Notification;
pub use policy::{Rule, RuleSet, Verdict};
pub use task::{Event, Task, TaskSettings, TaskState};
pub use turn::{Interrupter, TurnEnd, TurnResult};
