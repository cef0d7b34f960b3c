//! Telling people and programs what became of tasks: where targets are, who carries what, and the loop that sends.
//!
//! What is told is written down by whoever writes down its cause. This room sends it, and knows no HTTP: whoever builds the
//! engine brings a [`Courier`] for all that goes over a network.

mod outbox;
mod payload;

pub(crate) use outbox::Outbox;
pub use payload::payload;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_model::Notification;
use ostler_model::notification::{Kind, LOCAL, Outcome, Persistence, is_address};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::Problem;

/// Most answer within a second; some wake a machine up first.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Carries what goes over a network. It is given up when it takes too long: nothing of it may go on then.
pub trait Courier: fmt::Debug + Send + Sync {
    /// One attempt. What it says of it never has a secret in it.
    fn carry(&self, notification: Notification) -> BoxFuture<'static, Outcome>;

    /// What would be sent, and where to, without secrets.
    fn preview(&self, notification: &Notification) -> Result<Sending, String>;

    /// Whether an address that a task brings can be one at all; otherwise what is wrong with it.
    fn check(&self, address: &str) -> Result<(), String>;
}

/// What would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    /// Without what is secret of it.
    pub to: String,
    pub body: Value,
}

/// What a task would tell a target as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    pub target: String,
    pub kind: Kind,
    /// The target does not want to hear of this kind.
    pub is_unwanted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
    /// Why nothing would be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone)]
pub struct NotifySettings {
    /// Of the operator's file, by their names.
    pub targets: BTreeMap<String, Target>,
    /// Where people reach the page, for links.
    pub page: Option<String>,
    pub courier: Arc<dyn Courier>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub via: Via,
    /// What it wants to hear; empty: everything.
    pub kinds: Vec<Kind>,
    /// How long one attempt may take.
    pub timeout: Duration,
    pub persistence: Persistence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// It is recorded, and shown to whoever looks.
    Local,
    /// A program and its arguments.
    Command(Vec<String>),
    Courier,
}

impl Default for NotifySettings {
    /// Nobody is told, and nobody could be.
    fn default() -> Self {
        Self { targets: BTreeMap::new(), page: None, courier: Arc::new(Nobody) }
    }
}

impl NotifySettings {
    /// The one of the file, the one that is always there, or the address that a task brought.
    pub(crate) fn target(&self, name: &str) -> Option<Target> {
        let plain = |via| Target {
            via,
            kinds: Vec::new(),
            timeout: TIMEOUT,
            persistence: Persistence::default(),
        };
        match self.targets.get(name) {
            Some(target) => Some(target.clone()),
            None if name == LOCAL => Some(plain(Via::Local)),
            None if is_address(name) => Some(plain(Via::Courier)),
            None => None,
        }
    }

    pub(crate) fn kinds_of(&self, name: &str) -> Option<Vec<Kind>> {
        self.target(name).map(|target| target.kinds)
    }

    /// What is wrong with the targets that a task names.
    pub(crate) fn check(&self, named: &[String]) -> Vec<Problem> {
        let fault = |name: &String| match self.target(name) {
            Some(_) if is_address(name) && !self.targets.contains_key(name) => {
                self.courier.check(name).err()
            }
            Some(_) => None,
            None => {
                let known: Vec<&str> = self.targets.keys().map(String::as_str).collect();
                let known = match known.is_empty() {
                    true => "only local is there".to_owned(),
                    false => format!("there are local, {}", known.join(", ")),
                };
                Some(format!(
                    "the configuration has no target {name:?}; {known}. Write [notify.NAME] for another, or give the \
                     address of a webhook"
                ))
            }
        };
        let faults = named.iter().filter_map(fault);
        faults.map(|message| Problem { what: "notify".to_owned(), message }).collect()
    }
}

/// For an engine that reaches no network.
#[derive(Debug)]
struct Nobody;

const NO_COURIER: &str = "this engine carries nothing over a network";

impl Courier for Nobody {
    fn carry(&self, _notification: Notification) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::NoTarget { why: NO_COURIER.to_owned() } })
    }

    fn preview(&self, _notification: &Notification) -> Result<Sending, String> {
        Err(NO_COURIER.to_owned())
    }

    fn check(&self, _address: &str) -> Result<(), String> {
        Err(NO_COURIER.to_owned())
    }
}
