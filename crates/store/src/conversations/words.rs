//! How text becomes words that can be found, the same for what was said and for what is asked.

/// Set between letters of scripts that put no space between words. SQLite takes it for a space, people do not see it.
const APART: char = '\u{200b}';
/// What is indexed of one message: enough for everything people and models write, and the head of what tools print.
const MOST_CHARACTERS: usize = 100_000;
/// Of one query; SQLite takes some hundred.
const MOST_TERMS: usize = 32;
/// From how many letters on a word is also found by its beginning. With one, nearly everything would be.
const LEAST_PREFIX: usize = 2;

/// Text as it is indexed: letters of scripts without spaces stand alone.
pub(super) fn set_apart(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in text.chars().take(MOST_CHARACTERS) {
        let joins = before.is_alphanumeric() && letter.is_alphanumeric();
        if joins && (has_no_spaces(before) || has_no_spaces(letter)) {
            apart.push(APART);
        }
        apart.push(letter);
        before = letter;
    }
    apart
}

/// A piece of indexed text as it was.
pub(super) fn joined(text: &str) -> String {
    text.replace(APART, "")
}

/// What somebody looks for, as SQLite wants it: every word in quotes, so that nothing in it means anything to SQLite.
pub(super) struct Query {
    terms: Vec<String>,
}

impl Query {
    /// None if there is no word in it.
    pub(super) fn of(text: &str) -> Option<Self> {
        let has_letter = |term: &&str| term.contains(char::is_alphanumeric);
        let split = |letter: char| letter.is_whitespace() || letter == '\0' || letter == '"';
        let terms = text.split(split).filter(has_letter).take(MOST_TERMS).map(quoted);
        let terms: Vec<String> = terms.collect();
        (!terms.is_empty()).then_some(Self { terms })
    }

    pub(super) fn all_of_them(&self) -> String {
        self.terms.join(" ")
    }

    pub(super) fn any_of_them(&self) -> String {
        self.terms.join(" OR ")
    }

    pub(super) fn has_several(&self) -> bool {
        self.terms.len() > 1
    }
}

fn quoted(term: &str) -> String {
    let letters = term.chars().filter(|letter| letter.is_alphanumeric()).count();
    let prefix = if letters >= LEAST_PREFIX { "*" } else { "" };
    format!("\"{}\"{prefix}", set_apart(term))
}

/// Han, Kana, Bopomofo, Thai, Lao, Tibetan, Myanmar, Khmer.
fn has_no_spaces(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0fff | 0x1000..=0x109f | 0x1780..=0x17ff
        | 0x3040..=0x312f | 0x31a0..=0x31bf | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f
        | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::{Query, joined, set_apart};

    #[test]
    fn only_scripts_without_spaces_are_set_apart_and_all_come_back() {
        for (text, apart) in [
            ("deploy the café", "deploy the café"),
            ("今天 deploy", "今\u{200b}天 deploy"),
            ("用Rust写", "用\u{200b}Rust\u{200b}写"),
            ("한국어 문장", "한국어 문장"),
        ] {
            assert_eq!(set_apart(text), apart);
            assert_eq!(joined(apart), text);
        }
    }

    #[test]
    fn nothing_in_a_query_means_anything_to_sqlite() {
        let all = |text: &str| Query::of(text).map(|query| query.all_of_them());
        assert_eq!(all("a\"b* OR text:c"), Some("\"a\" \"b*\" \"OR\"* \"text:c\"*".to_owned()));
        assert_eq!(all(" \" * () -- \0 "), None);
        assert_eq!(all(&"x ".repeat(99)).unwrap().split(' ').count(), 32);
    }
}
