//! Opening threads again after a connection, or Codex's memory of a thread, is gone.

use std::time::Duration;

use ostler_model::thread::{ServerWanted, Signal, View};
use ostler_model::{Failure, FailureClass, ThreadId};
use tokio::sync::oneshot;

use super::actor::{Actor, Done, Link};
use super::command::Connected;
use super::connector::{ConnectError, Connection, Connector};
use super::open_again::{Before, Reopened, open_again, rejoin_agent, words_of};
use super::remembered::Remembered;
use crate::app_server::AppServer;
use crate::protocol::request::thread::ThreadUnsubscribe;
use crate::start_fault::StartFault;
use crate::thread::{Notice, Told};

impl Actor {
    pub(super) fn reopen(&mut self, thread: &ThreadId, wanted: ServerWanted) {
        if wanted == ServerWanted::Fresh {
            // It is ended, so every other thread in it must learn that too.
            self.lose_link("the app-server did not obey and is replaced");
        }
        match &self.link {
            Link::Up { server, .. } => {
                let server = server.clone();
                self.resume(thread, server);
            }
            Link::Connecting => self.reopening.push((thread.clone(), wanted)),
            Link::Down => {
                self.reopening.push((thread.clone(), wanted));
                self.connect(wanted);
            }
        }
    }

    pub(super) fn connect_caller(
        &mut self,
        caller: oneshot::Sender<Result<Connected, ConnectError>>,
    ) {
        match &self.link {
            Link::Up { server, .. } => {
                let connected = Connected {
                    server: server.clone(),
                    epoch: self.epoch,
                    opening: self.opening.clone(),
                };
                // Whoever asked may have gone.
                drop(caller.send(Ok(connected)));
            }
            Link::Connecting => self.callers.push(caller),
            Link::Down => {
                self.callers.push(caller);
                self.connect(ServerWanted::Any);
            }
        }
    }

    fn connect(&mut self, wanted: ServerWanted) {
        self.link = Link::Connecting;
        let connector = self.connector.clone();
        self.spawn(async move {
            let connected = connect(&*connector, wanted).await;
            Done::Connected(wanted, Box::new(connected))
        });
    }

    pub(super) fn connected(
        &mut self,
        wanted: ServerWanted,
        connected: Result<Connection, ConnectError>,
    ) {
        match connected {
            Ok(Connection { server, events }) => {
                self.epoch += 1;
                self.link = Link::Up { server: server.clone(), events };
                for caller in std::mem::take(&mut self.callers) {
                    let connected = Connected {
                        server: server.clone(),
                        epoch: self.epoch,
                        opening: self.opening.clone(),
                    };
                    drop(caller.send(Ok(connected)));
                }
                for (thread, _) in std::mem::take(&mut self.reopening) {
                    self.resume(&thread, server.clone());
                }
            }
            Err(error) => {
                self.link = Link::Down;
                let waiting = std::mem::take(&mut self.reopening);
                let (tried, others): (Vec<_>, Vec<_>) =
                    waiting.into_iter().partition(|(_, other)| *other == wanted);
                // Those who take any app-server have not been tried yet if this was about the old one.
                self.reopening = others;
                for (thread, _) in tried {
                    let failure = gone(&error);
                    self.step(&thread, Signal::ReopenFailed { failure });
                }
                if wanted != ServerWanted::Same {
                    for caller in std::mem::take(&mut self.callers) {
                        drop(caller.send(Err(error.clone())));
                    }
                }
                let callers = (!self.callers.is_empty()).then_some(ServerWanted::Any);
                let threads = self.reopening.first().map(|(_, wanted)| *wanted);
                if let (Link::Down, Some(wanted)) = (&self.link, threads.or(callers)) {
                    self.connect(wanted);
                }
            }
        }
    }

    fn resume(&mut self, thread: &ThreadId, server: AppServer) {
        let (thread, epoch) = (thread.clone(), self.epoch);
        let Some(entry) = self.threads.get(&thread) else { return };
        let Some(root) = entry.as_root() else {
            self.spawn(async move {
                let rejoined = rejoin_agent(&server, &thread).await;
                Done::Reopened(thread, epoch, Box::new(rejoined))
            });
            return;
        };
        let given = root.inputs.iter().filter(|(input, _)| entry.machine.has_given(input));
        let before = Before {
            has_goal: entry.machine.has_open_goal(),
            goal_since: None,
            turn: entry.machine.turn().cloned(),
            settings: root.settings.clone(),
            has_turns: root.has_turns,
            conversation: root.remembered.as_ref().map(Remembered::items),
            inputs: words_of(given),
        };
        self.spawn(async move {
            let reopened = open_again(&server, &thread, &before).await;
            let reopened = reopened.map(|(_, reopened)| reopened).map_err(Failure::from);
            Done::Reopened(thread, epoch, Box::new(reopened))
        });
    }

