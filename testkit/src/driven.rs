//! A driver in a throw-away world, with waits that end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostler_codex::driver::{Driver, DriverSettings, DriverTask, KeeperConnector, ThreadOptions};
use ostler_codex::keeper::KeeperId;
use ostler_codex::peer::PeerSettings;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{Notice, Thread, ThreadUpdate, ThreadUpdates, Told, TurnOutcome};
use ostler_model::thread::{AskEnd, Update};
use ostler_model::{Ask, AskId, TurnResult};

use crate::stage::{KeptCodex, Stage};

/// No step of a test on a scripted model takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A driver that connects to one keeper.
pub struct Driven {
    pub driver: Driver,
    pub connector: Arc<KeeperConnector>,
    task: DriverTask,
}

/// A thread and all it has told so far.
pub struct DrivenThread {
    pub thread: Thread,
    updates: ThreadUpdates,
    pub seen: Vec<ThreadUpdate>,
}

impl Stage {
    /// Drives the app-server of this keeper; another one is started if it is gone.
    pub async fn drive(&self, codex: &KeptCodex) -> Result<Driven> {
        self.drive_with(codex, DriverSettings::default()).await
    }

    /// The same, with settings of the driver.
    pub async fn drive_with(&self, codex: &KeptCodex, settings: DriverSettings) -> Result<Driven> {
        let keeper: KeeperId = codex.found.folder.id().clone();
        let connector = KeeperConnector::new(self.start_keeper()?, PeerSettings::default());
        let connector = Arc::new(connector.at(keeper));
        let (driver, task) = Driver::start(connector.clone(), settings).await?;
        Ok(Driven { driver, connector, task })
    }

    /// A thread in the workspace.
    pub fn settings(&self, sandbox: SandboxPolicy, policy: ApprovalPolicy) -> ThreadSettings {
        ThreadSettings {
            sandbox,
            approval_policy: policy,
            ..ThreadSettings::new(self.workspace().display().to_string())
        }
    }
}

impl Driven {
    pub async fn thread(
        &self,
        settings: ThreadSettings,
        options: ThreadOptions,
    ) -> Result<DrivenThread> {
        let (thread, updates) = self.driver.start_thread(settings, options).await?;
        Ok(DrivenThread::new(thread, updates))
    }

    /// Ends the driver; the threads must be gone.
    pub async fn close(self) -> Result<()> {
        drop(self.driver);
        tokio::time::timeout(PATIENCE, self.task.ended()).await.context("the driver did not end")
    }
}

impl DrivenThread {
    pub fn new(thread: Thread, updates: ThreadUpdates) -> Self {
        Self { thread, updates, seen: Vec::new() }
    }

    pub async fn next(&mut self, what: &str) -> Result<ThreadUpdate> {
        let next = tokio::time::timeout(PATIENCE, self.updates.next()).await;
        let next = next.with_context(|| format!("{what} did not come; seen: {:#?}", self.seen))?;
        let next = next.with_context(|| format!("the updates ended before {what}"))?;
        self.seen.push(next.clone());
        Ok(next)
    }

    /// Reads on until an update gives what is looked for.
    pub async fn until<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(&Update) -> Option<T>,
    ) -> Result<T> {
        loop {
            let next = self.next(what).await?;
            if let Told::Update(update) = &next.what
                && let Some(found) = pick(update)
            {
                return Ok(found);
            }
        }
    }

    pub async fn ask(&mut self) -> Result<(AskId, Ask)> {
        self.until("an ask", |update| match update {
            Update::AskOpened { ask, content } => Some((ask.clone(), (**content).clone())),
            _ => None,
        })
        .await
    }

    /// Reads on until this ask is closed, and says how it was.
    pub async fn closed(&mut self, wanted: &AskId) -> Result<AskEnd> {
        self.until("the end of the ask", |update| match update {
            Update::AskClosed { ask, how } if ask == wanted => Some(how.clone()),
            _ => None,
        })
        .await
    }

    /// Reads on until a notice gives what is looked for.
    pub async fn notice<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(&Notice) -> Option<T>,
    ) -> Result<T> {
        loop {
            let next = self.next(what).await?;
            if let Told::Notice(notice) = &next.what
                && let Some(found) = pick(notice)
            {
                return Ok(found);
            }
        }
    }

    pub async fn turn_end(&mut self) -> Result<TurnResult> {
        self.until("the turn's end", |update| match update {
            Update::TurnEnded { result } => Some((**result).clone()),
            _ => None,
        })
        .await
    }

    /// Runs a turn to its end, and reads all it tells.
    pub async fn run(&mut self, input: ostler_codex::thread::TurnInput) -> Result<TurnOutcome> {
        let ticket = self.thread.send(input, ostler_model::thread::IfBusy::Queue).await?;
        self.turn_end().await?;
        match tokio::time::timeout(PATIENCE, ticket.outcome()).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(failure)) => bail!("the input was refused: {failure:?}"),
            Err(_) => bail!("the outcome did not come"),
        }
    }

    /// The updates so far, without notices.
    pub fn updates(&self) -> impl Iterator<Item = &Update> {
        self.seen.iter().filter_map(|told| match &told.what {
            Told::Update(update) => Some(update),
            Told::Wire(_) | Told::Notice(_) => None,
        })
    }
}
