//! The turns of a file while it is read: which one a line belongs to, and what stands in each so far.

use std::collections::BTreeMap;

use ostler_model::TurnId;
use ostler_model::item::{Item, ItemBody, ItemEnd, Outcome};

use super::{RolloutTurn, TurnEnd};

#[derive(Default)]
pub(super) struct Turns {
    turns: Vec<Turn>,
    /// Places by id; a review runs under two ids.
    known: BTreeMap<TurnId, usize>,
    /// The file says where turns begin.
    tells: bool,
}

pub(super) struct Turn {
    id: Option<TurnId>,
    end: TurnEnd,
    pub(super) is_review: bool,
    pub(super) entries: Vec<Entry>,
}

pub(super) struct Entry {
    pub(super) item: Item,
    pub(super) source: Source,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A line that tells a finished item.
    Told,
    /// What went to the model or came from it, and no line has said yet that a person saw it.
    Model,
}

impl Turns {
    pub(super) fn get(&mut self, place: usize) -> Option<&mut Turn> {
        self.turns.get_mut(place)
    }

    pub(super) fn last(&mut self) -> Option<&mut Turn> {
        self.turns.last_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether nothing more will come of what this turn began.
    pub(super) fn is_over(&self, place: usize) -> bool {
        let ended = self.turns.get(place).is_some_and(|turn| turn.end != TurnEnd::Open);
        ended || place + 1 < self.turns.len()
    }

    /// The place of a turn, new ones included; of the latest one if no id is given.
    pub(super) fn place(&mut self, id: Option<&TurnId>) -> usize {
        let known = id.and_then(|id| self.known.get(id)).copied();
        match (id, known, self.open_review(), self.turns.len().checked_sub(1)) {
            (_, Some(place), ..) | (None, _, _, Some(place)) => place,
            (Some(id), None, Some(review), _) => {
                self.known.insert(id.clone(), review);
                review
            }
            (id, None, ..) => self.add(id.cloned()),
        }
    }

    pub(super) fn push(&mut self, id: Option<&TurnId>, item: Item, source: Source) {
        let place = self.place(id);
        if let Some(turn) = self.turns.get_mut(place) {
            turn.entries.push(Entry { item, source });
        }
    }

    /// Whether what went to the model was put there beside the conversation, between two turns. Codex 0.142.5 names a turn of
    /// such a message that never begins; `tests/e2e/rejoin/context.rs` shows it.
    pub(super) fn is_between(&self, id: Option<&TurnId>) -> bool {
        let is_known = id.is_some_and(|id| self.known.contains_key(id));
        let is_over = self.turns.last().is_some_and(|turn| turn.end != TurnEnd::Open);
        self.tells && is_over && !is_known
    }

    /// The same before the first turn: only now is it known that the file tells turns.
    fn drop_what_came_before(&mut self, begins: Option<&TurnId>) {
        if std::mem::replace(&mut self.tells, true) {
            return;
        }
        let is_put = |entry: &Entry| {
            let is_said =
                matches!(entry.item.body, ItemBody::AgentMessage(_) | ItemBody::UserMessage(_));
            is_said && entry.source == Source::Model
        };
        if let [only] = self.turns.as_slice()
            && only.id.as_ref().is_none_or(|id| Some(id) != begins)
            && !only.is_review
            && only.entries.iter().all(is_put)
        {
            self.turns.clear();
            self.known.clear();
        }
    }

    pub(super) fn begin(&mut self, id: Option<TurnId>) {
        self.drop_what_came_before(id.as_ref());
        match (self.open_review(), id) {
            // A review has begun already when its inner turn starts.
            (Some(review), Some(id)) => {
                if let Some(turn) = self.turns.get_mut(review) {
                    turn.id.get_or_insert_with(|| id.clone());
                }
                self.known.insert(id, review);
            }
            (Some(_), None) => {}
            (None, Some(id)) => {
                self.place(Some(&id));
            }
            (None, None) => {
                self.add(None);
            }
        }
    }

    /// Begins a turn whose id is not told yet.
    pub(super) fn begin_untold(&mut self) {
        self.add(None);
    }

    pub(super) fn end(&mut self, id: Option<TurnId>, end: TurnEnd) {
        let place = self.place(id.as_ref());
        if let Some(turn) = self.turns.get_mut(place) {
            turn.end = end;
            // Codex before 0.166 names a review's outer turn, which is the one that clients know, only at its end.
            if turn.is_review && id.is_some() {
                turn.id = id;
            }
        }
    }

    /// Files from before turns were recorded: a person's words after the agent's begin a new one.
    pub(super) fn person_spoke(&mut self, id: Option<&TurnId>) {
        let untold = |turn: &Turn| {
            let answered = |entry: &Entry| !entry.is_person();
            turn.id.is_none() && !turn.is_review && turn.entries.iter().any(answered)
        };
        if id.is_none()
            && let Some(last) = self.turns.last_mut().filter(|turn| untold(turn))
        {
            last.end = TurnEnd::Completed;
            self.add(None);
        }
    }

    /// Turns that a person took back are not part of the thread any more.
    pub(super) fn roll_back(&mut self, mut count: usize) {
        while count > 0 {
            let Some(turn) = self.turns.pop() else { break };
            count -= usize::from(turn.entries.iter().any(Entry::is_person));
        }
        let left = self.turns.len();
        self.known.retain(|_, place| *place < left);
    }

    /// Codex marks what people said, so the rest was put in by itself.
    pub(super) fn drop_unmarked_people(&mut self) {
        for turn in &mut self.turns {
            turn.entries.retain(|entry| !(entry.is_person() && entry.source == Source::Model));
        }
    }

    pub(super) fn finish(self) -> Vec<RolloutTurn> {
        let last = self.turns.len();
        let numbered = self.turns.into_iter().zip(1..);
        numbered
            .map(|(turn, number)| {
                // Codex died in a turn that did not end before the next one.
                let died = turn.end == TurnEnd::Open && number < last;
                let end = if died { TurnEnd::Interrupted } else { turn.end };
                let id = turn.id.unwrap_or_else(|| TurnId::new(format!("untold-{number}")));
                let items = turn.entries.into_iter().filter_map(|entry| entry.finish(end));
                RolloutTurn { id, end, items: items.collect() }
            })
            .collect()
    }

    fn open_review(&self) -> Option<usize> {
        let last = self.turns.last()?;
        (last.is_review && last.end == TurnEnd::Open).then(|| self.turns.len() - 1)
    }

    fn add(&mut self, id: Option<TurnId>) -> usize {
        let place = self.turns.len();
        self.known.extend(id.clone().map(|id| (id, place)));
        self.turns.push(Turn { id, end: TurnEnd::Open, is_review: false, entries: Vec::new() });
        place
    }
}

impl Turn {
    pub(super) fn ends_with(&self, is_it: impl Fn(&ItemBody) -> bool) -> bool {
        self.entries.last().is_some_and(|entry| is_it(&entry.item.body))
    }
}

impl Entry {
    fn is_person(&self) -> bool {
        matches!(self.item.body, ItemBody::UserMessage(_))
    }

    /// What still runs was interrupted if its turn is over, and is not told if it is not.
    fn finish(mut self, end: TurnEnd) -> Option<(Item, ItemEnd)> {
        let runs = self.item.outcome_mut().is_some_and(|outcome| *outcome == Outcome::Running);
        match (runs, end) {
            (false, _) => Some((self.item, ItemEnd::Reported)),
            (true, TurnEnd::Open) => None,
            (true, _) => Some((self.item, ItemEnd::Interrupted)),
        }
    }
}
