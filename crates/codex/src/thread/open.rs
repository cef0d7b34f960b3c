//! Opening threads so that they are what was asked for, or not at all.

mod error;

pub use error::OpenError;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use ostler_model::{ThreadId, TurnId};

use super::settings::{Difference, ThreadSettings, compare};
use crate::app_server::{AppServer, CallError};
use crate::protocol::CodexVersion;
use crate::protocol::request::thread::{
    ThreadArchive, ThreadFork, ThreadOpened, ThreadUnsubscribe,
};
use crate::protocol::request::thread_history::{SortDirection, ThreadRead, ThreadTurnsList};
use crate::protocol::turn::Turn;
use crate::protocol::words::{ThreadState, TurnStatus};

/// Codex moves the rollouts of archived threads into this folder of its home.
const ARCHIVE_FOLDER: &str = "archived_sessions";

/// A thread that may be used. Its permissions are no wider than asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedThread {
    pub id: ThreadId,
    /// What Codex says it will use.
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Settings that came back otherwise than asked, none of them wider.
    pub differences: Vec<Difference>,
    /// A turn that runs already: the thread was loaded and at work.
    pub active_turn: Option<TurnId>,
    pub reply: ThreadOpened,
}

impl OpenedThread {
    /// One that we have a name of, and nothing else.
    pub(crate) fn unseen(id: ThreadId) -> Self {
        Self {
            id,
            model: None,
            effort: None,
            differences: Vec::new(),
            active_turn: None,
            reply: ThreadOpened::default(),
        }
    }
}

/// What becomes of a thread whose permissions are too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disposal {
    /// It was made by this very request: nobody else knows it.
    Archive,
    /// It was there before and may be in use elsewhere: we only turn away from it.
    Unsubscribe,
}

/// Codex puts a thread away within milliseconds, or within seconds while its commands end: half a minute in all.
fn while_closing() -> ExponentialBuilder {
    let first = ExponentialBuilder::default().with_min_delay(Duration::from_millis(20));
    first.with_max_delay(Duration::from_secs(2)).with_max_times(21)
}

impl AppServer {
    /// Starts a new thread. It has no file, and cannot be resumed, before its first turn.
    pub async fn start_thread(&self, settings: &ThreadSettings) -> Result<OpenedThread, OpenError> {
        settings.check()?;
        let opened = self.call(&settings.thread_start()).await.map_err(OpenError::from_call)?;
        self.accept(settings, opened, Disposal::Archive).await
    }

    /// Opens a thread of the past, or joins it if it is loaded. Codex ignores the settings of a thread that is loaded:
    /// if it then has more rights than asked, that is an error.
    pub async fn resume_thread(
        &self,
        thread: &ThreadId,
        settings: &ThreadSettings,
    ) -> Result<OpenedThread, OpenError> {
        settings.check()?;
        self.look_before_opening(thread).await?;
        let resume = settings.thread_resume(thread.clone());
        let call = || async {
            let opened = self.call(&resume).await;
            opened.map_err(|error| OpenError::from_call_on(thread, error))
        };
        let is_closing = |error: &OpenError| matches!(error, OpenError::Closing { .. });
        let opened = call.retry(while_closing()).when(is_closing).await?;
        self.accept(settings, opened, Disposal::Unsubscribe).await
    }

    /// Copies a thread into a new one.
    pub async fn fork_thread(
        &self,
        thread: &ThreadId,
        settings: &ThreadSettings,
    ) -> Result<OpenedThread, OpenError> {
        self.fork(settings.thread_fork(thread.clone()), settings).await
    }

    /// Copies a thread up to and with this turn. Codex before 0.166.0 cannot, and is not asked.
    pub async fn fork_thread_at(
        &self,
        thread: &ThreadId,
        last_turn: TurnId,
        settings: &ThreadSettings,
    ) -> Result<OpenedThread, OpenError> {
        let whole = settings.thread_fork(thread.clone());
        self.fork(ThreadFork { last_turn_id: Some(last_turn), ..whole }, settings).await
    }

