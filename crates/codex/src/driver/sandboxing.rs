//! A question for a command waits until it is known where the command would run. See [`crate::rollout::sandboxing`].

use std::path::PathBuf;
use std::time::Duration;

use ostler_model::ask::Sandboxing;
use ostler_model::thread::{Said, Signal, What};
use ostler_model::{Ask, AskId, AskKind, ItemId, ThreadId};

use super::actor::{Actor, Done};
use super::entry::PendingAsk;
use super::look::LOOK_DEADLINE;
use crate::app_server::AppServer;
use crate::peer::Event;
use crate::protocol::ServerRequest;
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::request::thread_history::ThreadRead;
use crate::protocol::settings::SandboxPolicy;
use crate::rollout::sandboxing;
use crate::thread::settings::ThreadSettings;
use crate::wire::{Call, RequestId};

/// The call is there when the question comes. That Codex writes it a moment later was never seen; half a second in all.
const LOOKS_AGAIN_AFTER_MS: [u64; 6] = [5, 15, 30, 50, 100, 300];

/// A question of Codex on its way to the machine of its thread.
#[derive(Debug)]
pub(super) struct HeardAsk {
    pub(super) thread: ThreadId,
    pub(super) ask: AskId,
    pub(super) id: RequestId,
    pub(super) call: Call,
    pub(super) content: Ask,
}

impl Actor {
    /// Codex asks. If that is for a command, nobody is told before it is known where it would run.
    pub(super) fn hear_ask(&mut self, mut heard: HeardAsk, is_part: bool) {
        let AskKind::Command(command) = &mut heard.content.kind else { return self.asked(heard) };
        if command.command.is_none() || command.network.is_some() || command.writes_to_running {
            return self.asked(heard);
        }
        let root = self.root_of(&heard.thread).and_then(|root| self.threads.get(&root));
        let root = root.and_then(|root| root.as_root());
        let usual = root.map(|root| usual(&root.settings));
        let known = root.and_then(|root| root.file.as_ref());
        let file = known.filter(|(of, _)| *of == heard.thread).map(|(_, file)| file.clone());
        // An ephemeral thread has none.
        let is_nowhere = is_part || file == Some(None);
        let (Some(item), Some(usual), Some(server), false) =
            (heard.content.item.clone(), usual, self.server().cloned(), is_nowhere)
        else {
            return self.asked(heard);
        };
        self.looked_up.insert(heard.ask.clone(), heard.thread.clone());
        self.spawn(async move {
            let found = looked_up(&server, &heard.thread, file, item, usual).await;
            if let AskKind::Command(command) = &mut heard.content.kind {
                command.sandboxing = found;
            }
            Done::LookedUp(Box::new(heard))
        });
    }

    /// It is known where the command would run.
    pub(super) fn ask_looked_up(&mut self, heard: HeardAsk) {
        // It may have been answered elsewhere or withdrawn, or its connection may have ended.
        let Some(thread) = self.looked_up.remove(&heard.ask) else { return };
        if !self.threads.contains_key(&thread) {
            return self.hear_unknown(thread, Event::Request { id: heard.id, call: heard.call });
        }
        self.asked(heard);
    }

    /// Puts the question to the machine of its thread.
    fn asked(&mut self, heard: HeardAsk) {
        let HeardAsk { thread, ask, id, call, content } = heard;
        let turn = content.turn.clone();
        self.ask_owners.insert(ask.clone(), thread.clone());
        if let Some(entry) = self.threads.get_mut(&thread) {
            let pending = PendingAsk::new(id, call, self.epoch, content.clone());
            entry.asks.insert(ask.clone(), pending);
        }
        let what = What::Asked { ask, content: Box::new(content) };
        self.step(&thread, Signal::Codex(Said { turn, what }));
        self.tell_parents(&thread);
    }

    /// Codex wants no answer any more to what it asked there.
    pub(super) fn note_end_of_asks(&mut self, thread: &ThreadId, what: &What) {
        match what {
            What::AskResolved { ask } => drop(self.looked_up.remove(ask)),
            What::TurnCompleted(_) => self.looked_up.retain(|_, asking| asking != thread),
            _ => {}
        }
    }
}

/// One of several questions for one call: it is about something that the call runs.
pub(super) fn is_part(request: &ServerRequest<'_>) -> bool {
    matches!(request, ServerRequest::CommandApproval(it) if it.approval_id.is_some())
}

/// Where commands of such a thread run that do not ask to leave the sandbox, if they had to be asked for.
fn usual(settings: &ThreadSettings) -> Sandboxing {
    match (&settings.sandbox, &settings.approval_policy) {
        (SandboxPolicy::DangerFullAccess, _) => Sandboxing::Outside,
        (
            SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. },
            ApprovalPolicy::Untrusted,
        ) => Sandboxing::InsideFirst,
        (
            SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. },
            ApprovalPolicy::OnRequest,
        ) => Sandboxing::Inside,
        _ => Sandboxing::Unknown,
    }
}

async fn looked_up(
    server: &AppServer,
    thread: &ThreadId,
    file: Option<Option<String>>,
    call: ItemId,
    usual: Sandboxing,
) -> Sandboxing {
    let file = match file {
        Some(file) => file,
        None => file_of(server, thread).await,
    };
    let Some(file) = file.map(PathBuf::from) else { return Sandboxing::Unknown };
    let mut pauses = LOOKS_AGAIN_AFTER_MS.into_iter();
    loop {
        let (path, id) = (file.clone(), call.clone());
        let found = tokio::task::spawn_blocking(move || sandboxing(&path, &id, usual)).await;
        match found {
            Ok(Ok(Some(found))) => return found,
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::debug!(%error, %thread, "a rollout could not be read"),
            Err(error) => tracing::warn!(%error, %thread, "a rollout could not be read"),
        }
        match pauses.next() {
            Some(pause) => tokio::time::sleep(Duration::from_millis(pause)).await,
            None => return Sandboxing::Unknown,
        }
    }
}

/// Of a sub-agent, or of a thread that was not opened here.
async fn file_of(server: &AppServer, thread: &ThreadId) -> Option<String> {
    let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
    match server.call_within(&read, LOOK_DEADLINE).await {
        Ok(answer) => answer.thread.path,
        Err(error) => {
            tracing::warn!(%error, %thread, "the thread's file is not known, nor where its command runs");
            None
        }
    }
}
