//! Texts that come in pieces. A token may be cut anywhere between two deltas, so each piece is looked at together with
//! the end of what came before it.

use std::collections::{HashMap, VecDeque};

/// Items that stream at once are few; a forgotten one only loses sight of a token that was cut in two.
const MAX_STREAMS: usize = 256;

/// Longer than what may stand between the start of a known shape and its secret part, as in `OPENAI_API_KEY="`.
const TAIL_BYTES: usize = 160;

/// What is remembered of each end of a secret that goes on: enough to be recognised as the same one again, and for the
/// line that closes a private key.
const OPEN_BYTES: usize = 64;

/// The end of what was said so far, by stream.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    tails: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Streams {
    pub(crate) fn tail(&self, stream: &str) -> &str {
        self.tails.get(stream).map_or("", String::as_str)
    }

    /// Notes how a stream goes on: `said` is its tail with the new piece, `open_from` where a secret begins in it that
    /// reaches its end.
    pub(crate) fn went_on(&mut self, stream: &str, said: &str, open_from: Option<usize>) {
        let (before, open) = said.split_at(open_from.unwrap_or(said.len()));
        let mut tail = last(before, TAIL_BYTES).to_owned();
        if open.len() <= 2 * OPEN_BYTES {
            tail.push_str(open);
        } else {
            tail.push_str(open.get(..open.floor_char_boundary(OPEN_BYTES)).unwrap_or_default());
            tail.push_str(last(open, OPEN_BYTES));
        }
        if let Some(known) = self.tails.get_mut(stream) {
            *known = tail;
            return;
        }
        if self.order.len() >= MAX_STREAMS
            && let Some(oldest) = self.order.pop_front()
        {
            self.tails.remove(&oldest);
        }
        self.tails.insert(stream.to_owned(), tail);
        self.order.push_back(stream.to_owned());
    }
}

fn last(text: &str, bytes: usize) -> &str {
    text.get(text.floor_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}
