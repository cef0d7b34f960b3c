//! Text from Codex, a model, a command or a file, made fit for a terminal.

use std::borrow::Cow;

/// Makes what a terminal would obey visible instead: escape sequences could repaint the very command that a person is
/// asked to approve, and direction marks could reorder it. Line ends and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let joins = is_joiner(character)
            && before.is_some_and(takes_joiner)
            && characters.peek().copied().is_some_and(takes_joiner);
        if is_hostile(character) && !joins {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
        before = Some(character);
    }
    Cow::Owned(out)
}

/// ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// Writing needs joiners between letters of scripts that join, as Persian and Hindi, and between the parts of an emoji. Next to
/// anything else, and above all inside of a command's Latin letters, one only hides a difference.
fn takes_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
            | '\u{0590}'..='\u{1cff}' | '\u{a800}'..='\u{abff}'
            | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
    )
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
        let (family, persian) =
            ("👩\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈", "می\u{200c}خواهم क्\u{200d}ष");
        assert_eq!((safe(family), safe(persian)), (family.into(), persian.into()));
        assert_eq!(safe("r\u{200d}m \u{200c}a\u{200c}"), "r\\u{200d}m \\u{200c}a\\u{200c}");
        assert_eq!(safe("👩\u{200d}\u{202e}"), "👩\\u{200d}\\u{202e}");
        assert_eq!(safe("tab\tline\nhorse \u{1F40E} é"), "tab\tline\nhorse \u{1F40E} é");
    }
}
