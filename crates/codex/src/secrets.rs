//! What is secret, and how it is taken out of what Codex says before anybody keeps or shows it.
//!
//! This is the one declaration: how tokens begin ([`ostler_model::token`]), the names that stand before a secret
//! (`names`), how secrets look in a text (`shapes`), and the values that were registered ([`Secrets`]): what is in the
//! `auth.json` of the app-server's Codex home, the secret variables that it was given, and answers typed as secrets.
//! The driver filters all that it tells (`Filter`), the wire log and the lines of a stream go through the same shapes
//! and values.
//!
//! What cannot be seen: a secret without a known shape that nobody registered, and one that is encoded.

mod filter;
mod growing;
mod known;
mod learn;
pub(crate) mod names;
pub(crate) mod shapes;
mod told;

pub(crate) use filter::Filter;
pub(crate) use known::SHORTEST_KNOWN_BYTES;
pub use known::Secrets;

use std::ops::Range;

/// What stands in the place of a secret.
pub const REDACTED: &str = "‹redacted›";

/// Sorts the spans and joins those that overlap.
pub(crate) fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// The text with a mark in the place of each span; `None` if there is none.
pub(crate) fn hide(text: &str, spans: &[Range<usize>]) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    let mut hidden = String::with_capacity(text.len());
    let mut last = 0;
    for span in spans {
        hidden.push_str(text.get(last..span.start).unwrap_or_default());
        hidden.push_str(REDACTED);
        last = span.end;
    }
    hidden.push_str(text.get(last..).unwrap_or_default());
    Some(hidden)
}