    pub(super) fn thread_reopened(
        &mut self,
        thread: &ThreadId,
        epoch: u64,
        reopened: Result<Reopened, Failure>,
    ) {
        let is_current = epoch == self.epoch && self.server().is_some();
        if !is_current && self.may_retry(thread) {
            // The connection that it was opened on is gone again.
            return self.reopen(thread, ServerWanted::Same);
        }
        let reopened = match is_current {
            true => reopened,
            false => Err(Failure::new(FailureClass::ServerGone, "the connection broke again")),
        };
        match reopened {
            Ok(Reopened { thread: now, view }) => {
                if now != *thread {
                    self.rename(thread, &now);
                }
                if let Some(entry) = self.threads.get_mut(&now) {
                    entry.reopenings = 0;
                }
                self.tell_missed(&now, &view);
                self.step(&now, Signal::Reopened(view));
            }
            Err(failure) => self.step(thread, Signal::ReopenFailed { failure }),
        }
    }

    /// A thread is opened a few times before it counts as lost.
    fn may_retry(&mut self, thread: &ThreadId) -> bool {
        let Some(entry) = self.threads.get_mut(thread) else { return false };
        entry.reopenings += 1;
        entry.reopenings < REOPENINGS
    }

    /// Steps of the running turn that ended while nobody listened.
    fn tell_missed(&mut self, thread: &ThreadId, view: &View) {
        let Some(version) = self.server().map(|server| server.version().clone()) else { return };
        let Some(entry) = self.threads.get(thread) else { return };
        let Some(turn) = entry.machine.turn().cloned() else { return };
        let Some(seen) = view.turns.iter().find(|seen| seen.id == turn) else { return };
        for item in entry.told.missing(seen.items.clone(), &version, &self.filter) {
            self.step(thread, Signal::Missed { turn: turn.clone(), item });
        }
    }

    /// Codex had nothing of the thread, so a new one takes its place.
    fn rename(&mut self, old: &ThreadId, new: &ThreadId) {
        let renewed = Notice::Renewed { thread: new.clone() };
        self.tell(old, Told::Notice(renewed));
        if let Some(entry) = self.threads.remove(old) {
            self.threads.insert(new.clone(), entry);
            // A handle has the first name of its thread, however often that got another.
            for name in self.renamed.values_mut().filter(|name| *name == old) {
                name.clone_from(new);
            }
            self.renamed.insert(old.clone(), new.clone());
        }
        for entry in self.threads.values_mut() {
            entry.follow(old, new);
        }
        self.hear_early(new);
    }

    /// Tells Codex that we no longer listen; a thread that nobody listens to is unloaded in time. Lets go of
    /// `done` when Codex has answered.
    pub(super) fn unsubscribe(&mut self, thread: &ThreadId, done: oneshot::Sender<()>) {
        let Some(server) = self.server().cloned() else { return };
        let thread_id = thread.clone();
        self.spawn(async move {
            drop(server.call(&ThreadUnsubscribe { thread_id }).await);
            drop(done);
            Done::Nothing
        });
    }
}

/// How often a thread is opened again on connections that break at once.
const REOPENINGS: u8 = 3;

/// A new keeper needs seconds on a busy machine, and ending an old one as long again.
const CONNECT_DEADLINE: Duration = Duration::from_secs(120);

/// The connection may have broken for a moment only.
const CONNECT_TRIES: u32 = 3;

/// From one try to the next.
const CONNECT_PAUSE: Duration = Duration::from_millis(200);

async fn connect(
    connector: &dyn Connector,
    wanted: ServerWanted,
) -> Result<Connection, ConnectError> {
    let mut tries = 1;
    loop {
        let connected = tokio::time::timeout(CONNECT_DEADLINE, connector.connect(wanted)).await;
        match connected {
            Ok(Err(error)) if tries < CONNECT_TRIES => {
                tracing::debug!(%error, tries, "no connection yet");
                tokio::time::sleep(CONNECT_PAUSE * tries).await;
                tries += 1;
            }
            Ok(connected) => return connected,
            Err(_) => {
                let message = "the app-server could not be reached in time".to_owned();
                return Err(ConnectError {
                    message,
                    evidence: connector.evidence(),
                    fault: StartFault::Passing,
                });
            }
        }
    }
}

fn gone(error: &ConnectError) -> Failure {
    let mut failure = Failure::new(FailureClass::ServerGone, error.message.clone());
    failure.evidence = error.evidence.clone();
    failure
}
