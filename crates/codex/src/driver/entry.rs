//! One thread as the driver holds it: its machine, and what the machine's effects need.

use std::collections::{HashMap, VecDeque};

use ostler_model::thread::{Limits, Machine};
use ostler_model::{Ask, AskId, FailureClass, InputId, Message, ThreadId, TurnId, TurnResult};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::command::{Adopt, Adopted, Arrival, History, Outcome};
use super::context::Confirmed;
use super::messages::TurnMessages;
use super::missed::ToldItems;
use super::outbox::Watcher;
use super::remembered::Remembered;
use super::{Messages, WireLines, echo};
use crate::protocol::CodexVersion;
use crate::protocol::request::turn::{CollaborationMode, CollaborationSettings, Mode};
use crate::thread::settings::ThreadSettings;
use crate::thread::{Agent, Decider, ThreadHandlers, TurnInput, TurnOutcome};
use crate::wire::{Call, RequestId};

/// Outcomes that are kept for inputs whose proof comes after the end of their turn.
const KEPT_OUTCOMES: usize = 2;

/// A thread that is driven.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) machine: Machine,
    pub(super) role: Role,
    pub(super) asks: HashMap<AskId, PendingAsk>,
    /// Times it was opened again in vain.
    pub(super) reopenings: u8,
    pub(super) told: ToldItems,
    pub(super) stderr: StderrShare,
}

/// What of the app-server's stderr may be shown as evidence of a failed turn: all threads of the app-server write to it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StderrShare {
    /// How long it was when the turn began; absent if nobody saw that.
    pub(super) mark: Option<u64>,
    /// Another conversation was there meanwhile.
    pub(super) is_shared: bool,
}

impl StderrShare {
    /// What of these lines is about this thread.
    pub(super) fn cut(self, said: &str, names: &[&str]) -> Option<String> {
        if !self.is_shared && self.mark.is_some() {
            return Some(said.to_owned());
        }
        let is_own = |line: &&str| names.iter().any(|name| line.contains(name));
        let own: Vec<&str> = said.lines().filter(is_own).collect();
        (!own.is_empty()).then(|| own.join("\n"))
    }
}

#[derive(Debug)]
pub(super) enum Role {
    /// A caller opened it.
    Root(Box<Root>),
    /// Codex started it by itself.
    Child { agent: Agent, parent: ThreadId },
}

#[derive(Debug)]
pub(super) struct Root {
    pub(super) settings: ThreadSettings,
    /// Its rollout, as Codex said when this thread was opened; an ephemeral one has none.
    pub(super) file: Option<(ThreadId, Option<String>)>,
    pub(super) limits: Limits,
    pub(super) used: UsedModel,
    pub(super) handlers: ThreadHandlers,
    pub(super) decider: Option<Decider>,
    pub(super) watcher: Watcher,
    pub(super) lines: WireLines,
    pub(super) inputs: HashMap<InputId, TurnInput>,
    pub(super) confirmed: Confirmed,
    /// Inputs that are the reason of an answer, which waits for them.
    pub(super) reasons: HashMap<InputId, CancellationToken>,
    pub(super) waiters: HashMap<InputId, oneshot::Sender<Outcome>>,
    /// Those who wait for the thread to be at rest.
    pub(super) idle_waiters: Vec<oneshot::Sender<()>>,
    pub(super) outcomes: VecDeque<TurnOutcome>,
    pub(super) messages: TurnMessages,
    /// The same with their secrets, of an ephemeral thread only: a thread that takes its place is given them.
    pub(super) plain: Option<TurnMessages>,
    /// Turns have been seen, so Codex has a history of it.
    pub(super) has_turns: bool,
    /// Kept of an ephemeral thread only; of others Codex has a file.
    pub(super) remembered: Option<Remembered>,
}