    /// Takes a thread out of the lists. Ends its turn and its commands at once.
    pub async fn archive_thread(&self, thread: &ThreadId) -> Result<(), OpenError> {
        let archived = self.call(&ThreadArchive { thread_id: thread.clone() }).await;
        archived.map(drop).map_err(|error| OpenError::from_call_on(thread, error))
    }

    async fn fork(
        &self,
        fork: ThreadFork,
        settings: &ThreadSettings,
    ) -> Result<OpenedThread, OpenError> {
        settings.check()?;
        self.look_before_opening(&fork.thread_id).await?;
        let opened = self.call(&fork).await;
        let opened = opened.map_err(|error| OpenError::from_call_on(&fork.thread_id, error))?;
        self.accept(settings, opened, Disposal::Archive).await
    }

    /// Reading loads nothing and changes nothing, opening may: Codex up to 0.142.5 destroys a paginated thread of
    /// 0.166.0 by resuming it, and 0.130.0 opens archived threads as if they were not.
    async fn look_before_opening(&self, thread: &ThreadId) -> Result<(), OpenError> {
        let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
        let read = self.call(&read).await;
        let found = read.map_err(|error| OpenError::from_call_on(thread, error))?.thread;
        let folders = found.path.iter().flat_map(|path| path.split('/'));
        if folders.into_iter().any(|folder| folder == ARCHIVE_FOLDER) {
            return Err(OpenError::Archived { thread: thread.clone() });
        }
        let created_by = found.cli_version.as_deref().and_then(CodexVersion::parse);
        match created_by {
            Some(created_by) if created_by > *self.version() => Err(OpenError::NewerHome {
                thread: thread.clone(),
                created_by,
                version: self.version().clone(),
            }),
            _ => Ok(()),
        }
    }

    async fn accept(
        &self,
        settings: &ThreadSettings,
        reply: ThreadOpened,
        disposal: Disposal,
    ) -> Result<OpenedThread, OpenError> {
        let id = reply.thread_id().cloned().ok_or(OpenError::NoThreadId)?;
        let home = self.greeting().codex_home.as_deref().unwrap_or_default();
        let differences = compare(settings, &reply, home);
        if differences.iter().any(Difference::is_wider) {
            self.dispose(&id, disposal).await;
            return Err(OpenError::Wider { thread: id, differences });
        }
        let active_turn = match self.active_turn(&id, &reply).await {
            Ok(active_turn) => active_turn,
            Err(error) => {
                self.dispose(&id, disposal).await;
                return Err(OpenError::from_call_on(&id, error));
            }
        };
        let (model, effort) = (reply.model.clone(), reply.reasoning_effort.clone());
        Ok(OpenedThread { id, model, effort, differences, active_turn, reply })
    }

    /// We leave the turns out of the reply, so a thread at work needs a second look.
    async fn active_turn(
        &self,
        thread: &ThreadId,
        reply: &ThreadOpened,
    ) -> Result<Option<TurnId>, CallError> {
        let is_active = reply.thread.status.as_ref().map(|status| &status.state);
        if is_active != Some(&ThreadState::Active) {
            return Ok(None);
        }
        let newest = ThreadTurnsList {
            thread_id: thread.clone(),
            cursor: None,
            limit: Some(1),
            sort_direction: Some(SortDirection::Desc),
            items_view: None,
        };
        let turns = self.call(&newest).await?.data;
        let running = |turn: &Turn| turn.status == Some(TurnStatus::InProgress);
        Ok(turns.into_iter().find(running).and_then(|turn| turn.id))
    }

    /// A thread without a file, which Codex up to 0.142.5 has before the first turn and an ephemeral one always,
    /// cannot be archived; without us it idles until Codex unloads it.
    async fn dispose(&self, thread: &ThreadId, disposal: Disposal) {
        if disposal == Disposal::Archive {
            let archive = ThreadArchive { thread_id: thread.clone() };
            if self.call(&archive).await.is_ok() {
                return;
            }
        }
        let unsubscribe = ThreadUnsubscribe { thread_id: thread.clone() };
        if let Err(error) = self.call(&unsubscribe).await {
            tracing::warn!(%thread, %error, "a thread that must not be used stays subscribed");
        }
    }
}
