//! Asks on their way to whoever answers, and the answers on their way back.

use std::time::{Duration, SystemTime};

use ostler_model::thread::{IfBusy, Signal};
use ostler_model::{Ask, AskId, AskKind, Decision, InputId, ThreadId};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::WireLines;
use super::actor::{Actor, Done};
use super::entry::{Entry, PendingAsk};
use super::guard::guarded;
use crate::protocol::reply::{CurrentTimeReply, ToolCallOutput, ToolCallReply};
use crate::protocol::{ask, parse_server_request};
use crate::thread::{Decided, Notice, Told, TurnInput};
use crate::wire::RequestId;

/// Codex gives the turn up after ten seconds; the answer must be on its way before.
const TOKENS_DEADLINE: Duration = Duration::from_secs(9);

/// JSON-RPC's code for a failure on our side.
const TOKENS_REFUSED: i64 = -32603;

/// Codex answers a steer within milliseconds; a refusal must not hang on its reason.
const REASON_DEADLINE: Duration = Duration::from_secs(5);

impl Actor {
    /// A caller's decision.
    pub(super) fn decide(&mut self, watcher: &ThreadId, ask: AskId, decided: Decided) {
        let owner = self.ask_owners.get(&ask).filter(|owner| {
            let root = self.root_of(owner);
            root.is_some() && root == self.root_of(watcher)
        });
        let thread = owner.unwrap_or(watcher).clone();
        let Decided { decision, by, reason } = decided;
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        if let Some(reason) = reason.filter(|_| decision == Decision::Deny)
            && self.takes(&thread, &ask, &decision)
        {
            // Before the refusal, for the model may have said its last word right after it.
            self.say_reason(&thread, &ask, reason);
        }
        self.step(&thread, Signal::Decide { ask, decision, by });
    }

    /// The decision of the caller's decider. Nobody else is at this ask, so one that does not count is a refusal.
    pub(super) fn decider_decided(
        &mut self,
        thread: &ThreadId,
        ask: AskId,
        decided: Result<Decided, String>,
    ) {
        let reason = match decided {
            Ok(decided) if self.takes(thread, &ask, &decided.decision) => {
                return self.decide(thread, ask, decided);
            }
            Ok(Decided { by, .. }) => format!("the ask does not take the decision of {by}"),
            Err(reason) => reason,
        };
        self.step(thread, Signal::DeciderFailed { ask, reason });
    }

    fn takes(&self, thread: &ThreadId, ask: &AskId, decision: &Decision) -> bool {
        self.threads.get(thread).is_some_and(|entry| entry.machine.takes(ask, decision))
    }

    fn say_reason(&mut self, thread: &ThreadId, ask: &AskId, reason: String) {
        let Some(root) = self.root_mut(thread) else { return };
        let content = TurnInput::text(reason);
        if let Err(error) = content.check() {
            tracing::warn!(%error, "the reason of a refusal cannot be said");
            return;
        }
        let (input, kind) = (InputId::new(Uuid::now_v7().to_string()), content.kind());
        root.send(input.clone(), content);
        let told = CancellationToken::new();
        root.reasons.insert(input.clone(), told.clone());
        self.step(thread, Signal::Send { input: input.clone(), kind, if_busy: IfBusy::Steer });
        // If it waits for its time, so need not the answer.
        let waits = self.root_mut(thread).and_then(|root| root.reasons.remove(&input)).is_some();
        if !waits && let Some(pending) = self.pending_mut(thread, ask) {
            pending.reason_told = Some(told);
        }
    }

    /// Brings an ask to the decider, if a caller has registered one; else the update is all they get.
    pub(super) fn put(&mut self, thread: &ThreadId, ask: &AskId) {
        let root = self.root_of(thread);
        let root = root.and_then(|root| self.threads.get(&root)).and_then(Entry::as_root);
        let Some(decider) = root.and_then(|root| root.decider.clone()) else { return };
        let Some(pending) = self.pending(thread, ask) else { return };
        let (mut content, decided_ask, thread_id) =
            (pending.content.clone(), ask.clone(), thread.clone());
        self.filter.ask(&mut content);
        let work = self.spawn(async move {
            let id = decided_ask.clone();
            let decided = guarded(async move { (decider.0)(id, content).await }).await;
            let decided =
                decided.unwrap_or_else(|panic| Err(format!("the decider panicked: {panic}")));
            Done::Decided(thread_id, decided_ask, decided)
        });
        self.at_work(thread, ask, work);
    }

