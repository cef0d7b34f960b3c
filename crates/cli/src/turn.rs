//! One turn, watched from the prompt to its end: what it tells is shown, what it asks is put to whoever answers.
//!
//! Driving is the driver's; this only listens, shows, and passes on what the person wants.

mod answers;
mod asked;
mod goal;
mod signs;
mod tally;

use std::time::Duration;

use ostler_codex::thread::{SendTicket, Thread, ThreadUpdate, ThreadUpdates, Told};
use ostler_model::thread::{DecisionRefusal, Update};
use ostler_model::{Failure, FailureClass, InputId, TurnResult};
use tokio_util::task::AbortOnDropHandle;

use crate::asking::Memory;
use crate::conversation::{Screen, Shown, translate};
pub(crate) use answers::Answers;
pub(crate) use asked::{Asked, Heard};
use goal::GoalWatch;
pub(crate) use signs::{Sign, Signs};
pub(crate) use tally::Tally;

/// After this long without a word a moving line shows that somebody is at work. Shorter silences are between any two words.
const QUIET: Duration = Duration::from_millis(400);

/// How the watch came to its end.
#[derive(Debug)]
pub(crate) enum End {
    Turn(Box<TurnResult>),
    /// The prompt did not become a turn.
    Refused(Failure),
    /// The person went, and the turn goes on.
    Detached(Detached),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detached {
    /// With a second Ctrl-C, or another signal.
    BySignal,
    /// A question waits for them.
    Asked,
}

/// What a watch came to.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) end: End,
    pub(crate) tally: Tally,
    /// The person interrupted the turn with this.
    pub(crate) interrupted_with: Option<Sign>,
}

pub(crate) struct Watch<'a> {
    thread: &'a Thread,
    screen: &'a mut Screen,
    asked: Asked,
    tally: Tally,
    /// The input whose end is waited for; without one, the end of the turn that runs.
    input: Option<InputId>,
    last: Option<Box<TurnResult>>,
    goal: GoalWatch,
    interrupted_with: Option<Sign>,
    /// Runs until the turn has ended.
    interrupting: Option<AbortOnDropHandle<()>>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        thread: &'a Thread,
        ticket: Option<&SendTicket>,
        answers: Answers,
        screen: &'a mut Screen,
    ) -> Self {
        Self {
            thread,
            screen,
            asked: Asked::new(answers, Memory::Codex),
            tally: Tally::default(),
            input: ticket.map(|ticket| ticket.input.clone()),
            last: None,
            goal: GoalWatch::default(),
            interrupted_with: None,
            interrupting: None,
        }
    }

    /// Watches until the turn ends or the person goes. Dropping it changes nothing about the turn.
    pub(crate) async fn run(mut self, updates: &mut ThreadUpdates, signs: &mut Signs) -> Watched {
        let end = loop {
            let told = tokio::select! {
                biased;
                sign = signs.next() => match self.sign(sign) {
                    Some(end) => break end,
                    None => continue,
                },
                told = updates.next() => told,
                line = self.asked.line() => match self.asked.typed(line, self.screen) {
                    Heard::Nothing => continue,
                    Heard::Decided(ask, decided) => {
                        self.thread.answer(ask, decided).await;
                        continue;
                    }
                    Heard::Later => break End::Detached(Detached::Asked),
                },
                () = tokio::time::sleep(QUIET) => {
                    self.screen.move_on();
                    continue;
                }
            };
            let Some(told) = told else {
                let message = "the driver of the thread has ended";
                break End::Refused(Failure::new(FailureClass::ServerGone, message));
            };
            if let Some(end) = self.told(&told).await {
                break end;
            }
        };
        let Self { tally, interrupted_with, screen, .. } = self;
        screen.end_line();
        Watched { end, tally, interrupted_with }
    }

    async fn told(&mut self, told: &ThreadUpdate) -> Option<End> {
        let line = translate::line(told);
        let Told::Update(update) = &told.what else {
            line.iter().for_each(|line| self.screen.show(line));
            return None;
        };
        self.tally.count(update, self.asked.has_nobody());
        if let Update::AskClosed { ask, .. } = update {
            // Before the line that says how it ended.
            self.asked.closed(ask, self.screen);
        }
        if let Some(line) = line {
            self.screen.show(&line);
        }
        match update {
            Update::AskOpened { ask, content } => {
                if let Some(decided) = self.asked.opened(ask, content, self.screen) {
                    self.thread.answer(ask.clone(), decided).await;
                }
            }
            Update::AskClosed { .. } => self.asked.put_next(self.screen),
            Update::DecisionRefused { ask, why: DecisionRefusal::NotOffered, .. } => {
                self.asked.refused(ask, self.screen);
            }
            _ => {}
        }
        if told.agent.is_some() {
            return None;
        }
        let end = self.end(update);
        self.goal.hear(update, end)
    }

    /// Whether this was what we waited for.
    fn end(&mut self, update: &Update) -> Option<End> {
        match (update, &self.input) {
            (Update::TurnEnded { result }, None) => return Some(End::Turn(result.clone())),
            (Update::TurnEnded { result }, Some(input)) if result.inputs.contains(input) => {
                return Some(End::Turn(result.clone()));
            }
            (Update::TurnEnded { result }, Some(_)) => self.last = Some(result.clone()),
            // The proof that a turn answered the input may come after its end.
            (Update::InputTaken { input: taken, turn }, Some(input)) if taken == input => {
                let last = self.last.take().filter(|result| result.turn == *turn);
                return last.map(End::Turn);
            }
            (Update::InputRefused { input: refused, failure, .. }, Some(input))
                if refused == input =>
            {
                return Some(End::Refused(failure.clone()));
            }
            _ => {}
        }
        None
    }

    /// The first wish to stop interrupts the turn, the second goes away from it.
    fn sign(&mut self, sign: Sign) -> Option<End> {
        if sign.is_farewell() || self.interrupted_with.is_some() {
            return Some(End::Detached(Detached::BySignal));
        }
        self.interrupted_with = Some(sign);
        let (thread, by) = (self.thread.clone(), sign.by().to_owned());
        let interrupting = tokio::spawn(async move { thread.interrupt(by).await });
        self.interrupting = Some(AbortOnDropHandle::new(interrupting));
        self.screen.take_off();
        self.screen.show(&Shown::Step { text: sign.notice().to_owned() }.into());
        None
    }
}
