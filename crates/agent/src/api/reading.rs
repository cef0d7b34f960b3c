//! From the bytes of a stream to an answer, whatever the API: no I/O, no clock.

use serde_json::Value;

use super::patience::Doing;
use super::sse::{SseEvent, SseParser};
use super::{Answer, Piece};

/// The longest answers of today's models, 128,000 tokens with 300 bytes of frame around each, are a third of this.
pub(crate) const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;

/// Reads the events of one API. Two users: the Responses API and Chat Completions.
pub(crate) trait Reading: Send {
    /// The events that say the same as the whole answer in one document. `None` if it is no answer of this API.
    fn events_of(document: &Value) -> Option<Vec<Event>>;

    fn take(&mut self, event: Event, pieces: &mut Vec<Piece>) -> Flow;

    fn doing(&self) -> Doing;

    /// What has come so far, for somebody who stops here. Without calls, because nobody may run them.
    fn partial(&self) -> Answer;

    /// Whether the model has said its last word, though the stream goes on.
    fn is_whole(&self) -> bool;

    /// The stream is over, in whatever way. None if nothing at all has come.
    fn finish(self, pieces: &mut Vec<Piece>) -> Option<Answer>;
}

#[derive(Debug)]
pub(crate) enum Event {
    Json(Value),
    /// `[DONE]`
    Done,
    /// Something came that nobody can read, so something may be missing.
    Damaged,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Flow {
    GoOn,
    /// The answer has ended; what may still come says nothing about it.
    Over,
    /// The provider reports a failure, in this event.
    Failed(Value),
    /// There is no end to it.
    TooLarge(String),
}

/// One stream under way.
#[derive(Debug)]
pub(crate) struct Stream<R> {
    parser: SseParser,
    bytes: usize,
    pub(crate) reading: R,
}

impl<R: Reading> Stream<R> {
    pub(crate) fn new(reading: R) -> Self {
        Self { parser: SseParser::default(), bytes: 0, reading }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) -> Flow {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_ANSWER_BYTES {
            return Flow::TooLarge(format!("the answer is larger than {MAX_ANSWER_BYTES} bytes"));
        }
        let events = match self.parser.feed(bytes) {
            Ok(events) => events,
            Err(error) => return Flow::TooLarge(error.to_string()),
        };
        self.take(events.into_iter().flat_map(read), pieces)
    }

    /// Stops at the first event behind which nothing counts.
    pub(crate) fn take(
        &mut self,
        events: impl IntoIterator<Item = Event>,
        pieces: &mut Vec<Piece>,
    ) -> Flow {
        for event in events {
            let flow = self.reading.take(event, pieces);
            if flow != Flow::GoOn {
                return flow;
            }
        }
        Flow::GoOn
    }

    pub(crate) fn finish(self) -> Option<(Answer, Vec<Piece>)> {
        let mut pieces = Vec::new();
        let answer = self.reading.finish(&mut pieces)?;
        Some((answer, pieces))
    }
}

/// An event that lost its blank line has run into the next one; each of its lines is whole, then.
fn read(event: SseEvent) -> Vec<Event> {
    let SseEvent::Data(data) = event else { return vec![Event::Damaged] };
    let one = |text: &str| match text.trim() {
        "[DONE]" => Some(Event::Done),
        text => serde_json::from_str(text).ok().map(Event::Json),
    };
    if let Some(event) = one(&data) {
        return vec![event];
    }
    let lines: Option<Vec<Event>> = data.lines().map(one).collect();
    lines.filter(|lines| lines.len() > 1).unwrap_or_else(|| vec![Event::Damaged])
}

/// A text of foreign JSON, by its path; absent if it is anything else.
pub(crate) fn text_at<'json>(value: &'json Value, pointer: &str) -> Option<&'json str> {
    value.pointer(pointer)?.as_str()
}

/// A name, an id, a word: an empty one is none.
pub(crate) fn word_at<'json>(value: &'json Value, pointer: &str) -> Option<&'json str> {
    text_at(value, pointer).filter(|text| !text.is_empty())
}

pub(crate) fn number_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer)?.as_u64()
}