    /// Runs a tool of ours.
    pub(super) fn serve(&mut self, thread: &ThreadId, ask: &AskId) {
        let no_handler = Signal::NoHandler { ask: ask.clone() };
        let root = self.root_of(thread);
        let root = root.and_then(|root| self.threads.get(&root)).and_then(Entry::as_root);
        let pending = self.pending(thread, ask);
        let call = match pending.map(|pending| &pending.content.kind) {
            Some(AskKind::ToolCall(call)) => call.clone(),
            _ => return self.step(thread, no_handler),
        };
        let (Some(id), Some(tool)) = (
            pending.map(|pending| pending.id.clone()),
            root.and_then(|root| root.handlers.tool(&call)).cloned(),
        ) else {
            return self.step(thread, no_handler);
        };
        let Some(server) = self.server().cloned() else { return };
        let (served_ask, thread_id) = (ask.clone(), thread.clone());
        let work = self.spawn(async move {
            let ask = served_ask;
            let reply = match guarded(async move { tool.call(call).await }).await {
                Ok(reply) => reply,
                Err(panic) => {
                    let reason = format!("the tool panicked: {panic}");
                    return Done::Signal(thread_id, Signal::DeciderFailed { ask, reason });
                }
            };
            let reply = ToolCallReply {
                content_items: reply.outputs.iter().map(ToolCallOutput::from).collect(),
                success: reply.succeeded,
            };
            let signal = match server.peer().answer(&id, &reply).await {
                Ok(()) => Signal::Answered { ask },
                Err(error) => Signal::AnswerLost { ask, reason: error.to_string() },
            };
            Done::Signal(thread_id, signal)
        });
        self.at_work(thread, ask, work);
    }

    pub(super) fn answer(&mut self, thread: &ThreadId, ask: AskId, decision: &Decision) {
        let epoch = self.epoch;
        let Some(pending) = self.pending(thread, &ask).filter(|it| it.epoch == epoch).cloned()
        else {
            let reason = "it was asked on a connection that is gone".to_owned();
            return self.step(thread, Signal::AnswerLost { ask, reason });
        };
        let Some(server) = self.server().cloned() else { return };
        self.hide_secrets(thread, &pending.content, decision);
        let request = parse_server_request(&pending.call.method, pending.call.params_json());
        let decision = self.filter.as_asked(&pending.content, decision);
        let reply = ask::answer(&request, &decision, server.version());
        let thread = thread.clone();
        self.spawn(async move {
            if let Some(told) = pending.reason_told {
                // In time or not, the answer goes out.
                drop(tokio::time::timeout(REASON_DEADLINE, told.cancelled()).await);
            }
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

    /// Codex may repeat what was typed as a secret; nobody else is told of it.
    fn hide_secrets(&self, thread: &ThreadId, content: &Ask, decision: &Decision) {
        let (AskKind::UserInput(asked), Decision::Answers(answers)) = (&content.kind, decision)
        else {
            return;
        };
        let root = self.root_of(thread).and_then(|root| self.threads.get(&root)?.as_root());
        let secret = asked.questions.iter().filter(|question| question.is_secret);
        for answer in secret.filter_map(|question| answers.get(&question.id)).flatten() {
            // One that is too short cannot be told from ordinary text.
            self.filter.secrets().add(answer);
            if let Some(WireLines::Overheard(lines)) = root.map(|root| &root.lines) {
                // The task may go on in another app-server.
                lines.hide(answer);
            }
        }
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
            let refreshed = guarded(async move { source.refresh(account).await });
            // The words of a panic are not repeated: they may hold what they were about.
            let tokens = tokio::time::timeout(TOKENS_DEADLINE, refreshed)
                .await
                .map(|tokens| tokens.unwrap_or_else(|_| Err("their source panicked".to_owned())));
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

    /// Codex was set up to ask its client for the time (`features.current_time_reminder`, 0.142.5 and later).
    pub(super) fn tell_time(&mut self, id: RequestId) {
        let Some(server) = self.server().cloned() else { return };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = CurrentTimeReply {
            current_time_at: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        };
        self.spawn(async move {
            // If the connection ended, so did the question.
            drop(server.peer().answer(&id, &now).await);
            Done::Nothing
        });
    }

    /// The decider that was at the asks of this thread has nothing more to say about them.
    pub(super) fn dismiss_decider(&mut self, thread: &ThreadId) {
        let Some(entry) = self.threads.get_mut(thread) else { return };
        let is_people = |ask: &&mut PendingAsk| !matches!(ask.content.kind, AskKind::ToolCall(_));
        entry.asks.values_mut().filter(is_people).for_each(PendingAsk::dismiss);
    }

    fn at_work(&mut self, thread: &ThreadId, ask: &AskId, work: AbortHandle) {
        if let Some(pending) = self.pending_mut(thread, ask) {
            pending.dismiss();
            pending.work = Some(work);
        }
    }

    fn pending_mut(&mut self, thread: &ThreadId, ask: &AskId) -> Option<&mut PendingAsk> {
        self.threads.get_mut(thread)?.asks.get_mut(ask)
    }

    fn pending(&self, thread: &ThreadId, ask: &AskId) -> Option<&PendingAsk> {
        self.threads.get(thread)?.asks.get(ask)
    }

    pub(super) fn forget_ask(&mut self, thread: &ThreadId, ask: &AskId) {
        self.ask_owners.remove(ask);
        let entry = self.threads.get_mut(thread);
        if let Some(mut pending) = entry.and_then(|entry| entry.asks.remove(ask)) {
            pending.dismiss();
        }
    }
}
