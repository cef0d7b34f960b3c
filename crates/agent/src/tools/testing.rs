//! What a call needs around it, for tests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ostler_model::task::{AskRecord, AskState, DecidedBy, DecisionRecord};
use ostler_model::{Ask, AskId, Decision};
use tokio_util::sync::CancellationToken;

use crate::Activity;
use crate::ports::{Asks, PortError};
use crate::tool::CallContext;

/// A person who always says the same, or never anything.
pub(crate) struct Person {
    pub(crate) says: Option<Decision>,
    pub(crate) asked: Mutex<Vec<Ask>>,
    pub(crate) withdrawn: Mutex<Vec<AskId>>,
}

impl Person {
    pub(crate) fn who_says(says: Option<Decision>) -> Arc<Self> {
        Arc::new(Self { says, asked: Mutex::default(), withdrawn: Mutex::default() })
    }
}

impl Asks for Person {
    fn open<'a>(
        &'a self,
        _: &'a str,
        key: &'a str,
        _: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        self.asked.lock().unwrap().push(ask.clone());
        let record = AskRecord {
            id: key.into(),
            task: "t".into(),
            agent: None,
            source: None,
            content: ask,
            digest: String::new(),
            opened_at: 0,
            state: AskState::Open,
            decision: None,
            closed: None,
        };
        Box::pin(async { Ok(record) })
    }

    fn decision<'a>(&'a self, _: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        Box::pin(async {
            match self.says.clone() {
                Some(decision) => {
                    let by = DecidedBy::Nobody;
                    Ok(DecisionRecord { decision, by, reason: None, at: 0 })
                }
                None => std::future::pending().await,
            }
        })
    }

    fn withdraw<'a>(&'a self, ask: &'a AskId) -> BoxFuture<'a, ()> {
        self.withdrawn.lock().unwrap().push(ask.clone());
        Box::pin(async {})
    }

    fn show(&self, _: Activity) {}
}

pub(crate) fn context(person: Arc<Person>) -> CallContext {
    CallContext {
        conversation: "c1".to_owned(),
        call: "call-1".to_owned(),
        cwd: PathBuf::from("/work"),
        asks: person,
        stop: CancellationToken::new(),
    }
}
