//! Text that grows, without its secrets: what may be the beginning of one is held back until it is known.
//!
//! Only the part is kept that more text could change the reading of, so that a piece is read in the time that its own
//! length takes, and the pieces together are what the filter makes of the whole text.

use std::ops::Range;

use super::shapes::{Care, Reading, look};
use super::{Secrets, hide, merged};

/// What may be held back although nothing says that it is a secret: a word of a token that is still short, a title, the
/// value of a setting. Longer ones are let through; the item that ends the text is looked at as a whole.
const MOST_HELD_BYTES: usize = 512;

/// What is kept of each end of a word or of a secret that goes on: enough to read on, and for the line that closes a
/// private key.
const END_BYTES: usize = 64;

/// One text that grows.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// The end of what came, from where the reading goes on.
    text: String,
    /// How much of it has been let through.
    shown: usize,
}

impl Growing {
    /// What may be shown now that this has come.
    pub(super) fn push(&mut self, piece: &str, secrets: &Secrets) -> String {
        self.text.push_str(piece);
        let found = look(&self.text, Reading::Piece, Care::Strict);
        let mut spans = found.spans;
        secrets.find(&self.text, &mut spans);
        let spans = merged(spans);
        let end = self.text.len();
        let begun = secrets.begun_at_end(&self.text, 1);
        let open = spans.last().filter(|span| span.end == end).map(|span| span.start);
        let by_shape = found.end.and_then(|end| end.hold);
        let mut hold = [begun, open, by_shape].into_iter().flatten().min().unwrap_or(end);
        if begun.is_none() && open.is_none() && end - hold > MOST_HELD_BYTES {
            hold = end;
        }
        if let Some(span) = spans.iter().find(|span| span.start < hold && span.end > hold) {
            hold = span.start;
        }
        let shown = self.show(hold, &spans);
        let from = found.end.map_or(end, |end| end.from).min(hold);
        self.text.drain(..from);
        self.shown -= from;
        if begun.is_none() {
            self.shorten(open.is_some());
        }
        shown
    }

    /// The rest: nothing more comes.
    pub(super) fn end(mut self, secrets: &Secrets) -> String {
        let mut spans = look(&self.text, Reading::Whole, Care::Strict).spans;
        secrets.find(&self.text, &mut spans);
        self.show(self.text.len(), &merged(spans))
    }

    fn show(&mut self, until: usize, spans: &[Range<usize>]) -> String {
        let from = self.shown;
        let until = until.max(from);
        let within = spans.iter().filter(|span| span.end > from && span.end <= until);
        let within: Vec<_> =
            within.map(|span| span.start.max(from) - from..span.end - from).collect();
        self.shown = until;
        let text = self.text.get(from..until).unwrap_or_default();
        hide(text, &within).unwrap_or_else(|| text.to_owned())
    }

