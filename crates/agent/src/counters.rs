//! When the host agent looks back at what it has learnt: counters of user turns and of tool iterations, the same on both
//! runtimes, kept with the conversation so that a restart does not begin anew.

use serde::{Deserialize, Serialize};

/// How often to look back; 0 is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// In user turns.
    pub memory: u32,
    /// In tool iterations.
    pub skills: u32,
}

impl Default for Intervals {
    /// What hosts of this kind have used for long: often enough to learn, seldom enough not to be noticed.
    fn default() -> Self {
        Self { memory: 10, skills: 10 }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// In the whole conversation.
    pub user_turns: u64,
    pub turns_since_memory: u32,
    pub iterations_since_skills: u32,
}

/// What is to be looked at after a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    pub memory: bool,
    pub skills: bool,
}

impl Due {
    pub fn is_any(self) -> bool {
        self.memory || self.skills
    }
}

/// What a turn did, as far as it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnCount {
    pub tool_iterations: u32,
    /// The model used the memory tool by itself, so nobody needs to remind it.
    pub used_memory: bool,
    pub used_skills: bool,
    /// Completed, with an answer.
    pub was_good: bool,
}

impl Counters {
    /// The user has said something.
    pub fn begin_turn(&mut self) {
        self.user_turns = self.user_turns.saturating_add(1);
        self.turns_since_memory = self.turns_since_memory.saturating_add(1);
    }

    /// Counts a turn, and says what is due. Only a good turn is looked back at: what a failed one crosses is due after the next.
    pub fn end_turn(&mut self, turn: TurnCount, intervals: Intervals) -> Due {
        self.iterations_since_skills =
            self.iterations_since_skills.saturating_add(turn.tool_iterations);
        if turn.used_memory {
            self.turns_since_memory = 0;
        }
        if turn.used_skills {
            self.iterations_since_skills = 0;
        }
        let reached = |count: u32, interval: u32| interval > 0 && count >= interval;
        Due {
            memory: turn.was_good && reached(self.turns_since_memory, intervals.memory),
            skills: turn.was_good && reached(self.iterations_since_skills, intervals.skills),
        }
    }

    /// A review of this has begun. One that could not begin stays due.
    pub fn reviewed(&mut self, due: Due) {
        if due.memory {
            self.turns_since_memory = 0;
        }
        if due.skills {
            self.iterations_since_skills = 0;
        }
    }
}

impl Counters {
    /// A review of this has begun, and came to nothing: it is due again after the next turn.
    pub fn owes(&mut self, due: Due, intervals: Intervals) {
        if due.memory {
            self.turns_since_memory = self.turns_since_memory.max(intervals.memory);
        }
        if due.skills {
            self.iterations_since_skills = self.iterations_since_skills.max(intervals.skills);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Due, Intervals, TurnCount};

    const EVERY_TWO: Intervals = Intervals { memory: 2, skills: 3 };

    fn good(tool_iterations: u32) -> TurnCount {
        TurnCount { tool_iterations, was_good: true, ..TurnCount::default() }
    }

    fn turn(counters: &mut Counters, turn: TurnCount, intervals: Intervals) -> (bool, bool) {
        counters.begin_turn();
        let due = counters.end_turn(turn, intervals);
        counters.reviewed(due);
        (due.memory, due.skills)
    }

    #[test]
    fn both_are_due_when_their_interval_is_reached_and_begin_anew() {
        let mut counters = Counters::default();
        let due = [0, 2, 1, 3].map(|iterations| turn(&mut counters, good(iterations), EVERY_TWO));
        assert_eq!(due, [(false, false), (true, false), (false, true), (true, true)]);
        assert_eq!(counters, Counters { user_turns: 4, ..Counters::default() });
    }

    #[test]
    fn what_a_bad_turn_crosses_is_due_after_the_next_good_one() {
        let mut counters = Counters::default();
        let bad = TurnCount { tool_iterations: 9, ..TurnCount::default() };
        let due = [bad, bad, good(0)].map(|count| turn(&mut counters, count, EVERY_TWO));
        assert_eq!(due, [(false, false), (false, false), (true, true)]);
    }

    #[test]
    fn a_model_that_learns_by_itself_is_not_reminded() {
        let mut counters = Counters::default();
        let learns = TurnCount { used_memory: true, used_skills: true, ..good(9) };
        let due = [learns, learns, good(2)].map(|count| turn(&mut counters, count, EVERY_TWO));
        assert_eq!(due, [(false, false); 3]);
    }

    #[test]
    fn without_an_interval_nothing_is_ever_due() {
        let mut counters = Counters::default();
        let never = Intervals { memory: 0, skills: 0 };
        let due = [good(99), good(99)].map(|count| turn(&mut counters, count, never));
        assert_eq!(due, [(false, false); 2]);
    }

    #[test]
    fn a_review_that_did_not_begin_stays_due() {
        let mut counters = Counters::default();
        counters.begin_turn();
        let once = Intervals { memory: 1, skills: 0 };
        let first = counters.end_turn(good(0), once);
        counters.begin_turn();
        let second = counters.end_turn(good(0), once);
        assert_eq!((first, second), (Due { memory: true, skills: false }, first));
    }
}
