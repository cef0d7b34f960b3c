//! What every runner works with.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use ostler_model::RuleId;
use ostler_model::policy::{Rule, RuleSet};
use ostler_store::Store;
use tokio::sync::mpsc;

use crate::approver::Approver;
use crate::dispatcher::FromRunner;
use crate::hub::Hub;
use crate::pool::Pool;

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) pool: Arc<Pool>,
    pub(crate) hub: Hub,
    pub(crate) rules: RwLock<Arc<RuleSet>>,
    pub(crate) approver: Option<Approver>,
    /// How long a thread stays open with nothing to do.
    pub(crate) idle_thread: Duration,
    pub(crate) dispatcher: mpsc::Sender<FromRunner>,
}

impl Shared {
    pub(crate) fn rules(&self) -> Arc<RuleSet> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn add_rule(&self, rule: Rule) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        *rules = Arc::new(rules.with(rule));
    }

    pub(crate) fn remove_rule(&self, rule: &RuleId) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        *rules = Arc::new(rules.without(rule));
    }
}

/// Unix milliseconds.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
