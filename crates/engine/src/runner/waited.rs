//! How long a turn has waited for people, by its task's log: that time does not count against the turn's budget, whoever
//! was or was not there to measure it.

use std::collections::BTreeSet;

use ostler_model::thread::Update;
use ostler_model::{AskId, Event};

/// Of the turn that began last, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Waited {
    /// Of the asks that were put to people and are answered.
    before_ms: i64,
    open: BTreeSet<AskId>,
    /// If one of these comes back, its answer is there.
    decided: BTreeSet<AskId>,
    /// Since when at least one is open, in unix milliseconds.
    since: i64,
}

impl Waited {
    pub(super) fn take(&mut self, at: i64, event: &Event) {
        match event {
            Event::Thread { agent: None, update } => {
                if let Update::TurnBegan { .. } = **update {
                    self.before_ms = 0;
                    self.since = at;
                }
            }
            // Those of sub-agents count too: the turn waits for what it has them do.
            Event::AskOpened { ask, .. } | Event::AskReturned { ask }
                if !self.decided.contains(ask) =>
            {
                if self.open.is_empty() {
                    self.since = at;
                }
                self.open.insert(ask.clone());
            }
            Event::AskDecided { ask, .. }
            | Event::AskClosed { ask, .. }
            | Event::AskParked { ask } => {
                if let Event::AskDecided { .. } = event {
                    self.decided.insert(ask.clone());
                }
                if self.open.remove(ask) && self.open.is_empty() {
                    self.before_ms = self.until(at);
                }
            }
            _ => {}
        }
    }

    /// Up to this moment; an ask that is open is still waited for.
    pub(super) fn so_far(&self, at: i64) -> i64 {
        if self.open.is_empty() { self.before_ms } else { self.until(at) }
    }

    fn until(&self, at: i64) -> i64 {
        self.before_ms.saturating_add(at.saturating_sub(self.since).max(0))
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::Decision;
    use ostler_model::ask::{Ask, AskKind};
    use ostler_model::task::{AskClosed, DecidedBy, DecisionRecord};

    use super::*;

    fn began() -> Event {
        let update = Box::new(Update::TurnBegan { turn: "t".into() });
        Event::Thread { agent: None, update }
    }

    fn opened(ask: &str) -> Event {
        let kind = AskKind::Continue { why: String::new() };
        let offers = Vec::new();
        let content = Ask { thread: None, turn: None, item: None, reason: None, kind, offers };
        let (ask, content, digest) = (ask.into(), Box::new(content), String::new());
        Event::AskOpened { ask, content, digest, agent: None }
    }

    fn decided(ask: &str) -> Event {
        let by = DecidedBy::Person { name: "ana".to_owned(), surface: "test".to_owned() };
        let decision = DecisionRecord { decision: Decision::Once, by, reason: None, at: 0 };
        Event::AskDecided { ask: ask.into(), decision: Box::new(decision) }
    }

    fn closed(ask: &str) -> Event {
        Event::AskClosed { ask: ask.into(), how: AskClosed::Answered }
    }

    fn waited(story: &[(i64, Event)], now: i64) -> i64 {
        let mut waited = Waited::default();
        story.iter().for_each(|(at, event)| waited.take(*at, event));
        waited.so_far(now)
    }

    #[test]
    fn an_open_ask_is_waited_for_until_now() {
        assert_eq!(waited(&[(100, began()), (110, opened("a"))], 1000), 890);
    }

    #[test]
    fn an_ask_is_waited_for_until_it_is_decided_and_not_until_it_is_closed() {
        let story = [(0, began()), (10, opened("a")), (60, decided("a")), (90, closed("a"))];
        assert_eq!(waited(&story, 1000), 50);
    }

    #[test]
    fn two_asks_at_once_are_waited_for_once() {
        let story = [
            (0, began()),
            (10, opened("a")),
            (20, opened("b")),
            (30, decided("a")),
            (50, decided("b")),
            (70, opened("c")),
            (75, closed("c")),
        ];
        assert_eq!(waited(&story, 1000), 45);
    }

    /// After the daemon was away Codex asks the same again, which is no second ask.
    #[test]
    fn an_ask_that_comes_back_was_open_all_the_while() {
        let returned = Event::AskReturned { ask: "a".into() };
        let story = [(0, began()), (10, opened("a")), (500, returned), (510, decided("a"))];
        assert_eq!(waited(&story, 1000), 500);
    }

    /// The app-server died before it had the answer, and what was asked is asked again in another turn.
    #[test]
    fn an_ask_that_comes_back_decided_is_not_waited_for() {
        let (parked, returned) =
            (Event::AskParked { ask: "a".into() }, Event::AskReturned { ask: "a".into() });
        let story = [
            (0, began()),
            (10, opened("a")),
            (20, parked),
            (30, decided("a")),
            (40, began()),
            (50, returned),
            (90, closed("a")),
        ];
        assert_eq!(waited(&story, 1000), 0);
    }

    #[test]
    fn what_an_earlier_turn_waited_does_not_count() {
        let story = [(0, began()), (10, opened("a")), (60, decided("a")), (100, began())];
        assert_eq!(waited(&story, 1000), 0);
    }
}
