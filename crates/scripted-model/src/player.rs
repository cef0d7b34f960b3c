//! When the events of an answer are sent, and where a fault strikes: no I/O, no clock.

mod strike;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::chat;
use crate::events::{self, Api, Segment, Setting, Step};
use crate::fault::{Cut, Fault, Malformed};
use crate::script::{Answer, Pace};
use strike::Strike;

/// What the connection does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Send(Bytes),
    /// Wait until all that was sent is in the socket.
    Flush,
    /// Let time pass; none is until the client leaves.
    Wait(Option<Duration>),
    /// End the connection here and now.
    Cut(Cut),
}

/// As many events as fit are sent as one chunk. 64 KiB is what a read of hyper's clients takes at most;
/// larger chunks were not faster.
const CHUNK_BYTES: usize = 64 * 1024;

/// One answer being played.
#[derive(Debug)]
pub(crate) struct Player {
    steps: VecDeque<Step>,
    setting: Setting,
    pace: Pace,
    /// The fault that strikes once, and the number of deltas before it.
    strike: Option<(u64, Strike)>,
    line_ends: LineEnds,
    chunks: Chunks,
    /// The next event is sent without its blank line.
    next_unclosed: bool,
    deltas_sent: u64,
    events_sent: u64,
    /// How much of the generated text at the front has been written.
    generated: u64,
    buffer: BytesMut,
    ready: VecDeque<Action>,
}

#[derive(Debug, PartialEq, Eq)]
enum LineEnds {
    Lf,
    CrLf,
}

#[derive(Debug, PartialEq, Eq)]
enum Chunks {
    Large,
    CutInCharacters,
}

impl Player {
    /// Faults that come before the stream (statuses, refusals) are not the player's.
    pub(crate) fn new(answer: &Answer, pace: Pace, setting: Setting) -> Self {
        let mut steps = VecDeque::from(events::compose(answer, &setting));
        strike::arrange(&mut steps, answer.fault.as_ref(), setting.api);
        let malformed = match answer.fault {
            Some(Fault::Malformed { how, .. }) => Some(how),
            _ => None,
        };
        Self {
            steps,
            setting,
            pace,
            strike: answer.fault.as_ref().and_then(strike::strike),
            line_ends: match malformed {
                Some(Malformed::Crlf) => LineEnds::CrLf,
                _ => LineEnds::Lf,
            },
            chunks: match malformed {
                Some(Malformed::SplitUtf8) => Chunks::CutInCharacters,
                _ => Chunks::Large,
            },
            next_unclosed: false,
            deltas_sent: 0,
            events_sent: 0,
            generated: 0,
            buffer: BytesMut::new(),
            ready: VecDeque::new(),
        }
    }

    fn advance(&mut self) {
        if self.strike_is_due()
            && let Some((_, strike)) = self.strike.take()
        {
            return self.strike(strike);
        }
        match self.steps.pop_front() {
            None => self.send_buffer(),
            Some(Step::Opening(event)) => self.put_event(&event),
            Some(Step::Delta(event)) => {
                self.wait_before_delta();
                self.put_event(&event);
                self.deltas_sent += 1;
                self.send_if_paced();
            }
            Some(Step::Flood(mut flood)) => {
                self.wait_before_delta();
                let most = self.deltas_in_one_go();
                let written = flood.write(most, CHUNK_BYTES, &mut self.buffer);
                self.close_event();
                self.deltas_sent += written;
                self.events_sent += written.saturating_sub(1);
                if flood.remaining() > 0 {
                    self.steps.push_front(Step::Flood(flood));
                }
                self.send_if_paced();
            }
            Some(Step::Event(segments)) => self.put_segments(segments, Step::Event),
            Some(Step::Terminal(segments)) => self.put_segments(segments, Step::Terminal),
        }
        if self.buffer.len() >= CHUNK_BYTES {
            self.send_buffer();
        }
    }

