//! What Codex says of the thread when asked, taken over turn by turn.
//!
//! An answer may be older than what we know by its events, so nothing is concluded from what it does not show unless the
//! question came later: a turn or a doubt that arose since is left alone. It may also be ahead of events that are still
//! on their way; those tell more, so they are waited for. Only after the connection broke none are on their way.

use super::effect::{Effect, Update};
use super::inputs::{Echo, Given, GivenState};
use super::items::OpenItem;
use super::link::died;
use super::machine::Machine;
use super::signal::{InputKind, SaidEnd, SeenState, SeenTurn, View};
use super::turns::{Turn, Word};
use crate::failure::{Failure, FailureClass};
use crate::id::TurnId;
use crate::item::ItemEnd;
use crate::moment::Moment;
use crate::turn::TurnEnd;

/// The words of the user's messages of a turn, where words are all by which Codex lets us know an input again: the same
/// words once more are another input.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownTexts {
    /// In the echoes that came as events.
    echoed: Vec<String>,
    /// In the last answer of Codex that left nothing open.
    seen: Vec<String>,
}

impl KnownTexts {
    /// All that stands there is accounted for.
    pub(super) fn all_of(seen: &SeenTurn) -> Self {
        Self { echoed: Vec::new(), seen: seen.texts() }
    }

    /// Those of messages and those of inputs that were told; most are both.
    pub(super) fn told(echoed: Vec<String>, taken: Vec<String>) -> Self {
        Self { echoed, seen: taken }
    }

    pub(super) fn echoed(&mut self, text: &str) {
        self.echoed.push(text.to_owned());
    }

    fn count(&self, text: &str) -> usize {
        let count = |texts: &[String]| texts.iter().filter(|known| *known == text).count();
        count(&self.echoed).max(count(&self.seen))
    }
}

impl SeenTurn {
    fn texts(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.text.clone()).collect()
    }
}

impl Machine {
    /// Codex is asked now: the answer speaks of this turn and of these doubts.
    pub(super) fn mark_asked(&mut self) {
        self.mark_doubts_asked();
        if let Some(turn) = &mut self.turn {
            turn.asked_about = true;
        }
    }

    pub(super) fn mark_doubts_asked(&mut self) {
        for given in &mut self.given {
            if given.state == GivenState::InDoubt {
                given.state = GivenState::LookedFor;
            }
        }
    }

    pub(super) fn apply(&mut self, now: Moment, view: &View, out: &mut Vec<Effect>) {
        let mut is_conclusive = !view.state.is_active();
        for (at, seen) in view.turns.iter().enumerate() {
            let is_last = at + 1 == view.turns.len();
            let runs = seen.end.is_none() && is_last && view.state.is_active();
            let is_known = self.turn.as_ref().is_some_and(|turn| turn.is(&seen.id));
            if !is_known && self.is_of_goal(view, at) {
                self.tell_goal_turn(now, view, seen, out);
            } else if is_known || self.is_past(&seen.id) {
                self.take_held(seen, out);
            } else if runs || self.is_held(seen) {
                let is_certain = self.sighted.replace(seen.id.clone()).as_ref() == Some(&seen.id);
                // Turns are told one after the other: what came before the running one waits for its end.
                if (self.broken || is_certain) && self.is_before(view, at) {
                    self.take_over(now, view, seen, out);
                } else {
                    is_conclusive = false;
                }
            } else if self.broken && seen.end.is_some() && self.is_nothing_of_ours() {
                self.remember(seen.id.clone(), KnownTexts::all_of(seen));
            }
        }
        if is_conclusive {
            self.return_unfound(out);
        } else {
            // A running turn shows an input only once it has come to it.
            self.look_again_later(now);
        }
        // An order that was just given up awaits no turn any more.
        self.pass_over(view);
        self.end_if_over(now, view, out);
    }

    /// Turns that are over, and hold nothing of ours, are none of ours: nothing that comes of them late may be taken for
    /// another turn's. Only the announcement of a review must stay, right before a turn that shows no input.
    fn pass_over(&mut self, view: &View) {
        if !self.broken || self.has_order() {
            return;
        }
        // An answer that is on its way may name one that shows an input.
        let is_certain = self.given.iter().all(|given| given.state.is_in_doubt());
        let is_current = |seen: &SeenTurn| self.turn.as_ref().is_some_and(|it| it.is(&seen.id));
        let at = view.turns.iter().position(is_current);
        let shows_input =
            at.and_then(|at| view.turns.get(at)).is_some_and(|it| !it.inputs.is_empty());
        let may_announce = |place: usize, seen: &SeenTurn| {
            at == Some(place + 1) && !shows_input && seen.is_announcement()
        };
        let is_over = |(place, seen): &(usize, &SeenTurn)| {
            let may_announce = may_announce(*place, seen);
            let may_be_named = !is_certain && !seen.inputs.is_empty();
            let is_known = is_current(seen) || self.is_past(&seen.id) || self.is_held(seen);
            seen.end.is_some() && !may_announce && !may_be_named && !is_known
        };
        let over: Vec<_> = view.turns.iter().enumerate().filter(is_over).collect();
        let mut listed = view.turns.iter().enumerate();
        let before = listed.find(|(place, seen)| may_announce(*place, seen));
        if let (Some((_, before)), Some(turn)) = (before, self.turn.as_mut()) {
            turn.listed_before = Some(before.id.clone());
        }
        for (_, seen) in over {
            self.remember(seen.id.clone(), KnownTexts::all_of(seen));
        }
    }

