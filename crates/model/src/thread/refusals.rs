//! Inputs that do not get to Codex, or of which nobody can say whether they did.

use super::effect::{Effect, Update};
use super::inputs::{Given, GivenState};
use super::machine::Machine;
use crate::failure::Failure;
use crate::id::{InputId, TurnId};

impl Machine {
    /// Codex gives up a turn that it never began; 0.130.0 does so with an input it cannot use.
    pub(super) fn refuse_unbegun(
        &mut self,
        turn: Option<&TurnId>,
        failure: Failure,
        out: &mut Vec<Effect>,
    ) {
        let named = |given: &Given| match &given.state {
            GivenState::Acknowledged(Some(named)) => Some(named) == turn,
            _ => false,
        };
        if let Some(at) = self.given.iter().position(named) {
            let input = self.given.remove(at).waiting.input;
            self.refused(input, failure, out);
            self.next(out);
        }
    }

    /// Nobody can be asked any more: whoever sent these must know.
    pub(super) fn refuse_all(&mut self, failure: &Failure, out: &mut Vec<Effect>) {
        let given = std::mem::take(&mut self.given);
        let (doubtful, sent): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|given| given.state != GivenState::Sent);
        // The answer to those is still on its way.
        self.given = sent;
        for given in doubtful {
            let mut failure = failure.clone();
            failure.message = format!("{}; codex may have got this input", failure.message);
            self.refused_in_doubt(given.waiting.input, failure, out);
        }
        for waiting in std::mem::take(&mut self.queue) {
            self.refused(waiting.input, failure.clone(), out);
        }
    }

    pub(super) fn refused(&mut self, input: InputId, failure: Failure, out: &mut Vec<Effect>) {
        self.tell_refused(input, failure, false, out);
    }

    pub(super) fn refused_in_doubt(
        &mut self,
        input: InputId,
        failure: Failure,
        out: &mut Vec<Effect>,
    ) {
        self.tell_refused(input, failure, true, out);
    }

    fn tell_refused(
        &mut self,
        input: InputId,
        failure: Failure,
        may_have_run: bool,
        out: &mut Vec<Effect>,
    ) {
        if self.early_interrupt.as_ref().is_some_and(|early| early.input == input) {
            self.early_interrupt = None;
        }
        out.push(Effect::Tell(Update::InputRefused { input, failure, may_have_run }));
    }
}
