//! How a thread of ours is opened again, or another in its place, on a connection that is there.

use std::time::Duration;

use ostler_model::thread::{SaidEnd, SeenState, SeenTurn, View};
use ostler_model::{Failure, FailureClass, InputId, ThreadId, TurnId};
use serde_json::Value;
use tokio::time::Instant;

use super::look::{look, look_back};
use super::recorded::add_recorded;
use super::settled::{UnderWay, has, look_settled};
use super::unheard::add_unheard;
use crate::app_server::AppServer;
use crate::protocol::request::command::BackgroundTerminalsClean;
use crate::protocol::request::thread::{ThreadInjectItems, ThreadResume};
use crate::protocol::request::turn::TurnInterrupt;
use crate::start_fault::StartFault;
use crate::thread::TurnInput;
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
    /// Inputs that Codex may have, with their words.
    pub(super) inputs: Vec<(InputId, String)>,
    /// Codex may begin a turn by itself.
    pub(super) has_goal: bool,
    /// The last turn that is known, where Codex may have started any number of others since: the thread has a goal.
    pub(super) goal_since: Option<TurnId>,
}

impl Before {
    /// The turns of the list that may have gone on while nobody listened.
    fn turns_under_way(&self, view: &View) -> Vec<TurnId> {
        let holds_ours = |seen: &SeenTurn| self.inputs.iter().any(|input| has(seen, input));
        let is_it = |seen: &&SeenTurn| self.turn.as_ref() == Some(&seen.id) || holds_ours(seen);
        view.turns.iter().filter(is_it).map(|seen| seen.id.clone()).collect()
    }

    /// Whether Codex may be at work for us.
    fn may_be_at_work(&self) -> bool {
        self.turn.is_some() || !self.inputs.is_empty()
    }

    /// What may still be under way, by how the thread stood before it was opened again. In another process the thread was not
    /// loaded, and nothing more is written of its turn. A thread that could not be looked at may be in the same process.
    fn under_way(&self, listed: Option<&View>) -> Option<UnderWay<'_>> {
        let may_be_the_same = listed.is_none_or(|view| is_loaded(view.state));
        let under_way = UnderWay { turn: self.turn.as_ref(), inputs: &self.inputs };
        (self.may_be_at_work() && may_be_the_same).then_some(under_way)
    }

    /// Whether something of a thread that has no file yet may be under way. An ephemeral one never gets a file.
    fn may_have_begun(&self) -> bool {
        self.may_be_at_work() && !self.has_turns && self.conversation.is_none()
    }
}

/// Codex has the file of a thread within a tenth of a second after the turn began, and within seconds on a busy machine.
const FILE_PATIENCE: Duration = Duration::from_secs(20);

/// What was sent on a connection that broke is taken up as fast as anything else, and within seconds on a busy machine;
/// then the turn runs. Only what never arrived is waited for in vain.
pub(super) const START_PATIENCE: Duration = Duration::from_secs(5);

const FILE_LOOKS: Duration = Duration::from_millis(50);

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
        let class = match (&error, StartFault::of_open(&error)) {
            (OpenError::NotFound { .. }, _) => FailureClass::Missing,
            (_, StartFault::Passing | StartFault::NoCodex) => FailureClass::ServerGone,
            (_, StartFault::Lasting) => FailureClass::BadRequest,
        };
        Self::new(class, error.to_string())
    }
}

/// Inputs by the words in them.
pub(super) fn words_of<'a>(
    inputs: impl Iterator<Item = (&'a InputId, &'a TurnInput)>,
) -> Vec<(InputId, String)> {
    inputs.filter_map(|(id, input)| Some((id.clone(), input.prompt()?))).collect()
}

