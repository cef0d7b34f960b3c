//! Text from Codex, a model, a command or a file, made fit for a terminal.

use std::borrow::Cow;

/// Makes what a terminal would obey visible instead: escape sequences could repaint the very command that a person is
/// asked to approve, and direction marks could reorder it. Line ends and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hostile(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn is_hostile(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Marks that change the direction or join what follows, and the invisible tag characters.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{e0000}'..='\u{e007f}' => true,
        // The Arabic letter mark, separators of lines and paragraphs, and annotations.
        '\u{061c}' | '\u{180e}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        assert_eq!(safe("ls\u{1b}[2K\rrm -rf /"), "ls\\u{1b}[2K\\u{d}rm -rf /");
        assert_eq!(safe("a\u{202e}b\u{7}"), "a\\u{202e}b\\u{7}");
        assert_eq!(safe("a\u{061c}b\u{2028}c"), "a\\u{61c}b\\u{2028}c");
        assert_eq!(safe("tab\tline\nhorse \u{1F40E} é"), "tab\tline\nhorse \u{1F40E} é");
    }
}
