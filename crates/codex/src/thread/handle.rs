//! The handle of a thread.

use std::sync::Arc;

use ostler_model::thread::{Deciders, IfBusy};
use ostler_model::{AskId, Failure, FailureClass, InputId, ThreadId};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::handlers::{Decided, Decider};
use super::input::{InputError, TurnInput};
use super::open::OpenedThread;
use super::settings::{InvalidSettings, ThreadSettings};
use super::update::TurnOutcome;
use crate::driver::DEFAULT_IF_BUSY;
use crate::driver::command::{Command, Outcome};

/// One thread that a caller can trust. Cheap to clone.
///
/// Nothing here waits for Codex except where it says so; what becomes of an input or an answer is told by the updates.
#[derive(Debug, Clone)]
pub struct Thread {
    opened: Arc<OpenedThread>,
    commands: mpsc::Sender<Command>,
}

/// An input on its way.
#[derive(Debug)]
pub struct SendTicket {
    /// The name under which Codex and the updates know it.
    pub input: InputId,
    outcome: oneshot::Receiver<Outcome>,
}

impl Thread {
    pub(crate) fn new(opened: Arc<OpenedThread>, commands: mpsc::Sender<Command>) -> Self {
        Self { opened, commands }
    }

    pub fn id(&self) -> &ThreadId {
        &self.opened.id
    }

    /// What Codex said when it was opened: the model, what is not as asked, and whether a turn ran already.
    pub fn opened(&self) -> &OpenedThread {
        &self.opened
    }

    /// Sends an input and waits for the end of the turn that answers it.
    pub async fn run(&self, input: TurnInput) -> Result<TurnOutcome, Failure> {
        let ticket = self
            .send(input, DEFAULT_IF_BUSY)
            .await
            .map_err(|error| Failure::new(FailureClass::BadRequest, error.to_string()))?;
        ticket.outcome().await
    }

    /// Hands over an input. It is not lost: it ends as taken by a turn, or as refused.
    pub async fn send(&self, input: TurnInput, if_busy: IfBusy) -> Result<SendTicket, InputError> {
        self.send_as(InputId::new(Uuid::now_v7().to_string()), input, if_busy).await
    }

    /// The same under an id of the caller's, which must never be used twice in one Codex home.
    pub async fn send_as(
        &self,
        id: InputId,
        input: TurnInput,
        if_busy: IfBusy,
    ) -> Result<SendTicket, InputError> {
        input.check()?;
        let (outcome, answer) = oneshot::channel();
        self.say(Command::Send {
            thread: self.opened.id.clone(),
            input: id.clone(),
            content: Box::new(input),
            if_busy,
            outcome,
        })
        .await;
        Ok(SendTicket { input: id, outcome: answer })
    }

    /// Ends the turn that runs, or the one that is about to begin, and waits until it has ended. The wait is bounded by
    /// the limits of the thread; a turn that does not end by then is given up.
    pub async fn interrupt(&self, by: impl Into<String>) {
        let (idle, done) = oneshot::channel();
        self.say(Command::Interrupt { thread: self.opened.id.clone(), by: by.into(), idle }).await;
        // The driver lets go of the sender when it is over.
        drop(done.await);
    }

    /// Answers an ask of this thread or of a sub-agent of it. The first answer that the ask takes counts; of any other
    /// an update says why it does not.
    pub async fn answer(&self, ask: AskId, decided: Decided) {
        self.say(Command::Decide { thread: self.id().clone(), ask, decided }).await;
    }

    /// Lets this decider answer all asks from now on, those that wait included. Whoever was at one of them is dismissed.
    pub async fn decide_with(&self, decider: Decider) {
        self.set_deciders(Deciders::Present, Some(decider)).await;
    }

    /// Says that nobody will answer: asks are declined, with that reason.
    pub async fn decide_with_nobody(&self) {
        self.set_deciders(Deciders::Nobody, None).await;
    }

    /// Dismisses the decider and lets asks wait until somebody answers.
    pub async fn await_decider(&self) {
        self.set_deciders(Deciders::Awaited, None).await;
    }

    /// From the next turn on. The cwd, sandbox and policy are part of each turn; the rest is only for opening it again.
    pub async fn change_settings(&self, settings: ThreadSettings) -> Result<(), InvalidSettings> {
        settings.check()?;
        let thread = self.opened.id.clone();
        self.say(Command::ChangeSettings { thread, settings: Box::new(settings) }).await;
        Ok(())
    }

    /// Turns away from the thread: it is no longer watched. A turn that runs goes on without us.
    pub async fn close(self) {
        let (done, ended) = oneshot::channel();
        self.say(Command::Forget { thread: self.opened.id.clone(), done }).await;
        drop(ended.await);
    }

    async fn set_deciders(&self, deciders: Deciders, decider: Option<Decider>) {
        self.say(Command::Deciders { thread: self.opened.id.clone(), deciders, decider }).await;
    }

    /// A driver that has ended takes no command; whoever waits for an answer learns it from the answer's end.
    async fn say(&self, command: Command) {
        drop(self.commands.send(command).await);
    }
}

impl SendTicket {
    /// Waits for the end of the turn that answers the input.
    pub async fn outcome(self) -> Result<TurnOutcome, Failure> {
        self.outcome.await.unwrap_or_else(|_| {
            Err(Failure::new(FailureClass::ServerGone, "the driver of the thread has ended"))
        })
    }
}
