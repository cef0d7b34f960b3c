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

impl Usage {
    /// Takes a report of Codex into account. A report that repeats the thread's sum is the same call told twice.
    pub fn add(&mut self, last: Tokens, thread: Tokens, context_window: Option<u64>) {
        if self.calls > 0 && thread == self.thread && thread != Tokens::default() {
            return;
        }
        self.turn = self.turn.plus(last);
        self.last_call = last;
        self.calls += 1;
        self.thread = thread;
        self.context_window = context_window.or(self.context_window);
    }
}

#[cfg(test)]
mod tests {
    use super::{Tokens, Usage};

    fn tokens(input: u64, cached_input: u64, output: u64) -> Tokens {
        Tokens { input, cached_input, output, reasoning_output: 0 }
    }

    #[test]
    fn cached_tokens_are_inside_the_input() {
        let call = tokens(100, 80, 10);

        assert_eq!((call.total(), call.fresh_input()), (110, 20));
    }

    #[test]
    fn a_turn_is_the_sum_of_its_calls_and_a_repeated_report_is_no_call() {
        let mut usage = Usage::default();
        usage.add(tokens(100, 0, 10), tokens(500, 0, 50), Some(1000));
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
