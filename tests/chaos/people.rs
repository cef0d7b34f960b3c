//! People who start tasks and answer what is asked, and try again when the daemon is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_model::task::{Approval, SandboxMode};
use ostler_model::{Decision, TaskId};
use ostler_server::api::{AnswerRequest, AskList, StartAnswer, StartRequest, TaskList};
use ostler_server::client::ClientError;
use ostler_testkit::Stage;
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::name;

pub struct People<'a> {
    daemon: &'a Daemon,
    cwd: String,
    wanted: u64,
    /// Acknowledged starts.
    pub started: BTreeMap<u64, TaskId>,
}

impl<'a> People<'a> {
    pub fn new(daemon: &'a Daemon, stage: &Stage, wanted: u64) -> Self {
        let cwd = stage.workspace().display().to_string();
        Self { daemon, cwd, wanted, started: BTreeMap::new() }
    }

    pub async fn work(&mut self) {
        loop {
            // Whatever breaks off is done again.
            drop(self.start().await);
            drop(self.answer().await);
            if let Ok(true) = self.is_done().await {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn start(&mut self) -> Result<(), ClientError> {
        let missing = (0..self.wanted).filter(|task| !self.started.contains_key(task));
        for task in missing.collect::<Vec<_>>() {
            let request = StartRequest {
                prompt: Some(format!("harness {} now", name(task))),
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

    async fn answer(&self) -> Result<(), ClientError> {
        let mut client = self.daemon.client().await?;
        let open: AskList = client.get("/v1/asks").await?;
        for shown in open.asks {
            let request = AnswerRequest {
                decision: Decision::Once,
                reason: None,
                remember: None,
                surface: Some("chaos".to_owned()),
            };
            let path = format!("/v1/asks/{}/answer", shown.ask.id);
            // Somebody may have been first, or the ask is over; the next look shows.
            match client.post::<serde_json::Value>(&path, &request).await {
                Ok(_) | Err(ClientError::Problem(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn is_done(&self) -> Result<bool, ClientError> {
        if self.started.len() as u64 != self.wanted {
            return Ok(false);
        }
        let mut client = self.daemon.client().await?;
        let list: TaskList = client.get("/v1/tasks?limit=500").await?;
        let over: BTreeSet<TaskId> = list
            .tasks
            .into_iter()
            .filter(|task| task.state.is_over())
            .map(|task| task.id)
            .collect();
        Ok(self.started.values().all(|task| over.contains(task)))
    }
}
