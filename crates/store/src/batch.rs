//! What is written: effects as data. A batch is written whole or not at all.

use ostler_model::item::ItemEnd;
use ostler_model::task::{AskClosed, AskRecord, AskState, DecisionRecord, Intent, Partial};
use ostler_model::{
    AskId, AuditEntry, DeliveryId, Event, Item, ItemId, Message, Notification, RuleId, Task,
    TaskId, TurnId, TurnResult,
};
use serde::{Deserialize, Serialize};

/// Writes that belong together, done in this order.
#[derive(Debug, Clone, Default)]
pub struct Batch(pub Vec<Write>);

#[derive(Debug, Clone)]
pub enum Write {
    /// A task that is not there yet. If its key is known, nothing of the batch is written.
    NewTask {
        task: Box<Task>,
        key: Option<StartKey>,
    },
    /// All of a task anew, but for `last_seq`, which the store knows itself.
    Task(Box<Task>),
    /// The next record of the log. The store gives it its seq.
    Event {
        task: TaskId,
        at: i64,
        event: Box<Event>,
    },
    /// New or anew, by its id.
    Intent(Box<Intent>),
    /// New or anew, by its id.
    Ask(Box<AskRecord>),
    /// The first answer wins: if the ask takes no decision any more, nothing of the batch is written.
    Decide {
        ask: AskId,
        decision: Box<DecisionRecord>,
        then: AskState,
    },
    /// A new question of a host agent. If its owner has used the key before, nothing of the batch is written.
    HostAsk(Box<HostAskRow>),
    /// The first answer wins: if the ask takes no decision any more, nothing of the batch is written.
    DecideHost {
        ask: AskId,
        decision: Box<DecisionRecord>,
    },
    /// If it is decided or closed already, nothing of the batch is written.
    CloseHost {
        ask: AskId,
        how: AskClosed,
    },
    /// An agent tried to decide. Of one ask a few are kept.
    HostAttempt {
        ask: AskId,
        attempt: Attempt,
    },
    /// New or anew, by its task and turn.
    Turn(TurnRow),
    /// New or anew, by its task, turn and the item's id.
    Item {
        task: TaskId,
        turn: TurnId,
        number: u32,
        item: Box<Item>,
        how: ItemEnd,
    },
    /// A part of the messages of a turn anew; the parts behind it are gone. A long turn is never in memory as a whole.
    Messages {
        task: TaskId,
        turn: TurnId,
        /// From 0.
        part: u32,
        messages: Vec<Message>,
    },
    /// Its text is added to what is there of the item.
    Partial {
        task: TaskId,
        partial: Partial,
    },
    /// The item has ended.
    PartialsGone {
        task: TaskId,
        turn: TurnId,
        item: ItemId,
    },
    /// The turn has ended.
    TurnPartialsGone {
        task: TaskId,
        turn: TurnId,
    },
    Rule(RuleRow),
    RuleGone(RuleId),
    RuleUsed {
        rule: RuleId,
        ask: AskId,
        task: TaskId,
        at: i64,
    },
    AppServer(AppServerRow),
    AppServerGone {
        keeper: String,
    },
    /// The Codex version that a home stays with.
    HomePin {
        codex_home: String,
        version: String,
    },
    /// A new key by which somebody is let in.
    Key(KeyRow),
    /// The same key anew, if it still counts: what was removed does not come back.
    KeyUsed(KeyRow),
    KeyGone {
        id: String,
    },
    /// Somebody is to be told. If it is there already by its id, that one counts.
    Notification(Box<Notification>),
    /// As it stands after an attempt. What is gone or settled meanwhile stays as it is.
    NotificationTried(Box<Notification>),
    /// Somebody wants it sent again. One that is about to be sent stays as it is.
    ReplayNotification {
        id: DeliveryId,
        /// Unix milliseconds.
        at: i64,
    },
    /// Somebody has looked at all up to this place, or at those of one task.
    NotificationsRead {
        up_to: i64,
        task: Option<TaskId>,
    },
    /// Whoever started the task was told of this end. Of another's task, or if it went on meanwhile, nothing is written.
    EndTold {
        task: TaskId,
        started_by: String,
        ended_at: i64,
    },
    /// A new entry of the audit log. The decision of an ask writes its own.
    Audit(Box<AuditEntry>),
    /// Somebody has looked at the audit log up to this place.
    AuditSeen {
        up_to: i64,
    },
    /// The task and all that belongs to it.
    RemoveTask(TaskId),
}

/// By which a start that comes twice is known. It is the key of whoever starts: others may use the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    pub key: String,
    /// Of all that was asked for.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    pub task: TaskId,
    pub turn: TurnId,
    /// Its place among the turns of the task.
    pub number: u32,
    /// Unix milliseconds.
    pub began_at: i64,
    /// None while it runs.
    pub result: Option<Box<TurnResult>>,
}

/// A question of a host agent's own tool. `ask.task` is its owner, which is no task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostAskRow {
    pub ask: AskRecord,
    /// By which its owner knows it.
    pub key: String,
    pub cwd: String,
    /// Who opened it.
    pub by: String,
    /// Agents that tried to decide it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

/// An agent tried to decide, and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub who: String,
    pub why: String,
    /// Unix milliseconds.
    pub at: i64,
}

/// A rule of the policy. What it says is the policy's own matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRow {
    pub id: RuleId,
    pub json: String,
    /// Unix milliseconds.
    pub expires_at: Option<i64>,
}

/// A token or a login. What it is good for is the server's own matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    pub id: String,
    /// Of the secret, which is not kept.
    pub digest: String,
    pub json: String,
}

/// An app-server that we started, so that it is found again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppServerRow {
    pub keeper: String,
    pub version: String,
    pub codex_home: String,
    /// Tasks with the same key may share it.
    pub pool_key: String,
    /// Unix milliseconds.
    pub started_at: i64,
    /// The only task that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated_for: Option<TaskId>,
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Committed {
    /// All of it is on disk. One entry for each task that got events.
    Written(Vec<Seqs>),
    /// The key started this task before, with the same wishes. Nothing was written.
    Known(TaskId),
    /// Somebody was first, or the ask is closed: this is how it stands. Nothing was written.
    Lost(Box<AskRecord>),
}

/// The seqs that the events of one batch got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seqs {
    pub task: TaskId,
    pub first: u64,
    pub last: u64,
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, write: Write) -> &mut Self {
        self.0.push(write);
        self
    }

    pub fn event(&mut self, task: &TaskId, at: i64, event: Event) -> &mut Self {
        self.push(Write::Event { task: task.clone(), at, event: Box::new(event) })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Write>> for Batch {
    fn from(writes: Vec<Write>) -> Self {
        Self(writes)
    }
}

impl From<Write> for Batch {
    fn from(write: Write) -> Self {
        Self(vec![write])
    }
}