    fn strike_is_due(&self) -> bool {
        let Some((after, _)) = &self.strike else {
            return false;
        };
        match self.steps.front() {
            None | Some(Step::Terminal(_)) => true,
            Some(Step::Opening(_)) => false,
            Some(_) => self.deltas_sent >= *after,
        }
    }

    fn strike(&mut self, strike: Strike) {
        match strike {
            Strike::Cut(how) => {
                self.send_buffer();
                self.ready.extend([Action::Flush, Action::Cut(how)]);
                self.steps.clear();
            }
            Strike::Hang(time) => {
                self.send_buffer();
                self.ready.push_back(Action::Wait(time));
            }
            Strike::Error { code, message } | Strike::Failed { code, message }
                if self.setting.api == Api::Chat =>
            {
                self.put_event(&chat::error(&code, &message));
                self.steps.clear();
            }
            Strike::Error { code, message } => {
                let event = events::error(self.events_sent, &code, &message);
                self.put_event(&event);
                self.steps.clear();
            }
            Strike::Failed { code, message } => {
                let event = events::failed(&self.setting, self.events_sent, &code, &message);
                self.put_event(&event);
                self.steps.clear();
            }
            Strike::Insert(bytes) => self.buffer.extend_from_slice(bytes),
            Strike::LeaveUnclosed => self.next_unclosed = true,
        }
    }

    fn wait_before_delta(&mut self) {
        let wait_ms = match self.deltas_sent {
            0 => self.pace.before_first_delta_ms,
            _ => self.pace.between_deltas_ms,
        };
        if wait_ms > 0 {
            self.send_buffer();
            let time = Duration::from_millis(wait_ms);
            self.ready.push_back(Action::Wait(Some(time)));
        }
    }

    fn send_if_paced(&mut self) {
        if self.pace.between_deltas_ms > 0 {
            self.send_buffer();
        }
    }

    /// A flood stops where the next wait or the fault is due.
    fn deltas_in_one_go(&self) -> u64 {
        if self.pace.between_deltas_ms > 0 || self.next_unclosed {
            return 1;
        }
        match &self.strike {
            Some((after, _)) => after.saturating_sub(self.deltas_sent).max(1),
            None => u64::MAX,
        }
    }

    /// Writes the first segment, or a chunk of it; what is left goes back to the front.
    fn put_segments(&mut self, mut segments: Vec<Segment>, step: fn(Vec<Segment>) -> Step) {
        match segments.first() {
            None => return self.close_event(),
            Some(Segment::Bytes(bytes)) => {
                self.buffer.extend_from_slice(bytes);
                segments.remove(0);
            }
            Some(Segment::Generated(flood)) => {
                let from = self.generated;
                let to = flood.deltas.min(from + flood.pieces_in(CHUNK_BYTES));
                flood.write_text(from, to, &mut self.buffer);
                self.generated = to;
                if to == flood.deltas {
                    self.generated = 0;
                    segments.remove(0);
                }
            }
        }
        if segments.is_empty() {
            return self.close_event();
        }
        self.steps.push_front(step(segments));
    }

    fn put_event(&mut self, event: &[u8]) {
        self.buffer.extend_from_slice(event);
        self.close_event();
    }

    fn close_event(&mut self) {
        self.events_sent += 1;
        if std::mem::take(&mut self.next_unclosed) {
            self.buffer.truncate(self.buffer.len().saturating_sub(1));
        }
    }

    fn send_buffer(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let mut bytes = self.buffer.split().freeze();
        if self.line_ends == LineEnds::CrLf {
            bytes = strike::with_crlf(&bytes);
        }
        if self.chunks == Chunks::CutInCharacters {
            for piece in strike::cut_in_characters(&bytes) {
                self.ready.extend([Action::Send(piece), Action::Flush]);
            }
        } else {
            self.ready.push_back(Action::Send(bytes));
        }
    }
}

impl Iterator for Player {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        loop {
            if let Some(action) = self.ready.pop_front() {
                return Some(action);
            }
            if self.steps.is_empty() && self.buffer.is_empty() && self.strike.is_none() {
                return None;
            }
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests;
