//! Cutting what is too long for a history, always saying so.

/// Characters of a command's output. Codex gives its own model at most 10 000 tokens of it, some 40 000 characters, and
/// that once; a history is sent to a model again with every turn, so it gets a quarter.
pub(crate) const OUTPUT: usize = 10_000;

/// Characters of a tool's error, of its result and arguments, and of an item we do not know; after the original.
pub(crate) const ERROR: usize = 1_000;
pub(crate) const RESULT: usize = 4_000;
pub(crate) const OPAQUE: usize = 1_500;

/// Room for the words that say how much was left out, with a number of any size.
const MARK_ROOM: usize = 48;

/// The text if it is short enough, else its head and tail around a line that says how many characters are missing.
pub(crate) fn text(text: &str, limit: usize) -> String {
    let characters = text.chars().count();
    if characters <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(MARK_ROOM);
    let (head, tail) = ends(text, characters, kept);
    let line = |before: &str| if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    format!("{head}{}[… {} characters left out …]\n{tail}", line(head), characters - kept)
}

/// The first and the last `kept` characters, half of each. `characters` is the length of the text.
pub(crate) fn ends(text: &str, characters: usize, kept: usize) -> (&str, &str) {
    let head = kept.div_ceil(2);
    let tail = kept - head;
    let at = |index| text.char_indices().nth(index).map_or(text.len(), |(byte, _)| byte);
    let head_end = at(head);
    let tail_start = at(characters.saturating_sub(tail)).max(head_end);
    (text.get(..head_end).unwrap_or(text), text.get(tail_start..).unwrap_or_default())
}

/// The beginning of a text, as one line, for a list or a status line.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().take(limit).map(plain).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_long_text_keeps_head_and_tail_and_says_what_is_missing() {
        let long: String = ('a'..='z').cycle().take(200).collect();

        let cut = super::text(&long, 58);

        assert_eq!(cut, "abcde\n[… 190 characters left out …]\nnopqr");
        assert_eq!(super::text(&long, 200), long);
    }

    #[test]
    fn a_cut_never_splits_a_character_and_stays_in_its_limit() {
        let long = "ö".repeat(100_000);
        for limit in [0, 1, 48, 49, 50, 1_000] {
            let cut = super::text(&long, limit);
            assert!(cut.chars().count() <= limit.max(48), "{limit}: {}", cut.len());
        }
    }
}