    /// The thread is as we know it; what waits can go on.
    pub(super) fn go_on(&mut self, now: Moment, out: &mut Vec<Effect>) {
        self.hear_ahead(now, out);
        self.broken = false;
        self.send_interrupt(now, out);
        self.next(out);
        self.steer_if_running(out);
    }

    /// Whether the turn that we know to run comes before this place.
    fn is_before(&self, view: &View, at: usize) -> bool {
        self.turn.as_ref().is_none_or(|turn| {
            let place = view.turns.iter().position(|seen| turn.is(&seen.id));
            place.map_or(turn.asked_about, |place| place < at)
        })
    }

    /// A turn that we did not know. It runs, or it holds an input of ours.
    fn take_over(&mut self, now: Moment, view: &View, seen: &SeenTurn, out: &mut Vec<Effect>) {
        self.conclude_seen(now, view, out);
        match &seen.end {
            Some(end) => self.tell_missed(now, seen, end.clone(), out),
            None => {
                self.begin(now, &seen.id, Some(seen.id.clone()), out);
                self.take_held(seen, out);
                for item in &seen.items {
                    self.missed(now, seen.id.clone(), item.clone(), out);
                }
            }
        }
    }

    /// A turn that answered an input of ours and ended while we did not see it.
    fn tell_missed(&mut self, now: Moment, seen: &SeenTurn, end: SaidEnd, out: &mut Vec<Effect>) {
        let is_interrupted = self.early_interrupt.is_some();
        out.push(Effect::Tell(Update::TurnBegan { turn: seen.id.clone() }));
        self.turn = Some(Turn::new(seen.id.clone(), now, now));
        self.take_held(seen, out);
        for item in &seen.items {
            let is_ahead = self.is_ahead(item);
            let mut item = item.clone();
            self.name_sender(&mut item);
            let Some(turn) = self.turn.as_mut() else { return };
            turn.unanswered.clear();
            if !is_ahead {
                turn.note_unseen(&item);
                turn.close(OpenItem::told(item), ItemEnd::Reported, out);
            }
        }
        self.hear_rest_ahead(now, true, out);
        let Some(mut turn) = self.turn.take() else { return };
        for open in std::mem::take(&mut turn.open) {
            turn.close(open, ItemEnd::Interrupted, out);
        }
        let end = turn.end(with_reason(end, self.broken));
        // As for a turn that we knew: one that nobody interrupted died with its app-server.
        let has_died = self.broken && !is_interrupted && end.is_by_codex();
        let end = if has_died { TurnEnd::Failed { failure: died() } } else { end };
        self.remember(seen.id.clone(), KnownTexts::all_of(seen));
        let result = Box::new(turn.result(now, end, has_died));
        out.push(Effect::Tell(Update::TurnEnded { result }));
    }

    /// Takes the inputs that stand in this turn.
    pub(super) fn take_held(&mut self, seen: &SeenTurn, out: &mut Vec<Effect>) {
        let current = self.turn.as_ref().filter(|turn| turn.is(&seen.id));
        let id = current.map_or(&seen.id, |turn| &turn.id).clone();
        let known = self.known_texts(&seen.id).cloned().unwrap_or_default();
        for place in 0..seen.inputs.len() {
            let held = self.given.iter().position(|given| self.stands(seen, place, &known, given));
            if let Some(at) = held {
                self.take(at, id.clone(), out);
            }
        }
        // What is not accounted for yet may still be told by its echo.
        if let (true, Some(known)) = (self.given.is_empty(), self.known_texts(&seen.id)) {
            known.seen = seen.texts();
        }
    }

    /// Whether this turn was started by Codex for its goal and ended while nobody listened: nothing was put into it, and it came
    /// after all that we know.
    fn is_of_goal(&self, view: &View, at: usize) -> bool {
        let is_known = |seen: &SeenTurn| {
            self.is_past(&seen.id) || self.turn.as_ref().is_some_and(|turn| turn.is(&seen.id))
        };
        let is_candidate =
            |seen: &SeenTurn| seen.end.is_some() && seen.inputs.is_empty() && !is_known(seen);
        self.goal.is_some()
            && self.broken
            && !self.has_order()
            && view.turns.get(at).is_some_and(is_candidate)
            && view.turns.iter().take(at).any(is_known)
            && !view.turns.iter().skip(at + 1).any(is_known)
    }

    fn tell_goal_turn(&mut self, now: Moment, view: &View, seen: &SeenTurn, out: &mut Vec<Effect>) {
        self.conclude_seen(now, view, out);
        if let Some(end) = seen.end.clone() {
            self.tell_missed(now, seen, end, out);
        }
    }

