//! The messages of a conversation as they are on disk, and as a model is shown them.

use std::collections::BTreeSet;

use ostler_model::Message;
use ostler_model::message::Role;
use serde::{Deserialize, Serialize};

use crate::api::{Call, Entry};

/// A message, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// In the conversation, from 1.
    pub(crate) number: u64,
    pub(crate) turn: u64,
    pub(crate) entry: Entry,
}

/// The messages up to one of them, summed up. The messages themselves stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compression {
    /// The number of the last message that the summary stands for.
    pub up_to: u64,
    pub summary: String,
}

/// What a model is told where a tool's result was lost. Never that it failed: whoever believes that does it again.
pub(crate) const UNKNOWN_RESULT: &str = "[no result: the program was ended while this call was under way. It is not known \
    whether it ran. Look before doing it again.]";

const SUMMARY_HEAD: &str = "[Earlier messages of this conversation were summed up to make room. What follows is their summary; \
    the user's latest wishes come after it.]";

impl Entry {
    pub(crate) fn plain(message: Message) -> Self {
        Self { message, images: Vec::new(), replay: None, is_cut: false, tokens: None }
    }
}

/// Calls whose results are missing, by the assistant's message that has them.
pub(crate) fn unanswered(kept: &[Kept]) -> Vec<Call> {
    let answered: BTreeSet<&str> =
        kept.iter().filter_map(|it| it.entry.message.tool_call_id.as_deref()).collect();
    let calls = kept.iter().flat_map(|it| &it.entry.message.tool_calls);
    let missing = calls.filter(|call| !answered.contains(call.id.as_str()));
    let call = |call: &ostler_model::message::MessageToolCall| Call {
        id: call.id.clone(),
        tool: call.function.name.clone(),
        arguments: call.function.arguments.clone(),
    };
    missing.map(call).collect()
}

/// What a model is shown: the summary, then the messages after it. Each call stands right before its results, nothing
/// stands without its other half, no two calls have the same id, and names are such as every API takes.
pub(crate) fn shown(kept: &[Kept], compression: Option<&Compression>) -> Vec<Entry> {
    let after = compression.map_or(0, |it| it.up_to);
    let mut shown = Vec::new();
    if let Some(compression) = compression {
        let text = format!("{SUMMARY_HEAD}\n\n{}", compression.summary);
        shown.push(Entry::plain(Message::user(text)));
    }
    let rest: Vec<&Kept> = kept.iter().filter(|it| it.number > after).collect();
    let mut known = BTreeSet::new();
    for (at, it) in rest.iter().enumerate() {
        match it.entry.message.role {
            Role::Tool => {}
            Role::User => shown.push(it.entry.clone()),
            Role::Assistant => {
                let mut entry = it.entry.clone();
                let mut results = Vec::new();
                for call in &mut entry.message.tool_calls {
                    call.function.name = plain_name(&call.function.name);
                    let result = result(rest.iter().skip(at + 1), &call.id);
                    call.id = own_id(&call.id, &mut known);
                    let unknown =
                        || Entry::plain(Message::tool(call.id.clone(), UNKNOWN_RESULT.to_owned()));
                    let mut result = result.cloned().unwrap_or_else(unknown);
                    result.message.tool_call_id = Some(call.id.clone());
                    results.push(result);
                }
                shown.push(entry);
                shown.extend(results);
            }
        }
    }
    shown
}

/// The result of a call, among what came later: before another call has the same id.
fn result<'a>(mut later: impl Iterator<Item = &'a &'a Kept>, call: &str) -> Option<&'a Entry> {
    let concerns = |message: &Message| {
        message.tool_call_id.as_deref() == Some(call)
            || message.tool_calls.iter().any(|it| it.id == call)
    };
    let found = later.find(|it| concerns(&it.entry.message))?;
    Some(&found.entry).filter(|entry| entry.message.role == Role::Tool)
}

/// The id itself, or another if an earlier call has it: threads of Codex begin anew to count, and so do some providers.
pub(crate) fn own_id(id: &str, known: &mut BTreeSet<String>) -> String {
    let mut own = id.to_owned();
    let mut count = 1_u32;
    while own.is_empty() || !known.insert(own.clone()) {
        count += 1;
        own = format!("{}_{count}", if id.is_empty() { "call" } else { id });
    }
    own
}