/// The model of a thread as Codex knows it: what a turn changes stays for later ones.
#[derive(Debug, Clone, Default)]
pub(super) struct UsedModel {
    pub(super) model: Option<String>,
    effort: Option<String>,
}

impl UsedModel {
    pub(super) fn with(&self, input: &TurnInput) -> Self {
        Self {
            model: input.model.clone().or_else(|| self.model.clone()),
            effort: match input.resets_effort {
                true => input.effort.clone(),
                false => input.effort.clone().or_else(|| self.effort.clone()),
            },
        }
    }

    /// Codex keeps an effort until it is given another; only a mode without one gives the model its own again (0.142.5, 0.166.0).
    pub(super) fn mode_of_reset(&self, input: &TurnInput) -> Option<Mode> {
        (input.resets_effort && self.effort.is_none() && self.model.is_some())
            .then_some(Mode::Default)
    }

    /// A mode comes with a model and an effort, which count instead of those of the turn.
    pub(super) fn mode(&self, mode: Mode) -> Option<CollaborationMode> {
        let settings = CollaborationSettings {
            model: self.model.clone()?,
            reasoning_effort: self.effort.clone(),
        };
        Some(CollaborationMode { mode, settings })
    }
}

/// A question of Codex that waits for an answer.
#[derive(Debug, Clone)]
pub(super) struct PendingAsk {
    pub(super) id: RequestId,
    pub(super) call: Call,
    /// The connection it came on; on another one the id means nothing.
    pub(super) epoch: u64,
    pub(super) content: Ask,
    /// The decider or the tool that is at it.
    pub(super) work: Option<AbortHandle>,
    /// Ends when the reason for the answer has reached Codex, or could not.
    pub(super) reason_told: Option<CancellationToken>,
}

impl PendingAsk {
    pub(super) fn new(id: RequestId, call: Call, epoch: u64, content: Ask) -> Self {
        Self { id, call, epoch, content, work: None, reason_told: None }
    }

    /// Whoever is at it need not go on.
    pub(super) fn dismiss(&mut self) {
        if let Some(work) = self.work.take() {
            work.abort();
        }
    }
}

impl Entry {
    pub(super) fn root(adopt: Adopt) -> (Self, Arrival, oneshot::Sender<Adopted>) {
        let Adopt { on, opened, settings, options, updates, arrival, adopted } = adopt;
        let machine = Machine::new(options.limits.clone(), echo(on.server.version()));
        let remembered = settings.ephemeral.then(Remembered::default);
        // What is remembered of a thread without a file is its messages.
        let gathered = if settings.ephemeral { Messages::Gathered } else { options.messages };
        let told = &opened.reply.thread;
        let file = told.thread_id().map(|id| (id.clone(), told.path.clone()));
        let root = Root {
            settings,
            file,
            limits: options.limits,
            used: UsedModel { model: opened.model, effort: opened.effort },
            handlers: options.handlers,
            decider: None,
            watcher: Watcher::new(updates, options.patience),
            lines: options.lines,
            inputs: HashMap::new(),
            confirmed: Confirmed::default(),
            reasons: HashMap::new(),
            waiters: HashMap::new(),
            idle_waiters: Vec::new(),
            outcomes: VecDeque::new(),
            messages: TurnMessages::new(gathered),
            plain: remembered.is_some().then(TurnMessages::default),
            has_turns: matches!(arrival, Arrival::Opened(History::Kept)),
            remembered,
        };
        let role = Role::Root(Box::new(root));
        (
            Self {
                machine,
                role,
                asks: HashMap::new(),
                reopenings: 0,
                told: ToldItems::default(),
                stderr: StderrShare::default(),
            },
            arrival,
            adopted,
        )
    }

