//! Asks on their way to whoever answers, and the answers on their way back.

use std::time::Duration;

use ostler_model::thread::{IfBusy, Signal};
use ostler_model::{AskId, AskKind, Decision, InputId, ThreadId};
use uuid::Uuid;

use super::actor::{Actor, Done};
use super::entry::{Entry, PendingAsk};
use crate::protocol::reply::{ToolCallOutput, ToolCallReply};
use crate::protocol::{ask, parse_server_request};
use crate::thread::{Notice, Told, TurnInput};
use crate::wire::RequestId;

/// Codex gives the turn up after ten seconds; the answer must be on its way before.
const TOKENS_DEADLINE: Duration = Duration::from_secs(9);

/// JSON-RPC's code for a failure on our side.
const TOKENS_REFUSED: i64 = -32603;

impl Actor {
    /// A caller's decision. The reason of a refusal goes into the turn, because Codex's answer has no place for it.
    pub(super) fn decide(
        &mut self,
        ask: AskId,
        decision: Decision,
        by: String,
        reason: Option<String>,
    ) {
        let Some(thread) = self.ask_owners.get(&ask).cloned() else { return };
        let is_refusal = decision == Decision::Deny;
        self.step(&thread, Signal::Decide { ask, decision, by });
        if let Some(reason) = reason.filter(|_| is_refusal) {
            self.say_reason(&thread, reason);
        }
    }

    fn say_reason(&mut self, thread: &ThreadId, reason: String) {
        let Some(root) = self.root_mut(thread) else { return };
        let content = TurnInput::text(reason);
        let (input, kind) = (InputId::new(Uuid::now_v7().to_string()), content.kind());
        root.inputs.insert(input.clone(), content);
        self.step(thread, Signal::Send { input, kind, if_busy: IfBusy::Steer });
    }

    /// Brings an ask to the decider, if a caller has registered one; else the update is all they get.
    pub(super) fn put(&mut self, thread: &ThreadId, ask: AskId) {
        let root = self.root_of(thread);
        let root = root.and_then(|root| self.threads.get(&root)).and_then(Entry::as_root);
        let Some(decider) = root.and_then(|root| root.decider.clone()) else { return };
        let Some(pending) = self.pending(thread, &ask) else { return };
        // In a task of its own from its first line on: a panic of the caller's must not end the driver.
        let (asked, content) = (ask.clone(), pending.content.clone());
        let deciding = tokio::spawn(async move { (decider.0)(asked, content).await });
        let thread = thread.clone();
        self.spawn(async move {
            let decided = match deciding.await {
                Ok(decided) => decided,
                Err(error) => Err(format!("the decider failed: {error}")),
            };
            Done::Decided(thread, ask, decided)
        });
    }

    /// Runs a tool of ours.
    pub(super) fn serve(&mut self, thread: &ThreadId, ask: AskId) {
        let no_handler = Signal::NoHandler { ask: ask.clone() };
        let root = self.root_of(thread);
        let root = root.and_then(|root| self.threads.get(&root)).and_then(Entry::as_root);
        let pending = self.pending(thread, &ask);
        let call = match pending.map(|pending| &pending.content.kind) {
            Some(AskKind::ToolCall(call)) => call.clone(),
            _ => return self.step(thread, no_handler),
        };
        let (Some(pending), Some(tool)) =
            (pending.cloned(), root.and_then(|root| root.handlers.tool(&call)).cloned())
        else {
            return self.step(thread, no_handler);
        };
        let Some(server) = self.server().cloned() else { return };
        let running = tokio::spawn(async move { (tool.0)(call).await });
        let thread = thread.clone();
        self.spawn(async move {
            let reply = match running.await {
                Ok(reply) => reply,
                Err(error) => {
                    let reason = format!("the tool failed: {error}");
                    return Done::Signal(thread, Signal::DeciderFailed { ask, reason });
                }
            };
            let reply = ToolCallReply {
                content_items: reply.outputs.iter().map(ToolCallOutput::from).collect(),
                success: reply.succeeded,
            };
            let written = server.peer().answer(&pending.id, &reply).await;
            let signal = match written {
                Ok(()) => Signal::Answered { ask },
                Err(error) => Signal::AnswerLost { ask, reason: error.to_string() },
            };
            Done::Signal(thread, signal)
        });
    }

