//! Settings that are one of a few words.

use toml::de::DeValue;

use super::{Node, Place, quoted};
use crate::nearest::nearest;

/// Makes an enum of words that a file may hold. A word that other programs know and we refuse here stands at the end,
/// with what to do instead.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )+
            $( refused $refused:literal: $instead:literal, )?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )+ }

        impl $name {
            /// All of them, in the order in which they are explained.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As it stands in the file and on the command line.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }

            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }

        impl $crate::value::Value for $name {
            fn form() -> String {
                $crate::value::words::alternatives(&[$($word),+])
            }

            fn read(
                found: &$crate::value::Node<'_>,
                place: &mut $crate::value::Place<'_>,
            ) -> Option<Self> {
                let refused = None $( .or(Some(($refused, $instead))) )?;
                let word = $crate::value::words::read(found, &[$($word),+], refused, place);
                word.and_then(Self::from_word)
            }

            fn written(&self) -> Option<String> {
                Some($crate::value::quoted(self.word()))
            }
        }
    };
}
pub(crate) use words;

/// `"a", "b" or "c"`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The word that stands there if it is one of those.
pub(crate) fn read<'w>(
    found: &Node<'_>,
    words: &[&'w str],
    refused: Option<(&str, &str)>,
    place: &mut Place<'_>,
) -> Option<&'w str> {
    let DeValue::String(written) = found.get_ref() else {
        place.mismatch(found);
        return None;
    };
    if let Some(word) = words.iter().find(|word| **word == written.as_ref()) {
        return Some(word);
    }
    let message = place.describe_mismatch(found);
    match (refused, nearest(written, words.iter().copied())) {
        (Some((word, instead)), _) if word == written.as_ref() => {
            place.advise(found, message, instead);
        }
        (_, Some(meant)) => {
            place.advise(found, message, format!("did you mean {}?", quoted(meant)));
        }
        _ => place.complain(found, message),
    }
    None
}