/// Opens a thread of ours again, or another in its place.
pub(super) async fn open_again(
    server: &AppServer,
    thread: &ThreadId,
    before: &Before,
) -> Result<(OpenedThread, Reopened), NotReopened> {
    let may_go_on = before.may_be_at_work() || before.has_goal;
    let listed = if may_go_on { look(server, thread).await.ok() } else { None };
    let under_way = before.under_way(listed.as_ref());
    match resume(server, thread, before).await {
        Ok(opened) => {
            // Not to know how its turn stands is not to have opened it.
            let seen = look_settled(server, thread, under_way).await;
            let seen = seen.map_err(|reason| Failure::new(FailureClass::ServerGone, reason));
            let (mut view, file) = seen.map_err(NotReopened::Lost)?;
            if let Some(listed) = listed.filter(|view| !is_loaded(view.state)) {
                mark_begun_since(&mut view, &listed);
            }
            if let Some(since) = &before.goal_since {
                look_back(server, thread, since, &mut view).await;
            }
            let under_way = before.turns_under_way(&view);
            add_recorded(&mut view, file.as_deref(), &under_way, server.version()).await;
            add_unheard(&mut view, file, &before.inputs).await;
            Ok((opened, Reopened { thread: thread.clone(), view }))
        }
        Err(OpenError::NotFound { .. }) if !before.has_turns || before.conversation.is_some() => {
            match (seen_state(server, thread).await, before.turn.clone()) {
                (Some(_), Some(turn)) if before.conversation.is_some() => {
                    Err(NotReopened::Lost(abandon(server, thread, turn).await))
                }
                // What runs there may be ours; another thread would do it a second time.
                (Some(state), _) if state.is_active() && before.may_have_begun() => {
                    Err(NotReopened::Lost(not_yet(thread)))
                }
                _ => renew(server, before).await.map_err(NotReopened::Refused),
            }
        }
        Err(error) => Err(NotReopened::Refused(error)),
    }
}

/// A thread has no file before its first turn has really begun, and cannot be joined before it has one. So a turn that was
/// just begun, or is about to be, is waited for: whoever took another thread instead would have the work done twice.
async fn resume(
    server: &AppServer,
    thread: &ThreadId,
    before: &Before,
) -> Result<OpenedThread, OpenError> {
    let begin = Instant::now();
    let mut idle_since = None;
    loop {
        let resumed = server.resume_thread(thread, &before.settings).await;
        let is_missing = matches!(resumed, Err(OpenError::NotFound { .. }));
        if !is_missing || !before.may_have_begun() || begin.elapsed() >= FILE_PATIENCE {
            return resumed;
        }
        match look(server, thread).await.map(|view| view.state) {
            Ok(SeenState::Active | SeenState::Waiting) => idle_since = None,
            Ok(SeenState::Idle) => {
                if idle_since.get_or_insert_with(Instant::now).elapsed() >= START_PATIENCE {
                    return resumed;
                }
            }
            Ok(SeenState::NotLoaded | SeenState::Unknown) | Err(_) => return resumed,
        }
        tokio::time::sleep(FILE_LOOKS).await;
    }
}

/// How a thread stands that is loaded.
async fn seen_state(server: &AppServer, thread: &ThreadId) -> Option<SeenState> {
    let state = look(server, thread).await.ok()?.state;
    is_loaded(state).then_some(state)
}

fn is_loaded(state: SeenState) -> bool {
    !matches!(state, SeenState::NotLoaded | SeenState::Unknown)
}

/// Codex starts the next turn of a goal as soon as it has the thread again, and lists it as interrupted until it runs (0.142.5). A turn
/// that was not there before the thread was loaded died with no other app-server: how it ends is told.
fn mark_begun_since(view: &mut View, listed: &View) {
    let is_new = |seen: &&mut SeenTurn| listed.turns.iter().all(|known| known.id != seen.id);
    let interrupted = view.turns.iter_mut().filter(|seen| seen.end == Some(SaidEnd::Interrupted));
    interrupted.filter(is_new).for_each(|seen| seen.end = None);
}

fn not_yet(thread: &ThreadId) -> Failure {
    let message = format!(
        "a turn runs in thread {thread}, which has no file after {} s and cannot be joined without",
        FILE_PATIENCE.as_secs()
    );
    Failure::new(FailureClass::ServerGone, message)
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

#[cfg(test)]
mod tests {
    use ostler_model::InputId;
    use ostler_model::thread::{SeenState, View};

    use super::Before;
    use crate::thread::settings::ThreadSettings;

    #[test]
    fn an_input_is_in_doubt_unless_another_process_has_the_thread() {
        let before = Before {
            settings: ThreadSettings::default(),
            has_turns: true,
            conversation: None,
            turn: None,
            inputs: vec![(InputId::new("i"), "trot".to_owned())],
            has_goal: false,
            goal_since: None,
        };
        let is_in_doubt = |state: Option<SeenState>| {
            let listed = state.map(|state| View { state, turns: Vec::new() });
            before.under_way(listed.as_ref()).is_some()
        };
        assert!(is_in_doubt(Some(SeenState::Idle)) && is_in_doubt(Some(SeenState::Active)));
        assert!(!is_in_doubt(Some(SeenState::NotLoaded)));
        // Codex did not answer in time, or could not read the thread's file yet.
        assert!(is_in_doubt(None));

        let nothing_sent = Before { inputs: Vec::new(), ..before };
        assert!(nothing_sent.under_way(None).is_none());
    }
}
