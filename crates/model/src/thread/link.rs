//! What happens when the connection to the app-server breaks. A turn may run on without us.

use super::effect::{Effect, ServerWanted, Update, Withdrawal};
use super::liveness::seen_turn;
use super::machine::Machine;
use super::signal::{SaidEnd, View};
use crate::failure::{Failure, FailureClass};
use crate::moment::Moment;
use crate::turn::TurnEnd;

/// Times a thread is opened again without a turn beginning, before its inputs are given back.
const REOPENS: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Up,
    Down,
    Reopening(ServerWanted),
}

impl Machine {
    pub(super) fn closed(&mut self, reason: String, out: &mut Vec<Effect>) {
        if self.link == Link::Down {
            return;
        }
        out.push(Effect::Tell(Update::Disconnected { reason }));
        self.withdraw_all(Withdrawal::Disconnected, out);
        self.doubt_acknowledged();
        self.looking = false;
        self.child_waits = false;
        if let Link::Reopening(_) = self.link {
            // What became of the opening is still to be told.
            return;
        }
        self.link = Link::Down;
        let ending = self.turn.as_mut().and_then(|turn| turn.ending.take());
        match ending {
            Some(ending) => self.finish(self.now, ending.end, false, out),
            None if self.turn.is_some() => self.reopen(ServerWanted::Same, out),
            None => self.next(out),
        }
    }

    pub(super) fn reopen_anywhere(&mut self, out: &mut Vec<Effect>) {
        self.reopen(ServerWanted::Any, out);
    }

    pub(super) fn reopen(&mut self, server: ServerWanted, out: &mut Vec<Effect>) {
        if self.reopened >= REOPENS {
            let message = format!("the thread was opened {REOPENS} times in vain");
            let failure = Failure::new(FailureClass::ServerGone, message);
            self.reopened = 0;
            if self.link == Link::Down && self.turn.is_some() {
                self.lose_turn(failure.clone(), out);
            }
            return self.refuse_all(&failure, out);
        }
        self.reopened += 1;
        self.link = Link::Reopening(server);
        self.looking = false;
        out.push(Effect::Reopen { server });
    }

    pub(super) fn reopened(&mut self, now: Moment, view: &View, out: &mut Vec<Effect>) {
        self.link = Link::Up;
        out.push(Effect::Tell(Update::Reconnected));
        self.progress(now);
        // A turn that Codex calls interrupted, and that nobody interrupted, died with its app-server.
        let seen = self.turn.as_ref().and_then(|turn| seen_turn(view, turn));
        let asked_for = self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.interrupt.is_some() || turn.cancelled_by.is_some());
        let died = match seen.map(|turn| &turn.end) {
            Some(Some(SaidEnd::Interrupted)) => !asked_for,
            Some(Some(_)) => false,
            Some(None) | None => !view.state.is_active(),
        };
        if self.turn.is_some() && died {
            let message = "the app-server ended in the middle of the turn";
            self.settle_doubts(&view.turns, out);
            self.lose_turn(Failure::new(FailureClass::ServerGone, message), out);
        } else {
            self.apply(now, view, out);
            self.interrupt_again(now, out);
        }
    }

    pub(super) fn reopen_failed(&mut self, now: Moment, failure: Failure, out: &mut Vec<Effect>) {
        let wanted = self.link;
        self.link = Link::Down;
        if wanted == Link::Reopening(ServerWanted::Any) {
            self.refuse_all(&failure, out);
        }
        if self.turn.is_some() {
            self.finish(now, TurnEnd::Failed { failure }, true, out);
        } else {
            self.next(out);
        }
    }

    fn lose_turn(&mut self, failure: Failure, out: &mut Vec<Effect>) {
        self.finish(self.now, TurnEnd::Failed { failure }, true, out);
    }
}
