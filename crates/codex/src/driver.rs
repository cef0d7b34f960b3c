//! Drives threads on one app-server: performs what the pure machine of each thread wants, and feeds back what happens.
//!
//! One task owns the connection and the machines. It never waits for Codex or for people: every request, every decision
//! and every tool runs beside it and comes back as a signal. When watchers do not read, it stops reading Codex's events,
//! but goes on taking commands; nothing is dropped.
//!
//! If the connection breaks, a thread with a running turn is joined again where it was; if its app-server is gone, the
//! turn ends as such, and the next input opens the thread in whatever app-server the [`Connector`] gives.
//!
//! Start reading at [`Driver`], then `actor` (the loop), `entry` (one thread), `hear` (what Codex says), `perform` (what
//! the machine wants).

mod actor;
mod asks;
mod auto_review;
mod child;
pub(crate) mod command;
mod connector;
mod context;
mod entry;
mod family;
mod goal;
mod guard;
pub(crate) mod hear;
mod kept;
mod lines;
mod look;
pub(crate) mod messages;
mod missed;
mod open_again;
mod outbox;
pub(crate) mod perform;
mod piece;
mod recorded;
mod rejoin;
mod remembered;
mod reopen;
mod sandboxing;
mod settled;
mod unheard;
mod unsecret;

pub use child::ChildConnector;
pub use connector::{ConnectError, Connection, Connector, hello};
pub use kept::KeeperConnector;
pub use lines::{Lines, Listener, Overheard, WeakLines};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use ostler_model::thread::{Echo, IfBusy, Limits, ServerWanted, View};
use ostler_model::{ThreadId, TurnId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::account::TokenSource;
use crate::app_server::AppServer;
use crate::protocol::CodexVersion;
use crate::protocol::versions::R0_142_5;
use crate::start_fault::StartFault;
use crate::thread::open::{OpenError, OpenedThread};
use crate::thread::settings::ThreadSettings;
use crate::thread::{Thread, ThreadHandlers, ThreadUpdates};
use actor::Actor;
use command::{Adopt, Adopted, Arrival, Command, Connected, History};

/// Commands that wait for the driver. It takes them at once, so they only wait while it is being scheduled.
const QUEUED_COMMANDS: usize = 256;

/// Updates that wait to be read, per thread. Beyond them Codex waits.
const QUEUED_UPDATES: usize = 1024;

/// The threads of one app-server. Cheap to clone; when the last clone and the last thread are gone, the connection ends.
#[derive(Debug, Clone)]
pub struct Driver {
    commands: mpsc::Sender<Command>,
}

/// Ends when the driver has ended.
#[derive(Debug)]
pub struct DriverTask(JoinHandle<()>);

/// What the driver has from its caller.
#[derive(Debug, Clone)]
pub struct DriverSettings {
    /// Where fresh tokens come from, if another program holds the login.
    pub tokens: Option<Arc<dyn TokenSource>>,
    /// The one that the app-server lives in: Codex names the reset of a limit in local time.
    pub time_zone: TimeZone,
}

impl Default for DriverSettings {
    fn default() -> Self {
        Self { tokens: None, time_zone: TimeZone::UTC }
    }
}

/// How a thread is driven, beyond the settings that Codex knows.
#[derive(Debug, Clone)]
pub struct ThreadOptions {
    pub limits: Limits,
    pub handlers: ThreadHandlers,
    /// How long the updates may go unread while their queue is full. All threads of the app-server wait that long; then
    /// the updates end with [`Notice::LeftBehind`](crate::thread::Notice::LeftBehind), and the thread goes on unwatched.
    pub patience: Duration,
    pub lines: WireLines,
    pub messages: Messages,
}

/// Whether the messages of a turn are gathered for its outcome, in memory, as long as it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Messages {
    #[default]
    Gathered,
    /// For whoever keeps the items, from which they can be made.
    Left,
}

/// Whether what Codex says about a thread is also told as it came.
#[derive(Debug, Clone, Default)]
pub enum WireLines {
    #[default]
    Untold,
    /// As [`Told::Wire`](crate::thread::Told::Wire), for the thread and its sub-agents. None is lost: Codex waits.
    Told,
    /// To those who look, beside the updates. Nobody waits for them.
    Overheard(Lines),
}

/// Longer than any pause of a program that reads at all, and short enough for whoever waits on another thread.
const PATIENCE: Duration = Duration::from_secs(60);

impl Default for ThreadOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            handlers: ThreadHandlers::default(),
            patience: PATIENCE,
            lines: WireLines::default(),
            messages: Messages::default(),
        }
    }
}

impl Driver {
    /// Connects, and drives from then on.
    pub async fn start(
        connector: Arc<dyn Connector>,
        settings: DriverSettings,
    ) -> Result<(Self, DriverTask), ConnectError> {
        let connection = connector.connect(ServerWanted::Any).await?;
        Ok(Self::over(connector, connection, settings))
    }

