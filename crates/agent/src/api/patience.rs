//! How long a model is waited for. All of it is data, so that a test can be impatient.

use std::time::Duration;

/// A limit of None is never reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// Until the first byte of an answer, the connection included. A model with a full context thinks for a minute before it
    /// says anything.
    pub no_byte: Option<Duration>,
    /// Between two signs of life while the model writes.
    pub idle: Idle,
    /// Between two signs of life while it does not write: before its first word, while it reasons, while a tool of the
    /// provider runs. Reasoning models are silent for minutes there, however short the context.
    pub thinking: Option<Duration>,
    /// For a question with all its retries.
    pub total: Option<Duration>,
    /// How often a surface is told that nothing comes.
    pub notice: Option<Duration>,
    /// Before a passing failure is tried again, if the provider does not say how long.
    pub pause: Duration,
    /// A provider that asks for a longer pause is not waited for here: the caller can do something better meanwhile.
    pub longest_pause: Duration,
    /// For the connection alone, so that an address that swallows packets does not use up `no_byte`.
    pub connect: Option<Duration>,
}

/// By how full the context is: with more to read, each word takes longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    pub up_to_10k: Option<Duration>,
    pub up_to_50k: Option<Duration>,
    pub up_to_100k: Option<Duration>,
    pub above: Option<Duration>,
}

/// What the model did last, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Not a byte has come.
    Nothing,
    Thinking,
    Writing,
}

/// The numbers are those with which the Responses path of hermes-agent 0.19 has run for months (host-runtime.md §11).
impl Default for Patience {
    fn default() -> Self {
        Self {
            no_byte: seconds(120),
            idle: Idle {
                up_to_10k: seconds(12),
                up_to_50k: seconds(60),
                up_to_100k: seconds(120),
                above: seconds(180),
            },
            thinking: seconds(180),
            total: seconds(1500),
            notice: seconds(30),
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(5),
            connect: seconds(30),
        }
    }
}

impl Patience {
    /// Never tired: no limit at all.
    pub fn endless() -> Self {
        let idle = Idle { up_to_10k: None, up_to_50k: None, up_to_100k: None, above: None };
        Self {
            no_byte: None,
            idle,
            thinking: None,
            total: None,
            notice: None,
            connect: None,
            ..Self::default()
        }
    }

    /// How long nothing may come.
    pub(crate) fn silence(&self, doing: Doing, context_tokens: u64) -> Option<Duration> {
        match doing {
            Doing::Nothing => self.no_byte,
            Doing::Thinking => self.thinking,
            Doing::Writing => match context_tokens {
                0..=10_000 => self.idle.up_to_10k,
                10_001..=50_000 => self.idle.up_to_50k,
                50_001..=100_000 => self.idle.up_to_100k,
                _ => self.idle.above,
            },
        }
    }
}

const fn seconds(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fuller_context_is_waited_for_longer() {
        let patience = Patience::default();
        let limits = [0, 10_000, 10_001, 50_000, 50_001, 100_000, 100_001]
            .map(|tokens| patience.silence(Doing::Writing, tokens).unwrap().as_secs());
        assert_eq!(limits, [12, 12, 60, 60, 120, 120, 180]);
    }

    #[test]
    fn only_a_model_that_writes_is_hurried() {
        let patience = Patience::default();
        let limits = [Doing::Nothing, Doing::Thinking, Doing::Writing]
            .map(|doing| patience.silence(doing, 0).unwrap().as_secs());
        assert_eq!(limits, [120, 180, 12]);
    }
}
