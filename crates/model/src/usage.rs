//! Tokens: what a turn has used.

use serde::{Deserialize, Serialize};

/// Tokens of one call of the model, or of several together.
///
/// Cached tokens are a part of the input, reasoning tokens a part of the output: neither is added to anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub cached_input: u64,
    pub output: u64,
    pub reasoning_output: u64,
}

impl Tokens {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Input that had to be read anew.
    pub fn fresh_input(&self) -> u64 {
        self.input.saturating_sub(self.cached_input)
    }

    /// The difference, if none of the parts would be negative.
    fn minus(self, other: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(other.input)?,
            cached_input: self.cached_input.checked_sub(other.cached_input)?,
            output: self.output.checked_sub(other.output)?,
            reasoning_output: self.reasoning_output.checked_sub(other.reasoning_output)?,
        })
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            output: self.output.saturating_add(other.output),
            reasoning_output: self.reasoning_output.saturating_add(other.reasoning_output),
        }
    }
}

/// What the calls of one turn have used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The sum over the calls of this turn.
    pub turn: Tokens,
    /// The last call alone: its input is how full the context is.
    pub last_call: Tokens,
    /// Calls of the model in this turn.
    pub calls: u32,
    /// The sum over the whole thread, as Codex keeps it.
    pub thread: Tokens,
    pub context_window: Option<u64>,
}

/// The thread's sum as Codex told it last, from which the share of a turn is reckoned.
///
/// Codex repeats reports with unchanged numbers: at the start of each call (0.130.0), after a failed call, and after a
/// resume. So a report counts only if the thread's sum has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    thread: Option<Tokens>,
}

impl Tally {
    /// Goes on from the sum that was told last.
    pub fn since(thread: Option<Tokens>) -> Self {
        Self { thread }
    }

    /// What this report adds, if it is about a new call.
    pub fn count(&mut self, last: Tokens, thread: Tokens) -> Option<Tokens> {
        let before = self.thread.replace(thread);
        match before {
            Some(before) if before == thread => None,
            // After a full context window Codex sets the sum to nothing; that is no call.
            _ if thread.total() == 0 => None,
            Some(before) => Some(thread.minus(before).unwrap_or(last)),
            None => Some(last),
        }
    }
}

impl Usage {
    pub fn add(&mut self, call: Tokens, thread: Tokens, context_window: Option<u64>) {
        self.turn = self.turn.plus(call);
        self.last_call = call;
        self.calls += 1;
        self.thread = thread;
        self.context_window = context_window.or(self.context_window);
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, Tokens, Usage};

    fn tokens(input: u64, cached_input: u64, output: u64) -> Tokens {
        Tokens { input, cached_input, output, reasoning_output: 0 }
    }

    #[test]
    fn cached_tokens_are_inside_the_input() {
        let call = tokens(100, 80, 10);

        assert_eq!((call.total(), call.fresh_input()), (110, 20));
    }

    #[test]
    fn a_report_counts_only_if_the_sum_of_the_thread_has_changed() {
        let mut tally = Tally::default();
        let reports = [
            (tokens(100, 0, 10), tokens(500, 0, 50)),
            (tokens(100, 0, 10), tokens(500, 0, 50)),
            (tokens(150, 90, 20), tokens(650, 90, 70)),
            // The context window was full, then Codex counts on from nothing.
            (tokens(0, 0, 0), tokens(0, 0, 0)),
            (tokens(30, 0, 5), tokens(30, 0, 5)),
        ];

        let counted = reports.map(|(last, thread)| tally.count(last, thread));

        assert_eq!(
            counted,
            [
                Some(tokens(100, 0, 10)),
                None,
                Some(tokens(150, 90, 20)),
                None,
                Some(tokens(30, 0, 5))
            ]
        );
    }

    #[test]
    fn a_turn_is_the_sum_of_its_calls() {
        let mut usage = Usage::default();
        usage.add(tokens(100, 0, 10), tokens(500, 0, 50), Some(1000));
        usage.add(tokens(150, 90, 20), tokens(650, 90, 70), None);

        assert_eq!(
            usage,
            Usage {
                turn: tokens(250, 90, 30),
                last_call: tokens(150, 90, 20),
                calls: 2,
                thread: tokens(650, 90, 70),
                context_window: Some(1000),
            }
        );
    }
}
