//! How a thread of ours is opened again, or another in its place, on a connection that is there.

use ostler_model::thread::{SeenState, View};
use ostler_model::{Failure, FailureClass, ThreadId, TurnId};
use serde_json::Value;

use super::look::look;
use crate::app_server::AppServer;
use crate::protocol::request::command::BackgroundTerminalsClean;
use crate::protocol::request::thread::{ThreadInjectItems, ThreadResume};
use crate::protocol::request::turn::TurnInterrupt;
use crate::thread::open::{OpenError, OpenedThread};
use crate::thread::settings::ThreadSettings;

/// A thread that is open again.
#[derive(Debug)]
pub(crate) struct Reopened {
    /// Another one than before if Codex had nothing of the old one.
    pub(super) thread: ThreadId,
    pub(super) view: View,
}

/// What a thread is opened again with.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) settings: ThreadSettings,
    pub(super) has_turns: bool,
    /// The conversation of an ephemeral thread, as items for the model.
    pub(super) conversation: Option<Vec<Value>>,
    /// The turn that ran.
    pub(super) turn: Option<TurnId>,
}

/// Why a thread is not open again.
#[derive(Debug)]
pub(super) enum NotReopened {
    Refused(OpenError),
    /// What ran there cannot be followed.
    Lost(Failure),
}

impl From<NotReopened> for Failure {
    fn from(why: NotReopened) -> Self {
        let error = match why {
            NotReopened::Lost(failure) => return failure,
            NotReopened::Refused(error) => error,
        };
        let class = match error {
            OpenError::Connection(_) => FailureClass::ServerGone,
            _ => FailureClass::BadRequest,
        };
        Self::new(class, error.to_string())
    }
}

/// Opens a thread of ours again, or another in its place.
pub(super) async fn open_again(
    server: &AppServer,
    thread: &ThreadId,
    before: &Before,
) -> Result<(OpenedThread, Reopened), NotReopened> {
    match server.resume_thread(thread, &before.settings).await {
        Ok(opened) => {
            // Not to know how its turn stands is not to have opened it.
            let view = look(server, thread).await;
            let view = view.map_err(|reason| Failure::new(FailureClass::ServerGone, reason));
            let view = view.map_err(NotReopened::Lost)?;
            Ok((opened, Reopened { thread: thread.clone(), view }))
        }
        Err(OpenError::NotFound { .. }) if !before.has_turns || before.conversation.is_some() => {
            match before.turn.clone() {
                Some(turn) if is_loaded(server, thread).await => {
                    Err(NotReopened::Lost(abandon(server, thread, turn).await))
                }
                _ => renew(server, before).await.map_err(NotReopened::Refused),
            }
        }
        Err(error) => Err(NotReopened::Refused(error)),
    }
}

async fn is_loaded(server: &AppServer, thread: &ThreadId) -> bool {
    let view = look(server, thread).await;
    view.is_ok_and(|view| !matches!(view.state, SeenState::NotLoaded | SeenState::Unknown))
}

/// Codex lets nobody join an ephemeral thread again (0.130.0 to 0.166.0). Its turn would go on unheard, next to the one
/// that takes its place.
async fn abandon(server: &AppServer, thread: &ThreadId, turn: TurnId) -> Failure {
    let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn };
    let interrupted = server.call(&interrupt).await.map(drop);
    let clean = BackgroundTerminalsClean { thread_id: thread.clone() };
    if let Err(error) = interrupted.and(server.call(&clean).await.map(drop)) {
        tracing::warn!(%error, %thread, "a turn that nobody hears may still run");
    }
    let message = "the connection broke, and codex lets nobody join an ephemeral thread again";
    Failure::new(FailureClass::ServerGone, message)
}

/// A thread without a turn has no file, nor has an ephemeral one, so it dies with its process. Nothing is lost by a new
/// one that gets the conversation.
async fn renew(server: &AppServer, before: &Before) -> Result<(OpenedThread, Reopened), OpenError> {
    let opened = server.start_thread(&before.settings).await?;
    let items = before.conversation.clone().unwrap_or_default();
    if !items.is_empty() {
        let inject = ThreadInjectItems { thread_id: opened.id.clone(), items };
        let injected = server.call(&inject).await;
        injected.map_err(|error| OpenError::from_call_on(&opened.id, error))?;
    }
    let reopened = Reopened { thread: opened.id.clone(), view: View::default() };
    Ok((opened, reopened))
}

/// A sub-agent that is still loaded is only listened to again; one that is not died with its app-server, and loading it
/// is its parent's business.
pub(super) async fn rejoin_agent(
    server: &AppServer,
    agent: &ThreadId,
) -> Result<Reopened, Failure> {
    let gone = |reason: String| Failure::new(FailureClass::ServerGone, reason);
    let view = look(server, agent).await.map_err(gone)?;
    if matches!(view.state, SeenState::NotLoaded | SeenState::Unknown) {
        return Ok(Reopened { thread: agent.clone(), view });
    }
    let joined = server.call(&ThreadResume::new(agent.clone())).await;
    joined.map_err(|error| gone(error.to_string()))?;
    // What happened between the look and the joining would be missed.
    let view = look(server, agent).await.map_err(gone)?;
    Ok(Reopened { thread: agent.clone(), view })
}
