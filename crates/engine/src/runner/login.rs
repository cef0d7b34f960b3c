//! A login that was refused: which one it was, and whether there is another now.

use ostler_model::TaskState;
use ostler_model::task::machine::Signal;
use ostler_model::task::{Awaited, Tries};

use super::Runner;
use super::perform::Todo;

impl Runner {
    /// The login that counts is the one that the app-server was started with: whoever has logged in since need not wait.
    pub(super) fn note_refused_login(&mut self) {
        let used = self.stage.as_ref().and_then(|stage| stage.seat.login()).map(str::to_owned);
        let used = used.unwrap_or_else(|| self.shared.pool.login(&self.machine.task().settings));
        if let Some(tries) = &mut self.machine.task_mut().tally.tries {
            tries.login = Some(used);
        }
        self.todo.push(Todo::Retire);
    }

    /// Goes on if the login on disk is not the one that was refused, now or when it is another.
    pub(super) fn look_at_login(&mut self) {
        let task = self.machine.task();
        let Some(Tries { on: Awaited::Login, login: Some(refused), .. }) = &task.tally.tries else {
            return;
        };
        if task.state != TaskState::Parked {
            return;
        }
        match *refused == self.shared.pool.login(&task.settings) {
            true => self.shared.pool.watch_login(&task.settings, refused.clone()),
            false => self.step(Signal::LoginChanged),
        }
    }
}