    /// Of what goes on for long only the ends are needed. If none of it may be shown it is one secret, which becomes one
    /// mark however long it was.
    fn shorten(&mut self, is_secret: bool) {
        let start = if is_secret { self.shown } else { 0 };
        let may_cut = is_secret || self.shown == self.text.len();
        if !may_cut || self.text.len() - start <= MOST_HELD_BYTES {
            return;
        }
        let head = self.text.floor_char_boundary(start + END_BYTES);
        let tail = self.text.floor_char_boundary(self.text.len() - END_BYTES);
        self.text.replace_range(head..tail, "");
        if !is_secret {
            self.shown = self.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::secrets::{Filter, REDACTED};

    const CANARY: &str = "rt_canary.secret-of-a-login";

    fn secrets() -> Secrets {
        let secrets = Secrets::default();
        assert!(secrets.add(CANARY));
        secrets
    }

    fn grown(pieces: &[&str]) -> Vec<String> {
        let (secrets, mut growing) = (secrets(), Growing::default());
        let mut shown: Vec<_> = pieces.iter().map(|it| growing.push(it, &secrets)).collect();
        shown.push(growing.end(&secrets));
        shown
    }

    #[test]
    fn what_may_be_a_secret_is_held_back_and_nothing_else() {
        let table: [(&[&str], &[&str]); 9] = [
            (&["plain ", "words"], &["plain ", "words", ""]),
            (&["a rt_can", "ary.secret-of-", "a-login b"], &["a ", "", "‹redacted› b", ""]),
            (&["rt_can", "t be"], &["", "rt_cant be", ""]),
            (&["s", "k-proj1abcdefghijklm", "n end"], &["", "", "‹redacted› end", ""]),
            (&["task", "-sk-0123456789abcdef"], &["task", "-sk-0123456789abcdef", ""]),
            (&["ask s", "ome"], &["ask ", "some", ""]),
            (&["ends in s"], &["ends in ", "s"]),
            (
                &["{\"access_tok", "en\": \"AB", "CD0123456789efgh\"}"],
                &["{\"access_tok", "en\": \"", "‹redacted›\"}", ""],
            ),
            (
                &[
                    "-----BEGIN RSA ",
                    "PRIVATE KEY-----\nab",
                    "c\n-----END RSA PRIVATE KEY-----\ny.",
                ],
                &["", "", "‹redacted›\ny.", ""],
            ),
        ];
        for (pieces, expected) in table {
            assert_eq!(grown(pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_text_without_an_end_needs_little_memory_and_a_long_secret_is_one_mark() {
        let (secrets, mut growing) = (secrets(), Growing::default());
        let mut shown = String::new();
        for _ in 0..10_000 {
            shown += &growing.push("abcdefgh", &secrets);
            assert!(growing.text.len() <= 2 * MOST_HELD_BYTES);
        }
        assert_eq!(shown.len(), 80_000);
        shown = growing.push("\n-----BEGIN PRIVATE KEY-----\n", &secrets);
        for _ in 0..10_000 {
            shown += &growing.push("abcdefgh\n", &secrets);
            assert!(growing.text.len() <= 2 * MOST_HELD_BYTES);
        }
        shown += &growing.push("-----END PRIVATE KEY-----\n", &secrets);
        assert_eq!(shown + &growing.end(&secrets), format!("\n{REDACTED}\n"));
    }

    proptest! {
        /// However a text is cut, its pieces are together what is made of it as a whole.
        #[test]
        fn pieces_are_together_the_whole(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(CANARY.to_owned()),
                    Just("sk-proj1abcdefghijklmn".to_owned()),
                    Just("eyJhbGciOiJIUzI1NiJ9.e30.abc".to_owned()),
                    Just("Bearer AbC0123456789defgh".to_owned()),
                    Just("authorization: Basic Zm9vOmJhcjEyMzQ1Njc4\n".to_owned()),
                    Just("\"access_token\" : \"AbC0123456789defgh\"".to_owned()),
                    Just("OPENAI_API_KEY='AbC0123456789defgh'".to_owned()),
                    Just("https://me:word@host/".to_owned()),
                    Just("-----BEGIN PRIVATE KEY-----\nab\n-----END PRIVATE KEY-----".to_owned()),
                    "[ a-z\"=:,é\n\u{1b}-]{0,6}",
                ],
                1..8,
            ),
            cuts in prop::collection::vec(0usize..400, 0..40),
        ) {
            let text = parts.concat();
            let mut cuts: Vec<_> =
                cuts.into_iter().map(|at| text.floor_char_boundary(at.min(text.len()))).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut last = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                pieces.push(&text[last..cut]);
                last = cut;
            }
            let filter = Filter::new(secrets());
            let mut whole = text.clone();
            filter.text(&mut whole);
            prop_assert_eq!(grown(&pieces).concat(), whole);
            prop_assert!(!grown(&pieces).concat().contains(CANARY));
        }
    }
}
