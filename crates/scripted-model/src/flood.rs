//! Generated text: any number of numbered deltas, never more than a block of it in memory.

use bytes::{Bytes, BytesMut};

/// Eight digits and a space: a hundred million deltas before the numbers begin anew.
const DEFAULT_DELTA_BYTES: usize = 9;

/// Text made of `deltas` pieces of `delta_bytes` each. Every piece holds its own number from 0, so a reader
/// can tell a lost or doubled one: `00000041 `, with dots before the space when there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flood {
    pub(crate) deltas: u64,
    delta_bytes: usize,
}

/// The delta events of a flood, ready to be written one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FloodEvents {
    flood: Flood,
    before_text: Bytes,
    before_sequence: Bytes,
    after_sequence: Bytes,
    next: u64,
    first_sequence: u64,
}

impl Flood {
    pub(crate) fn new(deltas: u64, delta_bytes: usize) -> Self {
        let delta_bytes = match delta_bytes {
            0 => DEFAULT_DELTA_BYTES,
            bytes => bytes,
        };
        Self { deltas, delta_bytes }
    }

    /// How many whole pieces fit into `bytes`, at least one.
    pub(crate) fn pieces_in(&self, bytes: usize) -> u64 {
        (bytes / self.delta_bytes).max(1) as u64
    }

    /// Writes pieces `from..to` as plain text; it needs no escaping in JSON.
    pub(crate) fn write_text(&self, from: u64, to: u64, buffer: &mut BytesMut) {
        for number in from..to {
            self.write_piece(number, buffer);
        }
    }

    fn write_piece(&self, mut number: u64, buffer: &mut BytesMut) {
        let mut digits = [b'0'; DEFAULT_DELTA_BYTES - 1];
        for digit in digits.iter_mut().rev() {
            // The remainder of a division by ten fits a byte.
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        let room = self.delta_bytes.saturating_sub(1);
        let skipped = digits.len().saturating_sub(room);
        buffer.extend_from_slice(digits.get(skipped..).unwrap_or_default());
        buffer.resize(buffer.len() + room.saturating_sub(digits.len()), b'.');
        buffer.extend_from_slice(b" ");
    }
}

impl FloodEvents {
    /// `template` is the delta event with `text_mark` for its text and `sequence_mark` for its number.
    pub(crate) fn new(
        flood: Flood,
        first_sequence: u64,
        template: &Bytes,
        marks: [&[u8]; 2],
    ) -> Option<Self> {
        let [text_mark, sequence_mark] = marks;
        let (before_text, rest) = split_at_mark(template, text_mark)?;
        let (before_sequence, after_sequence) = split_at_mark(&rest, sequence_mark)?;
        Some(Self { flood, before_text, before_sequence, after_sequence, next: 0, first_sequence })
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.flood.deltas - self.next
    }

    /// Writes at most `most` events, and stops once the buffer holds `bytes`; says how many were written.
    pub(crate) fn write(&mut self, most: u64, bytes: usize, buffer: &mut BytesMut) -> u64 {
        let from = self.next;
        let end = from + most.min(self.remaining());
        while self.next < end && (buffer.len() < bytes || self.next == from) {
            buffer.extend_from_slice(&self.before_text);
            self.flood.write_piece(self.next, buffer);
            buffer.extend_from_slice(&self.before_sequence);
            write_number(self.first_sequence + self.next, buffer);
            buffer.extend_from_slice(&self.after_sequence);
            self.next += 1;
        }
        self.next - from
    }
}

/// What stands before the mark and what stands behind it.
pub(crate) fn split_at_mark(bytes: &Bytes, mark: &[u8]) -> Option<(Bytes, Bytes)> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((bytes.slice(..at), bytes.slice(at + mark.len()..)))
}

/// Decimal digits without the formatting machinery, which would be half the cost of a delta.
fn write_number(mut number: u64, buffer: &mut BytesMut) {
    // 2^64 has twenty digits.
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    buffer.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(delta_bytes: usize, from: u64, to: u64) -> String {
        let mut buffer = BytesMut::new();
        Flood::new(to, delta_bytes).write_text(from, to, &mut buffer);
        String::from_utf8(buffer.to_vec()).unwrap()
    }

    #[test]
    fn pieces_are_numbered_and_of_the_size_asked_for() {
        assert_eq!(text(0, 9, 11), "00000009 00000010 ");
        assert_eq!(text(3, 99, 101), "99 00 ");
        assert_eq!(text(12, 7, 8), "00000007... ");
    }

    #[test]
    fn events_are_numbered_on_from_the_first_sequence() {
        let template = Bytes::from_static(b"{\"delta\":\"T\",\"n\":S}\n");
        let mut events = FloodEvents::new(Flood::new(3, 3), 9, &template, [b"T", b"S"]).unwrap();
        let mut buffer = BytesMut::new();
        let written = [events.write(2, 1000, &mut buffer), events.write(9, 1, &mut buffer)];
        assert_eq!(written, [2, 1]);
        assert_eq!(
            buffer,
            "{\"delta\":\"00 \",\"n\":9}\n{\"delta\":\"01 \",\"n\":10}\n{\"delta\":\"02 \",\"n\":11}\n"
        );
    }
}