    pub(super) fn answer(&mut self, thread: &ThreadId, ask: AskId, decision: &Decision) {
        let epoch = self.epoch;
        let Some(pending) = self.pending(thread, &ask).filter(|it| it.epoch == epoch).cloned()
        else {
            let reason = "it was asked on a connection that is gone".to_owned();
            return self.step(thread, Signal::AnswerLost { ask, reason });
        };
        let Some(server) = self.server().cloned() else { return };
        let request = parse_server_request(&pending.call.method, pending.call.params_json());
        let reply = ask::answer(&request, decision, server.version());
        let thread = thread.clone();
        self.spawn(async move {
            let written = match reply {
                Ok(reply) => server.peer().answer(&pending.id, &reply).await,
                Err(error) => {
                    // The machine only gives what the ask takes, so this is a mistake of ours: fail closed.
                    tracing::error!(%error, "an answer does not fit its ask");
                    server.peer().refuse_unknown(&pending.id, &pending.call.method).await
                }
            };
            let signal = match written {
                Ok(()) => Signal::Answered { ask },
                Err(error) => Signal::AnswerLost { ask, reason: error.to_string() },
            };
            Done::Signal(thread, signal)
        });
    }

    pub(super) fn refuse(&mut self, thread: &ThreadId, ask: &AskId) {
        let epoch = self.epoch;
        if let Some(pending) = self.pending(thread, ask).filter(|it| it.epoch == epoch).cloned() {
            self.refuse_unknown(pending.id, pending.call.method.to_string());
        }
    }

    /// Tells Codex that nobody here handles this, so that the turn goes on.
    pub(super) fn refuse_unknown(&mut self, id: RequestId, method: String) {
        let Some(server) = self.server().cloned() else { return };
        self.spawn(async move {
            // If the connection ended, so did the question.
            drop(server.peer().refuse_unknown(&id, &method).await);
            Done::Nothing
        });
    }

    /// Codex wants fresh tokens. They go from their source to the wire and nowhere else.
    pub(super) fn refresh_tokens(&mut self, id: RequestId, account: Option<String>) {
        let Some(server) = self.server().cloned() else { return };
        let Some(source) = self.tokens.clone() else {
            let text = "codex wants fresh tokens, and nobody here has them; log in again with `codex login`";
            self.tell_all(&Told::Notice(Notice::Warning { text: text.to_owned() }));
            return self.refuse_unknown(id, "account/chatgptAuthTokens/refresh".to_owned());
        };
        self.spawn(async move {
            let tokens = tokio::time::timeout(TOKENS_DEADLINE, source.refresh(account)).await;
            let (reason, refusal) = match tokens {
                Ok(Ok(tokens)) => {
                    let written = server.peer().answer(&id, &tokens).await;
                    return Done::Notice(written.err().map(|error| error.to_string()));
                }
                Ok(Err(reason)) => (format!("no fresh tokens: {reason}"), "no fresh tokens"),
                Err(_) => ("no fresh tokens in time".to_owned(), "no fresh tokens in time"),
            };
            drop(server.peer().refuse(&id, TOKENS_REFUSED, refusal).await);
            Done::Notice(Some(reason))
        });
    }

    fn pending(&self, thread: &ThreadId, ask: &AskId) -> Option<&PendingAsk> {
        self.threads.get(thread)?.asks.get(ask)
    }

    pub(super) fn forget_ask(&mut self, thread: &ThreadId, ask: &AskId) {
        self.ask_owners.remove(ask);
        if let Some(entry) = self.threads.get_mut(thread) {
            entry.asks.remove(ask);
        }
    }
}