    /// A sub-agent has the limits of the thread above it, but for the budget: that one counts there.
    pub(super) fn child(
        agent: Agent,
        parent: ThreadId,
        limits: &Limits,
        version: &CodexVersion,
    ) -> Self {
        let limits = Limits { budget: None, ..limits.clone() };
        Self {
            machine: Machine::new(limits, echo(version)),
            role: Role::Child { agent, parent },
            asks: HashMap::new(),
            reopenings: 0,
            told: ToldItems::default(),
            stderr: StderrShare::default(),
        }
    }

    /// The thread above has got another id.
    pub(super) fn follow(&mut self, old: &ThreadId, new: &ThreadId) {
        if let Role::Child { parent, .. } = &mut self.role
            && parent == old
        {
            *parent = new.clone();
        }
    }

    pub(super) fn as_root(&self) -> Option<&Root> {
        match &self.role {
            Role::Root(root) => Some(root),
            Role::Child { .. } => None,
        }
    }

    pub(super) fn as_root_mut(&mut self) -> Option<&mut Root> {
        match &mut self.role {
            Role::Root(root) => Some(root),
            Role::Child { .. } => None,
        }
    }
}

impl Root {
    /// The turn has ended: whoever waits for one of its inputs learns how.
    pub(super) fn conclude(
        &mut self,
        thread: &ThreadId,
        result: &TurnResult,
        messages: Vec<Message>,
        plain: Option<Vec<Message>>,
    ) {
        // A turn that died with its app-server may have died before Codex wrote anything down.
        let died = result.failure().is_some_and(|it| it.class == FailureClass::ServerGone);
        self.has_turns |= !died;
        if let Some(remembered) = &mut self.remembered {
            let prompts = result.inputs.iter().filter_map(|input| self.inputs.get(input)?.prompt());
            remembered.add(prompts.map(Message::user).chain(plain.unwrap_or_default()).collect());
        }
        let outcome = TurnOutcome { thread: thread.clone(), result: result.clone(), messages };
        for input in &result.inputs {
            self.settle(input, Ok(outcome.clone()));
        }
        self.keep(outcome);
    }

    /// No turn runs, or the one that was to be interrupted does not any more.
    pub(super) fn note_end(&mut self) {
        self.idle_waiters.clear();
    }

    /// An input was taken by a turn that is over already.
    pub(super) fn taken(&mut self, input: &InputId, turn: &TurnId) {
        let ended = self.outcomes.iter().find(|outcome| outcome.result.turn == *turn).cloned();
        if let Some(outcome) = ended {
            self.settle(input, Ok(outcome));
        }
    }

    /// An input on its way.
    pub(super) fn send(&mut self, input: InputId, content: TurnInput) {
        let prompt = content.prompt().unwrap_or_default();
        if let Some(plain) = &mut self.plain {
            plain.sent(input.clone(), prompt.clone());
        }
        self.messages.sent(input.clone(), prompt);
        self.inputs.insert(input, content);
    }

    pub(super) fn settle(&mut self, input: &InputId, outcome: Outcome) {
        self.inputs.remove(input);
        self.confirmed.forget(input);
        if let Some(waiter) = self.waiters.remove(input) {
            // Whoever sent it may not want to know.
            drop(waiter.send(outcome));
        }
    }

    fn keep(&mut self, outcome: TurnOutcome) {
        if self.outcomes.len() == KEPT_OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::StderrShare;

    #[test]
    fn of_a_stderr_that_is_shared_only_the_own_lines_are_evidence() {
        let said =
            "WARN session{thread_id=mine}: slow\nERROR session{thread_id=other}: their words";
        let names = ["mine", "turn-1"];
        let cut = |mark, is_shared| StderrShare { mark, is_shared }.cut(said, &names);
        let own = Some("WARN session{thread_id=mine}: slow".to_owned());
        assert_eq!(cut(Some(0), false).as_deref(), Some(said));
        assert_eq!(cut(Some(0), true), own);
        // Whoever was there before the turn was seen is not known.
        assert_eq!(cut(None, false), own);
        assert_eq!(StderrShare::default().cut("their words", &names), None);
    }
}
