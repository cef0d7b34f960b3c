//! Output that is kept only at both ends, however long it grows.

/// Takes any amount of bytes and keeps the first and the last of them.
#[derive(Debug)]
pub struct Cap {
    half: usize,
    head: Vec<u8>,
    /// Up to twice as long as it needs to be, so that it is not moved for every piece.
    tail: Vec<u8>,
    cut_bytes: u64,
    cut_lines: u64,
}

impl Cap {
    /// Keeps about this many bytes.
    pub fn new(bytes: usize) -> Self {
        let half = bytes / 2;
        Self { half, head: Vec::new(), tail: Vec::new(), cut_bytes: 0, cut_lines: 0 }
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len());
        if room > 0 {
            let (first, rest) = bytes.split_at(room.min(bytes.len()));
            self.head.extend_from_slice(first);
            bytes = rest;
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * self.half {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let over = self.tail.len().saturating_sub(self.half);
        let cut = self.tail.get(..over).unwrap_or_default();
        self.cut_lines += memchr::memchr_iter(b'\n', cut).count() as u64;
        self.cut_bytes += over as u64;
        self.tail.drain(..over);
    }

    /// All of it, or both ends with a mark between that says how much is missing.
    pub fn finish(mut self) -> String {
        self.shorten();
        if self.cut_bytes == 0 {
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        // A letter of several bytes that was cut in two belongs to what is missing.
        let head = match std::str::from_utf8(&self.head) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.head.len(),
        };
        self.cut_bytes += (self.head.len() - head) as u64;
        self.head.truncate(head);
        let split = self.tail.iter().take_while(|byte| (0x80..0xC0).contains(*byte)).count();
        self.cut_bytes += split as u64;
        self.tail.drain(..split);
        format!(
            "{}\n[… {} bytes with {} lines were cut here …]\n{}",
            String::from_utf8_lossy(&self.head),
            self.cut_bytes,
            self.cut_lines,
            String::from_utf8_lossy(&self.tail)
        )
    }
}

/// Text of at most about this many bytes.
pub fn cut(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let mut cap = Cap::new(bytes);
    cap.push(text.as_bytes());
    cap.finish()
}

#[cfg(test)]
mod tests {
    use super::{Cap, cut};

    #[test]
    fn short_output_stays_as_it_is() {
        assert_eq!(cut("12345678".to_owned(), 8), "12345678");
    }

    #[test]
    fn long_output_keeps_both_ends_and_says_what_is_missing() {
        assert_eq!(
            cut("abcd\nefgh\nij\nklmn".to_owned(), 8),
            "abcd\n[… 9 bytes with 3 lines were cut here …]\nklmn"
        );
    }

    #[test]
    fn no_letter_is_cut_in_two() {
        assert_eq!(cut("ääääää".to_owned(), 6), "ä\n[… 8 bytes with 0 lines were cut here …]\nä");
    }

    #[test]
    fn pieces_and_one_piece_come_to_the_same() {
        let text = "0123456789".repeat(50);
        let mut cap = Cap::new(30);
        for piece in text.as_bytes().chunks(7) {
            cap.push(piece);
        }
        assert_eq!(cap.finish(), cut(text, 30));
    }
}