    /// Another turn came after the one that we knew; so that one is over, as it is shown.
    fn conclude_seen(&mut self, now: Moment, view: &View, out: &mut Vec<Effect>) {
        let before = self.turn.as_ref().and_then(|turn| seen_turn(view, turn)?.end.clone());
        match (self.turn.as_mut(), before) {
            (Some(turn), Some(said)) if turn.ending.is_none() => {
                let said =
                    if turn.given_up.is_none() { with_reason(said, self.broken) } else { said };
                let end = turn.end(said);
                self.conclude(now, end, false, out);
            }
            _ => self.conclude_unseen(now, out),
        }
    }

    fn is_held(&self, seen: &SeenTurn) -> bool {
        let known = KnownTexts::default();
        (0..seen.inputs.len())
            .any(|place| self.given.iter().any(|given| self.stands(seen, place, &known, given)))
    }

    /// Whether the message at this place is that input. Words prove it only where we doubt, and only where they are not
    /// those of another input.
    fn stands(&self, seen: &SeenTurn, place: usize, known: &KnownTexts, given: &Given) -> bool {
        let Some(input) = seen.inputs.get(place) else { return false };
        match (&input.input, self.echo) {
            (Some(input), _) => *input == given.waiting.input,
            (None, Echo::Ids) => false,
            (None, Echo::TextOnly) => {
                let before = seen.inputs.iter().take(place);
                let same = before.filter(|before| before.text == input.text).count();
                given.state.is_in_doubt()
                    && given.waiting.reads(&input.text)
                    && same >= known.count(&input.text)
            }
        }
    }

    pub(super) fn known_texts(&mut self, turn: &TurnId) -> Option<&mut KnownTexts> {
        match self.turn.as_mut().filter(|current| current.is(turn)) {
            Some(current) => Some(&mut current.known),
            None => self.past.iter_mut().find(|past| past.id == *turn).map(|past| &mut past.known),
        }
    }

    /// Whether a turn that is over certainly answered nothing of ours. A review that is about to begin, or whose
    /// announcement is awaited, will use a name that stands in the thread as that of a turn which is over.
    fn is_nothing_of_ours(&self) -> bool {
        self.given.is_empty() && self.turn.as_ref().is_none_or(|turn| turn.announced.is_some())
    }

    /// Inputs in doubt are looked for again when their time comes.
    pub(super) fn look_again_later(&mut self, now: Moment) {
        for given in &mut self.given {
            given.since = now;
        }
    }

    /// What Codex was asked for and does not have goes back to where it came from.
    fn return_unfound(&mut self, out: &mut Vec<Effect>) {
        let is_unfound = |given: &Given| given.state == GivenState::LookedFor;
        let (unfound, kept): (Vec<_>, _) =
            std::mem::take(&mut self.given).into_iter().partition(is_unfound);
        self.given = kept;
        for given in unfound.into_iter().rev() {
            if given.waiting.kind == InputKind::Order {
                let message = "the connection broke before codex began it; it may or may not run";
                let failure = Failure::new(FailureClass::ServerGone, message);
                self.refused_in_doubt(given.waiting.input, failure, out);
            } else {
                self.requeue(given, out);
            }
        }
    }

    fn end_if_over(&mut self, now: Moment, view: &View, out: &mut Vec<Effect>) {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.ending.is_none()) else { return };
        let is_at_rest = matches!(view.state, SeenState::Idle | SeenState::NotLoaded);
        let is_unheard = self.broken && turn.given_up.is_none();
        let end = match seen_turn(view, turn).map(|seen| &seen.end) {
            Some(Some(end)) => with_reason(end.clone(), is_unheard),
            _ if is_at_rest && turn.asked_about => {
                let message = "codex no longer runs this turn, and does not say how it ended";
                let failure = Failure::new(FailureClass::Unknown { word: None }, message);
                SaidEnd::Failed(Some(failure))
            }
            _ => return,
        };
        if self.broken {
            self.end_turn(now, end, Word::Heard, out);
        } else {
            self.end_turn(now, end, Word::Awaited, out);
        }
    }
}

/// Why a turn failed is told once, and 0.142.5 does not keep it. If nobody has heard it, it may have been for a moment only; if
/// not, the next attempt tells.
fn with_reason(end: SaidEnd, is_unheard: bool) -> SaidEnd {
    match end {
        SaidEnd::Failed(None) if is_unheard => {
            let message = "the turn failed while nobody listened, and codex does not say why";
            SaidEnd::Failed(Some(Failure::new(FailureClass::ServerError, message)))
        }
        end => end,
    }
}

/// The turn in what Codex says. Of a review's two names the announced one is always shown as interrupted.
pub(super) fn seen_turn<'a>(view: &'a View, turn: &Turn) -> Option<&'a SeenTurn> {
    let items = view.turns.iter().find(|seen| {
        turn.is(&seen.id)
            && (turn.other_name.is_none() || turn.announced.as_ref() != Some(&seen.id))
    });
    items.or_else(|| view.turns.iter().find(|seen| turn.is(&seen.id) && seen.end.is_none()))
}