    /// Connects to the app-server that the connector is at, and to no other.
    pub async fn join(
        connector: Arc<dyn Connector>,
        settings: DriverSettings,
    ) -> Result<(Self, DriverTask), ConnectError> {
        let connection = connector.connect(ServerWanted::Same).await?;
        Ok(Self::over(connector, connection, settings))
    }

    fn over(
        connector: Arc<dyn Connector>,
        connection: Connection,
        settings: DriverSettings,
    ) -> (Self, DriverTask) {
        let (commands, queue) = mpsc::channel(QUEUED_COMMANDS);
        let actor = Actor::new(connector, connection, settings, queue);
        let task = tokio::spawn(actor.run());
        (Self { commands }, DriverTask(task))
    }

    /// The connection, for calls that concern no thread. It is made again if it is gone.
    pub async fn server(&self) -> Result<AppServer, ConnectError> {
        Ok(self.connected().await?.server)
    }

    pub async fn start_thread(
        &self,
        settings: ThreadSettings,
        options: ThreadOptions,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        let on = self.connected().await?;
        let opened = on.server.start_thread(&settings).await?;
        self.drive(on, opened, settings, options, Arrival::Opened(History::None)).await
    }

    /// Opens a thread of the past. If a turn of it runs, it is joined.
    pub async fn resume_thread(
        &self,
        thread: &ThreadId,
        settings: ThreadSettings,
        options: ThreadOptions,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        // Events that come between the answer and the adoption are kept by the actor for unknown threads.
        let on = self.connected().await?;
        let opened = on.server.resume_thread(thread, &settings).await?;
        self.drive(on, opened, settings, options, Arrival::Opened(History::Kept)).await
    }

    pub async fn fork_thread(
        &self,
        thread: &ThreadId,
        settings: ThreadSettings,
        options: ThreadOptions,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        let on = self.connected().await?;
        let opened = on.server.fork_thread(thread, &settings).await?;
        self.drive(on, opened, settings, options, Arrival::Opened(History::Kept)).await
    }

    /// A copy of the thread up to and with this turn; Codex 0.166.0 and later.
    pub async fn fork_thread_at(
        &self,
        thread: &ThreadId,
        last_turn: TurnId,
        settings: ThreadSettings,
        options: ThreadOptions,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        let on = self.connected().await?;
        let opened = on.server.fork_thread_at(thread, last_turn, &settings).await?;
        self.drive(on, opened, settings, options, Arrival::Opened(History::Kept)).await
    }

    /// How a thread stands, its last turns, and where it is written down, as Codex says.
    pub async fn look(&self, thread: &ThreadId) -> Result<(View, Option<PathBuf>), String> {
        let on = self.connected().await.map_err(|error| error.to_string())?;
        let (view, file) = look::look_with_file(&on.server, thread).await?;
        Ok((view, file.map(PathBuf::from)))
    }

    /// The connection as it is now, made anew if it is gone.
    async fn connected(&self) -> Result<Connected, ConnectError> {
        let ended = || ConnectError {
            message: "the driver has ended".to_owned(),
            evidence: None,
            fault: StartFault::Passing,
        };
        let (connected, answer) = oneshot::channel();
        self.commands.send(Command::Connect { connected }).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    async fn drive(
        &self,
        on: Connected,
        opened: OpenedThread,
        settings: ThreadSettings,
        options: ThreadOptions,
        arrival: Arrival,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        // One place more, for the last word.
        let (updates, queue) = mpsc::channel(QUEUED_UPDATES + 1);
        let (adopted, done) = oneshot::channel();
        let thread = Arc::new(opened.clone());
        let adopt = Adopt { opened, on, settings, options, updates, arrival, adopted };
        // A driver that has ended answers nothing; the thread then says so at its first use.
        if self.commands.send(Command::Adopt(Box::new(adopt))).await.is_ok()
            && done.await == Ok(Adopted::Twice)
        {
            return Err(OpenError::AlreadyDriven { thread: thread.id.clone() });
        }
        Ok((Thread::new(thread, self.commands.clone()), ThreadUpdates::new(queue)))
    }
}

impl DriverTask {
    /// Waits until the driver has ended, which it does when the last [`Driver`] and [`Thread`] are gone.
    pub async fn ended(self) {
        if let Err(error) = self.0.await {
            tracing::error!(%error, "the driver failed");
        }
    }
}

/// Codex echoes our ids from 0.142.5 on.
pub(crate) fn echo(version: &CodexVersion) -> Echo {
    if version.is_at_least(R0_142_5) { Echo::Ids } else { Echo::TextOnly }
}

/// What to do with an input of which nothing was said.
pub(crate) const DEFAULT_IF_BUSY: IfBusy = IfBusy::Queue;
