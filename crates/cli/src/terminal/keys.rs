//! Keys, as a terminal in raw mode sends them.

/// What was pressed, as what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Character(char),
    /// Many characters at once, which the terminal says were pasted.
    Paste(String),
    Enter,
    /// Alt-Enter, or Ctrl-J: another line of the same text.
    NewLine,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    DeleteWord,
    DeleteToEnd,
    DeleteToStart,
    ClearScreen,
    Escape,
    CtrlC,
    CtrlD,
}

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Far more than anybody pastes; what is longer is cut, so that a terminal that never ends a paste does not fill the memory.
const PASTE_BYTES: usize = 4 * 1024 * 1024;

/// Makes keys of bytes, also when a key comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let key = match self.paste.take() {
                Some(pasted) => self.pasted(pasted),
                None => self.next(),
            };
            match key {
                Step::Key(key) => keys.push(key),
                Step::Nothing => {}
                Step::More => return keys,
            }
        }
    }

    fn pasted(&mut self, mut pasted: Vec<u8>) -> Step {
        let end = self.pending.windows(PASTE_ENDS.len()).position(|found| found == PASTE_ENDS);
        // The end may be cut in two; so much of it is left for the next time.
        let whole = end.unwrap_or(self.pending.len().saturating_sub(PASTE_ENDS.len() - 1));
        pasted.extend(self.pending.drain(..whole));
        pasted.truncate(PASTE_BYTES);
        if end.is_none() {
            self.paste = Some(pasted);
            return Step::More;
        }
        self.pending.drain(..PASTE_ENDS.len());
        let text = String::from_utf8_lossy(&pasted).replace("\r\n", "\n").replace('\r', "\n");
        Step::Key(Key::Paste(text))
    }

    fn next(&mut self) -> Step {
        let Some(first) = self.pending.first().copied() else { return Step::More };
        let (length, step) = match first {
            0x1b => match self.escape() {
                Some(found) => found,
                None => return Step::More,
            },
            0x00..=0x1f | 0x7f => (1, control(first)),
            _ => match character(&self.pending) {
                Some(found) => found,
                None => return Step::More,
            },
        };
        self.pending.drain(..length.min(self.pending.len()));
        step
    }

    /// None if the sequence is not whole.
    fn escape(&mut self) -> Option<(usize, Step)> {
        if self.pending.starts_with(PASTE_BEGINS) {
            self.paste = Some(Vec::new());
            return Some((PASTE_BEGINS.len(), Step::Nothing));
        }
        match self.pending.get(1) {
            // A terminal writes a sequence in one go, so an escape alone is the key.
            None | Some(0x1b) => Some((1, Step::Key(Key::Escape))),
            Some(b'\r' | b'\n') => Some((2, Step::Key(Key::NewLine))),
            Some(b'b') => Some((2, Step::Key(Key::WordLeft))),
            Some(b'f') => Some((2, Step::Key(Key::WordRight))),
            Some(0x7f | 0x08) => Some((2, Step::Key(Key::DeleteWord))),
            Some(b'[' | b'O') => {
                let rest = self.pending.get(2..).unwrap_or_default();
                let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
                let sequence = rest.get(..=end).unwrap_or_default();
                Some((3 + end, named(sequence)))
            }
            Some(_) => Some((2, Step::Nothing)),
        }
    }
}

enum Step {
    Key(Key),
    /// Bytes that mean nothing to us.
    Nothing,
    /// What is there is not whole.
    More,
}

fn control(byte: u8) -> Step {
    Step::Key(match byte {
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::CtrlC,
        0x04 => Key::CtrlD,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x08 | 0x7f => Key::Backspace,
        0x09 => Key::Tab,
        0x0a => Key::NewLine,
        0x0b => Key::DeleteToEnd,
        0x0c => Key::ClearScreen,
        0x0d => Key::Enter,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::DeleteToStart,
        0x17 => Key::DeleteWord,
        _ => return Step::Nothing,
    })
}

fn named(sequence: &[u8]) -> Step {
    Step::Key(match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"1;5D" | b"1;3D" => Key::WordLeft,
        b"1;5C" | b"1;3C" => Key::WordRight,
        b"13;2u" | b"13;3u" | b"27;2;13~" => Key::NewLine,
        _ => return Step::Nothing,
    })
}

/// One character and its length; None while its bytes are not all there.
fn character(bytes: &[u8]) -> Option<(usize, Step)> {
    let head = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        // Not whole yet, or no text at all.
        Err(error) => return error.error_len().map(|length| (length, Step::Nothing)),
    };
    let first = valid.chars().next()?;
    Some((first.len_utf8(), Step::Key(Key::Character(first))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys_however_they_are_cut() {
        let bytes = "aé🐎\r\u{1b}[A\u{1b}[1;5D\u{1b}[200~x\r\ny\u{1b}[201~\u{3}\u{1b}\r\u{1b}[99~z"
            .as_bytes();
        let expected = vec![
            Key::Character('a'),
            Key::Character('é'),
            Key::Character('🐎'),
            Key::Enter,
            Key::Up,
            Key::WordLeft,
            Key::Paste("x\ny".to_owned()),
            Key::CtrlC,
            Key::NewLine,
            Key::Character('z'),
        ];
        assert_eq!(Decoder::default().feed(bytes), expected);
        // Cut anywhere but behind an escape, which would be a key of its own.
        for at in (1..bytes.len()).filter(|at| bytes[at - 1] != 0x1b) {
            let mut decoder = Decoder::default();
            let mut keys = decoder.feed(&bytes[..at]);
            keys.extend(decoder.feed(&bytes[at..]));
            assert_eq!(keys, expected, "cut at {at}");
        }
    }

    #[test]
    fn an_escape_alone_and_bytes_that_are_no_text_do_no_harm() {
        assert_eq!(Decoder::default().feed(b"\x1b"), [Key::Escape]);
        assert_eq!(Decoder::default().feed(b"\xff\xfea\x00"), [Key::Character('a')]);
    }
}
