//! How often a reader looks for more while Codex streams.
//!
//! Codex writes each line by itself, up to ten thousand a second. To wake up for each of them costs far more than to read
//! it, so while lines come that fast the reader rests for a moment and takes them together.

use std::time::{Duration, Instant};

/// Too short for anybody who reads along to notice; twenty lines at Codex's fastest.
pub(super) const REST: Duration = Duration::from_millis(2);

/// What is looked at to tell a stream from a conversation.
const WINDOW: Duration = Duration::from_millis(4);

/// So many frames in a window are a stream. Questions and answers, each of which waits for the other, are far fewer.
const STREAM: usize = 16;

/// A read that brought this many is worth its wake-up.
const LARGE: usize = 64;

#[derive(Debug)]
pub(super) struct Pace {
    window: Instant,
    frames: usize,
    is_stream: bool,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { window: now, frames: 0, is_stream: false }
    }

    /// Notes a read that brought this many frames. True if it is better to rest before the next one.
    pub(super) fn rests_after(&mut self, frames: usize, now: Instant) -> bool {
        let passed = now.duration_since(self.window);
        self.frames = self.frames.saturating_add(frames);
        if passed >= WINDOW {
            // After a pause the window is longer, and what came is no stream, however much it was.
            self.is_stream = self.frames >= STREAM && passed < 2 * WINDOW;
            (self.window, self.frames) = (now, 0);
        }
        self.is_stream && frames < LARGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the reader rests after the last of these reads: so many frames, so many microseconds after the one before.
    fn rests(reads: impl IntoIterator<Item = (usize, u64)>) -> bool {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        let mut rests = false;
        for (frames, micros) in reads {
            now += Duration::from_micros(micros);
            rests = pace.rests_after(frames, now);
        }
        rests
    }

    #[test]
    fn a_stream_of_single_lines_is_taken_together() {
        assert!(rests(vec![(1, 100); 41]));
    }

    #[test]
    fn it_goes_on_resting_while_the_stream_goes_on() {
        let mut reads = vec![(1, 100); 41];
        reads.extend(vec![(21, 2100); 50]);
        assert!(rests(reads.clone()));
        reads.extend([(3, 2100), (1, 2100), (1, 2100), (1, 2100)]);
        assert!(!rests(reads));
    }

    #[test]
    fn a_few_lines_are_heard_at_once() {
        assert!(!rests(vec![(1, 100); 15]));
    }

    #[test]
    fn a_question_after_a_pause_is_heard_at_once() {
        let mut reads = vec![(1, 100); 60];
        reads.push((1, 10_000));
        assert!(!rests(reads));
    }

    #[test]
    fn questions_that_wait_for_their_answers_are_heard_at_once() {
        assert!(!rests(vec![(2, 700); 100]));
    }

    #[test]
    fn large_reads_are_followed_by_the_next_without_a_rest() {
        assert!(!rests(vec![(200, 500); 100]));
    }
}
