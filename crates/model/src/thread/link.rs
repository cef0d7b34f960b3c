//! What happens when the connection to the app-server breaks. A turn may run on without us.

use super::effect::{Effect, ServerWanted, Update, Withdrawal};
use super::liveness::Looking;
use super::machine::Machine;
use super::signal::{SaidEnd, SeenState, View};
use super::views::seen_turn;
use crate::failure::{Failure, FailureClass};
use crate::moment::Moment;
use crate::turn::TurnEnd;

/// Times a thread is opened again without anything coming of it, before its inputs are given back.
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
        self.lose_connection(out);
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

    /// All that was said on the connection is void.
    fn lose_connection(&mut self, out: &mut Vec<Effect>) {
        self.withdraw_all(Withdrawal::Disconnected, out);
        self.doubt_acknowledged();
        self.child_waits = false;
        self.broken = true;
        self.void_look();
        self.ahead.clear();
        if let Some(turn) = &mut self.turn {
            turn.look_for_stall = false;
            if let Some(interrupt) = &mut turn.interrupt {
                // It may not have arrived. If the turn still runs when the thread is open again, it has not.
                interrupt.sent = false;
            }
        }
    }

    fn void_look(&mut self) {
        if self.looking == Looking::UnderWay {
            self.looking = Looking::Void;
        }
    }

    pub(super) fn reopen_anywhere(&mut self, out: &mut Vec<Effect>) {
        self.reopen(ServerWanted::Any, out);
    }

    pub(super) fn may_reopen(&self) -> bool {
        self.reopened < REOPENS
    }

    pub(super) fn reopen(&mut self, server: ServerWanted, out: &mut Vec<Effect>) {
        if !self.may_reopen() {
            let message = format!("the thread was opened {REOPENS} times in vain");
            let failure = Failure::new(FailureClass::ServerGone, message);
            self.reopened = 0;
            let ends = self.link == Link::Down && self.turn.is_some();
            if ends {
                self.conclude(self.now, TurnEnd::Failed { failure: failure.clone() }, true, out);
            }
            self.refuse_all(&failure, out);
            if ends {
                self.next(out);
            }
            return;
        }
        self.reopened += 1;
        self.link = Link::Reopening(server);
        self.void_look();
        self.mark_asked();
        out.push(Effect::Reopen { server });
    }

    pub(super) fn reopened(&mut self, now: Moment, view: &View, out: &mut Vec<Effect>) {
        // Who was not asked to opens it for the first time.
        self.broken |= self.link == Link::Up;
        self.link = Link::Up;
        out.push(Effect::Tell(Update::Reconnected));
        self.progress(now);
        // The thread was read after all that is in doubt by now.
        self.mark_doubts_asked();
        self.pass_known(view);
        self.recall_names(view);
        let seen = self.turn.as_ref().and_then(|turn| seen_turn(view, turn));
        let is_over = seen.is_some_and(|seen| seen.end.is_some());
        self.hear_rest_ahead(now, is_over, out);
        if self.broken && self.has_died(view) {
            for seen in &view.turns {
                if self.turn.as_ref().is_some_and(|turn| turn.is(&seen.id)) {
                    self.take_held(seen, out);
                }
            }
            self.conclude(now, TurnEnd::Failed { failure: died() }, true, out);
            self.mark_doubts_asked();
        }
        self.apply(now, view, out);
        self.go_on(now, out);
    }

    /// A turn that Codex calls interrupted, and that nobody interrupted, died with its app-server.
    fn has_died(&self, view: &View) -> bool {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.asked_about) else { return false };
        let asked_for = turn.interrupt.is_some() || turn.cancelled_by.is_some();
        match seen_turn(view, turn).map(|seen| &seen.end) {
            Some(Some(SaidEnd::Interrupted)) => !asked_for,
            Some(Some(_)) => false,
            // Only a thread at rest has no turn; what is not known proves nothing.
            Some(None) | None => matches!(view.state, SeenState::Idle | SeenState::NotLoaded),
        }
    }

    pub(super) fn reopen_failed(&mut self, now: Moment, failure: &Failure, out: &mut Vec<Effect>) {
        let wanted = self.link;
        self.link = Link::Down;
        self.lose_connection(out);
        // The turn ends first: whoever hears that an input is refused may take it up anew, and must know that no turn runs.
        self.conclude(now, TurnEnd::Failed { failure: failure.clone() }, true, out);
        if wanted != Link::Reopening(ServerWanted::Same) {
            self.refuse_all(failure, out);
        }
        self.next(out);
    }
}

/// What became of a turn that Codex calls interrupted, and that nobody interrupted.
pub(super) fn died() -> Failure {
    Failure::new(FailureClass::ServerGone, "the app-server ended in the middle of the turn")
}