/// Model APIs take letters, digits, `_` and `-` in a tool's name; Codex's MCP tools have dots.
fn plain_name(name: &str) -> String {
    let plain =
        |it: char| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' };
    name.chars().map(plain).take(64).collect()
}

/// A rough count of the tokens of some messages, where no API has counted them: four characters each, and more for images.
pub(crate) fn estimate(entries: &[Entry]) -> u64 {
    let of = |entry: &Entry| {
        let message = &entry.message;
        let text = message.content.as_deref().map_or(0, str::len);
        let calls = message.tool_calls.iter();
        let calls: usize =
            calls.map(|it| it.function.name.len() + it.function.arguments.len()).sum();
        let replay = entry.replay.iter().flat_map(|it| &it.items);
        let replay: usize = replay.map(|item| item.to_string().len()).sum();
        let bytes = u64::try_from(text + calls + replay).unwrap_or(u64::MAX);
        let images = u64::try_from(entry.images.len()).unwrap_or(u64::MAX);
        (bytes / 4).saturating_add(images.saturating_mul(1000)).saturating_add(4)
    };
    entries.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use ostler_model::Message;

    use super::{Compression, Entry, Kept, SUMMARY_HEAD, UNKNOWN_RESULT, shown, unanswered};

    fn kept(messages: Vec<Message>) -> Vec<Kept> {
        let kept = |(number, message)| Kept { number, turn: 1, entry: Entry::plain(message) };
        (1..).zip(messages).map(kept).collect()
    }

    fn call(id: &str) -> Message {
        Message::call(id.to_owned(), "mcp.board.show".to_owned(), "{}".to_owned())
    }

    fn messages(entries: Vec<Entry>) -> Vec<Message> {
        entries.into_iter().map(|entry| entry.message).collect()
    }

    #[test]
    fn a_call_stands_before_its_result_and_an_orphan_nowhere() {
        let user = Message::user("feed".to_owned());
        let orphan = Message::tool("lost".to_owned(), "x".to_owned());
        let result = Message::tool("a".to_owned(), "fed".to_owned());
        let steer = Message::user("and water".to_owned());
        let all =
            kept(vec![user.clone(), orphan, call("a"), steer.clone(), result.clone(), call("b")]);

        let found = messages(shown(&all, None));

        let mut named = call("a");
        named.tool_calls[0].function.name = "mcp_board_show".to_owned();
        let mut open = call("b");
        open.tool_calls[0].function.name = "mcp_board_show".to_owned();
        let unknown = Message::tool("b".to_owned(), UNKNOWN_RESULT.to_owned());
        assert_eq!(found, [user, named, result, steer, open, unknown]);
        assert_eq!(unanswered(&all).iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn calls_of_two_threads_with_the_same_id_are_told_apart() {
        let result = |text: &str| Message::tool("a".to_owned(), text.to_owned());
        let user = Message::user("again".to_owned());
        let all = kept(vec![call("a"), user.clone(), call("a"), result("second")]);

        let found = messages(shown(&all, None));

        let named = |id: &str| {
            let mut named = call(id);
            named.tool_calls[0].function.name = "mcp_board_show".to_owned();
            named
        };
        let unknown = Message::tool("a".to_owned(), UNKNOWN_RESULT.to_owned());
        let second = Message::tool("a_2".to_owned(), "second".to_owned());
        assert_eq!(found, [named("a"), unknown, user, named("a_2"), second]);
    }

    #[test]
    fn a_summary_stands_for_what_came_before_it() {
        let all = kept(vec![
            Message::user("one".to_owned()),
            Message::assistant("two".to_owned()),
            Message::user("three".to_owned()),
        ]);
        let compression = Compression { up_to: 2, summary: "They counted.".to_owned() };

        let found = messages(shown(&all, Some(&compression)));

        let summary = Message::user(format!("{SUMMARY_HEAD}\n\nThey counted."));
        assert_eq!(found, [summary, Message::user("three".to_owned())]);
    }
}
