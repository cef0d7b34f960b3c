//! What every runner works with.

#[cfg(test)]
pub(crate) mod sample;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use ostler_codex::folder_trust::TrustFile;
use ostler_codex::own_server::OwnServer;
use ostler_model::RuleId;
use ostler_model::policy::{Rule, RuleSet};
use ostler_store::Store;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::approver::Approver;
use crate::dispatcher::FromRunner;
use crate::hub::Hub;
use crate::notify::NotifySettings;
use crate::on_disk::OnDisk;
use crate::places::Writers;
use crate::pool::Pool;
use crate::start::Allowed;
use crate::tool_calls::ToolCalls;

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) pool: Arc<Pool>,
    pub(crate) hub: Hub,
    pub(crate) tool_calls: Arc<ToolCalls>,
    pub(crate) on_disk: OnDisk,
    pub(crate) writers: Writers,
    pub(crate) rules: RwLock<Arc<RuleSet>>,
    pub(crate) live: RwLock<Arc<Live>>,
    pub(crate) dispatcher: mpsc::Sender<FromRunner>,
    /// Something that is to be told is on disk.
    pub(crate) mail: Notify,
}

/// What can change while tasks run.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) approver: Option<Approver>,
    pub(crate) own_server: Option<OwnServer>,
    pub(crate) written_server: fn(&Path) -> Option<String>,
    pub(crate) trust: Option<TrustFile>,
    /// How long a thread stays open with nothing to do.
    pub(crate) idle_thread: Duration,
    pub(crate) allowed: Allowed,
    /// Tasks that wait; more are refused.
    pub(crate) queued: usize,
    pub(crate) notify: NotifySettings,
    /// Of the operator's file.
    pub(crate) rules: HashSet<RuleId>,
}

impl Shared {
    pub(crate) fn live(&self) -> Arc<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rules of the file are replaced; those that people made stay.
    pub(crate) fn apply(&self, live: Live, mut file: Vec<Rule>) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let before = self.live();
        file.extend(rules.iter().filter(|rule| !before.rules.contains(&rule.id)).cloned());
        *rules = Arc::new(RuleSet::new(file));
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
    }

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

/// The longest wait for a time of day without a look whether it has come.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// When to look whether this time has come, in unix milliseconds. The clock that we wait by stands while the machine is
/// suspended, and people set the other one.
pub(crate) fn instant_of(at: i64) -> Instant {
    let wait = Duration::from_millis(u64::try_from(at.saturating_sub(now())).unwrap_or(0));
    Instant::now() + wait.min(LOOK_AGAIN)
}

/// Unix milliseconds.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
