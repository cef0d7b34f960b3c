//! Making room in a long conversation: which messages are summed up, and what the model is asked for it.

use std::collections::BTreeSet;

use ostler_model::message::Role;

use crate::api::Entry;
use crate::history::{Compression, Kept, estimate, shown};

/// How much of the context the newest messages may keep, in percent.
const KEPT_PERCENT: u64 = 25;

/// A cut inside a turn takes away at least this part of what may stay: a summary costs a call of the model.
const LEAST_TAKEN: u64 = 2;

/// What is too long to be summed up is shortened, message by message, until it fits.
const SHORTER: [usize; 4] = [8000, 2000, 400, 80];

/// A wish that is longer has its material in the middle.
const WISH_CHARACTERS: usize = 8000;

/// The summary itself must stay small against what it replaces.
const MOST_SUMMARY_WORDS: u32 = 1200;

/// Whether a context is so full that it is summed up before the next question. What is left must be room for one long answer
/// and its tools' results.
pub(crate) fn is_full(used: u64, context_window: u64, most_percent: u64) -> bool {
    context_window > 0 && used.saturating_mul(100) >= context_window.saturating_mul(most_percent)
}

/// The number of the last message to be summed up. None if there is nothing worth it.
///
/// What stays begins with a message of the user. Only where the newest turn alone is too long does it begin inside of it, behind
/// whole calls with their results: what was called is never parted from what came of it.
pub(crate) fn cut(kept: &[Kept], before: Option<&Compression>, context_window: u64) -> Option<u64> {
    let room = context_window.saturating_mul(KEPT_PERCENT) / 100;
    let done = before.map_or(0, |it| it.up_to);
    let open: Vec<&Kept> = kept.iter().filter(|it| it.number > done).collect();
    let (seams, all) = seams(&open);
    if all <= room {
        return None;
    }
    let fits = |seam: &&Seam| all - seam.before <= room;
    let is_worth = |seam: &&Seam| seam.before >= room / LEAST_TAKEN;
    let users = || seams.iter().filter(|it| it.is_users);
    let found = users()
        .find(fits)
        .or_else(|| seams.iter().filter(is_worth).find(fits))
        .or_else(|| seams.iter().rfind(is_worth))
        .or_else(|| users().next_back());
    found.map(|it| it.up_to)
}

/// Where a conversation can be parted.
struct Seam {
    /// The last message before it.
    up_to: u64,
    /// What comes behind it begins with the user.
    is_users: bool,
    /// The tokens before it.
    before: u64,
}

/// All of them in their order, and the tokens of all messages.
fn seams(open: &[&Kept]) -> (Vec<Seam>, u64) {
    let mut waiting: BTreeSet<&str> = BTreeSet::new();
    let mut seams = Vec::new();
    let mut before = 0;
    let mut last = None;
    for it in open {
        let message = &it.entry.message;
        let is_users = message.role == Role::User;
        let can_begin = is_users || (message.role == Role::Assistant && waiting.is_empty());
        if let Some(up_to) = last.filter(|_| can_begin) {
            seams.push(Seam { up_to, is_users, before });
        }
        waiting.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
        if let Some(call) = &message.tool_call_id {
            waiting.remove(call.as_str());
        }
        before += estimate(std::slice::from_ref(&it.entry));
        last = Some(it.number);
    }
    (seams, before)
}

/// What the model is shown to sum up: all that it would have been shown, up to the cut, in so many tokens at most.
pub(crate) fn to_sum_up(
    kept: &[Kept],
    before: Option<&Compression>,
    up_to: u64,
    most_tokens: u64,
) -> Vec<Entry> {
    let part: Vec<Kept> = kept.iter().filter(|it| it.number <= up_to).cloned().collect();
    let whole = shown(&part, before);
    let wish = Entry::plain(ostler_model::Message::user(wish()));
    let most = most_tokens.saturating_sub(estimate(std::slice::from_ref(&wish)));
    let mut entries = whole.clone();
    for characters in SHORTER {
        if estimate(&entries) <= most {
            break;
        }
        entries = whole.iter().map(|entry| shortened(entry, characters)).collect();
    }
    // Nothing is left but to begin later. A result without its call would be refused.
    let mut size = estimate(&entries);
    let mut from = 0;
    while let Some(entry) = entries.get(from)
        && (size > most || entry.message.role == Role::Tool)
    {
        size = size.saturating_sub(estimate(std::slice::from_ref(entry)));
        from += 1;
    }
    entries.drain(..from);
    entries.push(wish);
    entries
}

/// The beginning and the end of everything long. Reasoning and images, which nobody can sum up from a part, are left out.
fn shortened(entry: &Entry, characters: usize) -> Entry {
    let mut message = entry.message.clone();
    message.content = message.content.map(|text| middle_left_out(&text, characters));
    for call in &mut message.tool_calls {
        let arguments = &mut call.function.arguments;
        if arguments.chars().count() > characters {
            // Still JSON: some providers read it.
            *arguments = serde_json::json!({ "shortened": middle_left_out(arguments, characters) })
                .to_string();
        }
    }
    if message.role == Role::User && message.content.is_none() {
        message.content = Some("[an image]".to_owned());
    }
    Entry::plain(message)
}

