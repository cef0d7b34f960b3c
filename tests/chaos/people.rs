//! People who start tasks, answer what is asked, want more or less of them, and try again when the daemon is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_model::ask::AskKind;
use ostler_model::task::{Approval, SandboxMode};
use ostler_model::thread::IfBusy;
use ostler_model::{Decision, IntentId, TaskId};
use ostler_server::api::{
    Accepted, AnswerRequest, AskList, SendRequest, StartAnswer, StartRequest, TaskDetail,
};
use ostler_server::client::ClientError;
use ostler_testkit::Stage;
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::name;
use crate::role::{Role, prompt};

/// As many as run at once, and some that wait.
const AT_ONCE: u64 = 12;

pub(crate) struct People<'a> {
    daemon: &'a Daemon,
    cwd: String,
    wanted: u64,
    /// How many faults the storm has in all.
    faults: u64,
    /// Whether all that were started are over.
    is_idle: bool,
    /// Acknowledged starts.
    pub(crate) started: BTreeMap<u64, TaskId>,
    /// What was acknowledged of what else they wanted: inputs and interrupts.
    pub(crate) intended: BTreeMap<u64, IntentId>,
}

impl<'a> People<'a> {
    pub(crate) fn new(daemon: &'a Daemon, stage: &Stage, wanted: u64, faults: u64) -> Self {
        let cwd = stage.workspace().display().to_string();
        let (started, intended) = (BTreeMap::new(), BTreeMap::new());
        Self { daemon, cwd, wanted, faults, is_idle: false, started, intended }
    }

    pub(crate) async fn work(&mut self) {
        loop {
            // Whatever breaks off is done again.
            drop(self.start().await);
            drop(self.want_more().await);
            drop(self.answer().await);
            if let Ok(true) = self.is_done().await {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Starts tasks as the storm goes on, so that each of its faults meets some at work.
    async fn start(&mut self) -> Result<(), ClientError> {
        let hits = self.daemon.progress.borrow().0 as u64;
        let next = self.started.len() as u64 + u64::from(self.is_idle);
        let due = (AT_ONCE + self.wanted * hits / self.faults).max(next).min(self.wanted);
        let missing = (0..due).filter(|task| !self.started.contains_key(task));
        for task in missing.collect::<Vec<_>>() {
            let request = StartRequest {
                prompt: Some(prompt(task)),
                cwd: self.cwd.clone(),
                sandbox: Some(SandboxMode::WorkspaceWrite),
                approval: Some(Approval::Untrusted),
                key: Some(name(task)),
                ..StartRequest::default()
            };
            let mut client = self.daemon.client().await?;
            let answer: StartAnswer = client.post("/v1/tasks", &request).await?;
            self.started.insert(task, answer.task.id);
        }
        Ok(())
    }

    /// Sends at any time, interrupts once a turn runs, and steers one that asks: before that it has not come so far that there
    /// were anything to steer.
    async fn want_more(&mut self) -> Result<(), ClientError> {
        let tasks = self.daemon.tasks().await?;
        let over = tasks.iter().filter(|task| task.state.is_over()).count();
        self.is_idle = over == self.started.len();
        let come = self.started.len() + self.intended.len() + over;
        self.daemon
            .progress
            .send_if_modified(|(_, before)| std::mem::replace(before, come) != come);
        for (number, task) in &self.started {
            let role = Role::of(*number);
            let Some(found) = tasks.iter().find(|found| found.id == *task) else { continue };
            let is_time = match role {
                Role::Steered => found.state.waits_for_a_person(),
                Role::Interrupted => found.turn.is_some(),
                _ => true,
            };
            if self.intended.contains_key(number) || !is_time {
                continue;
            }
            let mut client = self.daemon.client().await?;
            let accepted: Accepted = if let Some(text) = role.more(*number) {
                let if_busy = if role == Role::Steered { IfBusy::Steer } else { IfBusy::Queue };
                let (prompt, key) = (Some(text), Some("more".to_owned()));
                let request = SendRequest { prompt, if_busy, key, ..SendRequest::default() };
                client.post(&format!("/v1/tasks/{task}/send"), &request).await?
            } else if role == Role::Interrupted {
                let path = format!("/v1/tasks/{task}/interrupt");
                client.post(&path, &serde_json::json!({})).await?
            } else {
                continue;
            };
            self.intended.insert(*number, accepted.intent);
        }
        Ok(())
    }

    async fn answer(&self) -> Result<(), ClientError> {
        let mut client = self.daemon.client().await?;
        let open: AskList = client.get("/v1/asks").await?;
        for shown in open.asks {
            // Whoever has not heard that it was started does not know what it is about.
            let task = self.started.iter().find(|(_, task)| **task == shown.ask.task);
            let Some((number, _)) = task else { continue };
            // A task that waits for another login goes on by itself.
            if let AskKind::Continue { .. } = shown.ask.content.kind {
                continue;
            }
            let decision = match Role::of(*number) {
                Role::Interrupted => continue,
                Role::Steered if !self.intended.contains_key(number) => continue,
                Role::Denied => Decision::Deny,
                _ => Decision::Once,
            };
            let surface = Some("chaos".to_owned());
            let request = AnswerRequest { decision, reason: None, remember: None, surface };
            let path = format!("/v1/asks/{}/answer", shown.ask.id);
            // Somebody may have been first, or the ask is over; the next look shows.
            match client.post::<serde_json::Value>(&path, &request).await {
                Ok(_) | Err(ClientError::Problem(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) async fn is_done(&self) -> Result<bool, ClientError> {
        let is_intended = |task: &u64| {
            let role = Role::of(*task);
            let is_owed = role.more(*task).is_some() || role == Role::Interrupted;
            !is_owed || self.intended.contains_key(task)
        };
        if self.started.len() as u64 != self.wanted || !self.started.keys().all(is_intended) {
            return Ok(false);
        }
        let over: BTreeSet<TaskId> = self
            .daemon
            .tasks()
            .await?
            .into_iter()
            .filter(|task| task.state.is_over())
            .map(|task| task.id)
            .collect();
        if !self.started.values().all(|task| over.contains(task)) {
            return Ok(false);
        }
        // One that is over may just have been given more.
        let mut client = self.daemon.client().await?;
        for number in self.intended.keys() {
            let path = format!("/v1/tasks/{}", self.started[number]);
            if !client.get::<TaskDetail>(&path).await?.intents.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
