//! Opening threads again after a connection, or Codex's memory of a thread, is gone.

use ostler_model::thread::{ServerWanted, Signal, View};
use ostler_model::{Failure, FailureClass, ThreadId};
use tokio::sync::oneshot;

use super::actor::{Actor, Done, Link};
use super::connector::{ConnectError, Connection};
use super::look::look;
use crate::app_server::AppServer;
use crate::protocol::request::thread::ThreadUnsubscribe;
use crate::thread::open::OpenError;
use crate::thread::settings::ThreadSettings;
use crate::thread::{Notice, Told};

/// A thread that is open again.
#[derive(Debug)]
pub(super) struct Reopened {
    /// Another one than before if Codex had nothing of the old one.
    thread: ThreadId,
    view: View,
}

impl Actor {
    pub(super) fn reopen(&mut self, thread: &ThreadId, wanted: ServerWanted) {
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

    pub(super) fn give_connection(
        &mut self,
        reply: oneshot::Sender<Result<AppServer, ConnectError>>,
    ) {
        match &self.link {
            Link::Up { server, .. } => drop(reply.send(Ok(server.clone()))),
            Link::Connecting => self.connect_waiters.push(reply),
            Link::Down => {
                self.connect_waiters.push(reply);
                self.connect(ServerWanted::Any);
            }
        }
    }

    fn connect(&mut self, wanted: ServerWanted) {
        self.link = Link::Connecting;
        let connector = self.connector.clone();
        self.spawn(async move {
            let connected = connector.connect(wanted).await;
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
                for waiter in std::mem::take(&mut self.connect_waiters) {
                    drop(waiter.send(Ok(server.clone())));
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
                if wanted == ServerWanted::Any {
                    for waiter in std::mem::take(&mut self.connect_waiters) {
                        drop(waiter.send(Err(error.clone())));
                    }
                }
                let next = self.reopening.first().map(|(_, wanted)| *wanted);
                let next = next.or((!self.connect_waiters.is_empty()).then_some(ServerWanted::Any));
                if let (Link::Down, Some(wanted)) = (&self.link, next) {
                    self.connect(wanted);
                }
            }
        }
    }

    fn resume(&mut self, thread: &ThreadId, server: AppServer) {
        let thread = thread.clone();
        let Some(root) = self.root_mut(&thread) else {
            // A sub-agent cannot be opened by us; joining its parent brings its events again.
            let failure = Failure::new(FailureClass::ServerGone, "the connection broke");
            return self.step(&thread, Signal::ReopenFailed { failure });
        };
        let (settings, has_turns) = (root.settings.clone(), root.has_turns);
        self.spawn(async move {
            let reopened = reopen_thread(&server, &thread, &settings, has_turns).await;
            Done::Reopened(thread, Box::new(reopened))
        });
    }

    pub(super) fn thread_reopened(
        &mut self,
        thread: &ThreadId,
        reopened: Result<Reopened, Failure>,
    ) {
        match reopened {
            Ok(Reopened { thread: now, view }) => {
                if now != *thread {
                    self.rename(thread, &now);
                }
                self.step(&now, Signal::Reopened(view));
            }
            Err(failure) => self.step(thread, Signal::ReopenFailed { failure }),
        }
    }

    /// Codex had nothing of the thread, so a new one takes its place.
    fn rename(&mut self, old: &ThreadId, new: &ThreadId) {
        let renewed = Notice::Renewed { thread: new.clone() };
        self.tell(old, Told::Notice(renewed));
        if let Some(entry) = self.threads.remove(old) {
            self.threads.insert(new.clone(), entry);
            self.renamed.insert(old.clone(), new.clone());
        }
    }

    /// Tells Codex that we no longer listen; a thread that nobody listens to is unloaded in time.
    pub(super) fn unsubscribe(&mut self, thread: &ThreadId) {
        let Some(server) = self.server().cloned() else { return };
        let thread_id = thread.clone();
        self.spawn(async move {
            drop(server.call(&ThreadUnsubscribe { thread_id }).await);
            Done::Nothing
        });
    }
}

async fn reopen_thread(
    server: &AppServer,
    thread: &ThreadId,
    settings: &ThreadSettings,
    has_turns: bool,
) -> Result<Reopened, Failure> {
    match server.resume_thread(thread, settings).await {
        Ok(_) => {
            let view = look(server, thread).await.unwrap_or_default();
            Ok(Reopened { thread: thread.clone(), view })
        }
        // A thread without a turn has no file, so it dies with its process; nothing is lost by a new one.
        Err(OpenError::NotFound { .. }) if !has_turns => {
            let opened = server.start_thread(settings).await.map_err(|error| refused(&error))?;
            Ok(Reopened { thread: opened.id, view: View::default() })
        }
        Err(error) => Err(refused(&error)),
    }
}

fn refused(error: &OpenError) -> Failure {
    let class = match error {
        OpenError::Connection(_) => FailureClass::ServerGone,
        _ => FailureClass::BadRequest,
    };
    Failure::new(class, error.to_string())
}

fn gone(error: &ConnectError) -> Failure {
    let mut failure = Failure::new(FailureClass::ServerGone, error.message.clone());
    failure.evidence = error.evidence.clone();
    failure
}