fn middle_left_out(text: &str, characters: usize) -> String {
    let count = text.chars().count();
    if count <= characters {
        return text.to_owned();
    }
    let half = characters / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n[… {} characters left out …]\n{tail}", count - 2 * half)
}

/// A summary in whose part the user spoke last is followed by their own words: what they want is not the model's to retell.
pub(crate) fn with_the_wish(summary: String, kept: &[Kept], up_to: u64) -> String {
    let last = kept.iter().rfind(|it| it.entry.message.role == Role::User);
    let Some(last) = last.filter(|it| it.number <= up_to) else { return summary };
    let said = last.entry.message.content.as_deref().unwrap_or_default();
    let said = middle_left_out(said, WISH_CHARACTERS);
    format!("{summary}\n\nThe user's latest message, word for word:\n{said}")
}

fn wish() -> String {
    format!(
        "Sum up our conversation so far, for yourself: from now on you see the summary in place of the messages above. Keep what \
         is needed to go on: what I want and how I want it, decisions and their reasons, names of files, commands and ids, what is \
         done and how it was checked, what failed, what is still open and the next step. Leave out greetings and outputs that no \
         longer matter. At most {MOST_SUMMARY_WORDS} words. Answer with the summary alone and call no tool."
    )
}

#[cfg(test)]
mod tests {
    use ostler_model::Message;
    use ostler_model::message::Role;

    use super::{cut, is_full, to_sum_up, with_the_wish};
    use crate::api::Entry;
    use crate::history::{Compression, Kept, estimate};

    fn turns(lengths: &[usize]) -> Vec<Kept> {
        let mut kept = Vec::new();
        for (turn, length) in (1..).zip(lengths) {
            let messages = [
                Message::user("u".repeat(*length)),
                Message::call(format!("c{turn}"), "t".to_owned(), "{}".to_owned()),
                Message::tool(format!("c{turn}"), "r".repeat(*length)),
            ];
            for message in messages {
                let number = u64::try_from(kept.len()).unwrap() + 1;
                kept.push(Kept { number, turn, entry: Entry::plain(message) });
            }
        }
        kept
    }

    #[test]
    fn what_stays_begins_with_the_user() {
        // A window of 4,000 tokens keeps 1,000 of them: 4,000 characters.
        let all = turns(&[1000, 1000, 1000]);
        assert_eq!(cut(&all, None, 4000), Some(6));
        assert_eq!(cut(&all, None, 40_000), None);
        let before = Compression { up_to: 6, summary: String::new() };
        assert_eq!(cut(&all, Some(&before), 4000), None);
    }

    #[test]
    fn a_newest_turn_that_is_too_long_is_parted_behind_whole_calls() {
        // Two calls at once stay together with both results.
        let mut kept = turns(&[10]);
        let mut both = Message::call("a".to_owned(), "t".to_owned(), "{}".to_owned());
        both.tool_calls
            .extend(Message::call("b".to_owned(), "t".to_owned(), "{}".to_owned()).tool_calls);
        for message in [
            both,
            Message::tool("a".to_owned(), "r".repeat(4000)),
            Message::tool("b".to_owned(), "r".repeat(4000)),
            Message::call("c".to_owned(), "t".to_owned(), "{}".to_owned()),
            Message::tool("c".to_owned(), "r".repeat(2000)),
        ] {
            let number = u64::try_from(kept.len()).unwrap() + 1;
            kept.push(Kept { number, turn: 1, entry: Entry::plain(message) });
        }
        assert_eq!(cut(&kept, None, 4000), Some(6), "the last call stays");
        // What is left is one call with its result: nothing more can be taken away.
        let before = Compression { up_to: 6, summary: String::new() };
        assert_eq!(cut(&kept, Some(&before), 400), None);
        // A call whose result has not come is never parted from it.
        kept.truncate(5);
        assert_eq!(cut(&kept, None, 4000), None);
    }

    #[test]
    fn what_is_too_long_to_be_summed_up_is_shortened_until_it_fits() {
        let all = turns(&[100_000, 50_000]);
        let whole = to_sum_up(&all, None, 6, 1_000_000);
        assert_eq!(whole.len(), 7);
        for most in [40_000, 5_000, 1_200, 600, 350] {
            let entries = to_sum_up(&all, None, 6, most);
            assert!(estimate(&entries) <= most, "{most}: {}", estimate(&entries));
            assert_ne!(entries[0].message.role, Role::Tool);
        }
    }

    #[test]
    fn the_users_last_words_outlive_a_cut_behind_them() {
        let all = turns(&[10]);
        let summary = with_the_wish("Fed.".to_owned(), &all, 1);
        assert_eq!(summary, "Fed.\n\nThe user's latest message, word for word:\nuuuuuuuuuu");
        assert_eq!(with_the_wish("Fed.".to_owned(), &all, 0), "Fed.");
    }

    #[test]
    fn a_context_is_full_before_it_overflows() {
        let full = [is_full(74, 100, 75), is_full(75, 100, 75), is_full(9, 0, 75)];
        assert_eq!(full, [false, true, false]);
    }
}
