//! Stand-ins for the daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ostler_model::decision::Decision;
use ostler_model::task::{AskRecord, AskState, DecidedBy, DecisionRecord};
use ostler_model::{Ask, AskId, TaskId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Activity;
use crate::ports::{Asks, PortError};
use crate::tool::CallContext;

#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Decided(Decision, Option<String>),
    /// The ask was decided before it was opened.
    Before(Decision),
    Unreachable,
    Never,
}

impl Answer {
    pub(crate) fn of(decision: Decision) -> Self {
        Self::Decided(decision, None)
    }

    pub(crate) fn denied(reason: &str) -> Self {
        Self::Decided(Decision::Deny, Some(reason.to_owned()))
    }
}

#[derive(Debug, Default)]
struct Seen {
    keys: Vec<String>,
    asks: Vec<Ask>,
    shown: Vec<Activity>,
    withdrawn: usize,
}

#[derive(Debug)]
pub(crate) struct FakeAsks {
    answer: Answer,
    seen: Mutex<Seen>,
    asked: Notify,
}

impl FakeAsks {
    pub(crate) fn answering(answer: Answer) -> Arc<Self> {
        Arc::new(Self { answer, seen: Mutex::default(), asked: Notify::new() })
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.seen.lock().unwrap().keys.clone()
    }

    pub(crate) fn asks(&self) -> Vec<Ask> {
        self.seen.lock().unwrap().asks.clone()
    }

    pub(crate) fn shown(&self) -> Vec<Activity> {
        self.seen.lock().unwrap().shown.clone()
    }

    pub(crate) fn withdrawn(&self) -> usize {
        self.seen.lock().unwrap().withdrawn
    }

    pub(crate) async fn is_asked(&self) {
        self.asked.notified().await;
    }
}

fn decided(decision: Decision, reason: Option<String>) -> DecisionRecord {
    let by = DecidedBy::Person { name: "ada".into(), surface: "test".into() };
    DecisionRecord { decision, by, reason, at: 0 }
}

impl Asks for FakeAsks {
    fn open<'a>(
        &'a self,
        _conversation: &'a str,
        key: &'a str,
        _cwd: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        let mut seen = self.seen.lock().unwrap();
        seen.keys.push(key.to_owned());
        seen.asks.push(ask.clone());
        let decision = match &self.answer {
            Answer::Before(decision) => Some(decided(decision.clone(), None)),
            _ => None,
        };
        let record = AskRecord {
            id: AskId::new("ask"),
            task: TaskId::new("task"),
            agent: None,
            source: None,
            content: ask,
            digest: String::new(),
            opened_at: 0,
            state: AskState::Open,
            decision,
            closed: None,
        };
        let result = match self.answer {
            Answer::Unreachable => Err(PortError::Unreachable("no socket".into())),
            _ => Ok(record),
        };
        Box::pin(async move { result })
    }

    fn decision<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        self.asked.notify_one();
        let answer = match &self.answer {
            Answer::Decided(decision, reason) => Some(decided(decision.clone(), reason.clone())),
            _ => None,
        };
        Box::pin(async move {
            match answer {
                Some(answer) => Ok(answer),
                None => std::future::pending().await,
            }
        })
    }

    fn withdraw<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, ()> {
        self.seen.lock().unwrap().withdrawn += 1;
        Box::pin(async {})
    }

    fn show(&self, activity: Activity) {
        self.seen.lock().unwrap().shown.push(activity);
    }
}

pub(crate) fn context(asks: &Arc<FakeAsks>, cwd: impl Into<PathBuf>) -> CallContext {
    CallContext {
        conversation: "conversation".into(),
        call: "call".into(),
        cwd: cwd.into(),
        asks: asks.clone(),
        stop: CancellationToken::new(),
    }
}
