//! What no API would take. It is refused here, with words that say what to mend, instead of as a provider's status 400.

use std::collections::HashSet;

use ostler_model::message::Role;

use super::{Entry, Question};

/// OpenAI's limit for the name of a function.
const MAX_TOOL_NAME: usize = 64;

/// What is wrong with it, if anything is.
pub(crate) fn problem(question: &Question) -> Option<String> {
    if question.model.trim().is_empty() {
        return Some("no model is named; set one".to_owned());
    }
    if question.history.is_empty() {
        return Some("the history is empty; there is nothing to answer".to_owned());
    }
    tool_problem(question).or_else(|| history_problem(&question.history))
}

fn tool_problem(question: &Question) -> Option<String> {
    let mut names = HashSet::new();
    question.tools.iter().find_map(|tool| {
        let name = tool.name.as_str();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_TOOL_NAME || !name.bytes().all(allowed) {
            return Some(format!(
                "{name:?} is no name for a tool; use 1 to {MAX_TOOL_NAME} of a-z, A-Z, 0-9, _ and -"
            ));
        }
        if !names.insert(name) {
            return Some(format!("two tools are called {name:?}; rename one"));
        }
        (!tool.parameters.is_object()).then(|| {
            format!("the parameters of the tool {name:?} are no JSON schema; use an object")
        })
    })
}

/// Every call has one result, behind it and before anything else is said: both APIs refuse the whole history otherwise.
fn history_problem(history: &[Entry]) -> Option<String> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut known: HashSet<&str> = HashSet::new();
    for (place, entry) in history.iter().enumerate() {
        let message = &entry.message;
        let content = message.content.as_deref().unwrap_or_default();
        if message.role != Role::Tool
            && let Some(id) = open.iter().next()
        {
            return Some(format!("the tool call {id:?} before message {place} has no result"));
        }
        if message.role != Role::Assistant && !message.tool_calls.is_empty() {
            return Some(format!("message {place} calls tools and is not the assistant's"));
        }
        if message.role != Role::User && !entry.images.is_empty() {
            return Some(format!("message {place} has images and is not the user's"));
        }
        match message.role {
            Role::User if content.is_empty() && entry.images.is_empty() => {
                return Some(format!("message {place} of the user is empty"));
            }
            Role::User => {
                if let Some(image) = entry.images.iter().find(|image| !is_image(image)) {
                    let begin: String = image.chars().take(40).collect();
                    return Some(format!(
                        "message {place} has an image that is neither a data: nor an http(s) URL: {begin:?}"
                    ));
                }
            }
            Role::Assistant => {
                for call in &message.tool_calls {
                    if call.function.name.is_empty() || call.id.is_empty() {
                        return Some(format!("message {place} has a tool call without id or name"));
                    }
                    if !known.insert(&call.id) {
                        return Some(format!("the tool call {:?} stands twice", call.id));
                    }
                    open.insert(&call.id);
                }
            }
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                if !open.remove(id) {
                    return Some(format!(
                        "message {place} is the result of {id:?}, which no message before it calls"
                    ));
                }
            }
        }
    }
    open.iter().next().map(|id| format!("the tool call {id:?} has no result"))
}

fn is_image(url: &str) -> bool {
    ["data:image/", "https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolDefinition;
    use ostler_model::Message;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn entry(message: Message) -> Entry {
        Entry::plain(message)
    }

    fn user() -> Entry {
        entry(Message::user("go".to_owned()))
    }

    fn call(id: &str) -> Entry {
        entry(Message::call(id.to_owned(), "look".to_owned(), "{}".to_owned()))
    }

    fn result(id: &str) -> Entry {
        entry(Message::tool(id.to_owned(), "seen".to_owned()))
    }

    fn image(url: &str) -> Entry {
        Entry { images: vec![url.to_owned()], ..user() }
    }

    fn asked(history: Vec<Entry>) -> Question {
        Question { model: "m".to_owned(), history, ..Question::default() }
    }

    fn with_tools(tools: &[(&str, Value)]) -> Question {
        let tools = tools.iter().map(|(name, parameters)| ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: parameters.clone(),
        });
        Question { tools: tools.collect(), ..asked(vec![user()]) }
    }

    #[test]
    fn what_is_well_passes() {
        let history = vec![user(), call("a"), result("a"), image("data:image/png;base64,AA==")];
        assert_eq!(problem(&asked(history)), None);
        assert_eq!(problem(&with_tools(&[("look-at_1", json!({}))])), None);
    }

    #[rstest]
    #[case(Question { model: " ".to_owned(), ..asked(vec![user()]) }, "no model is named")]
    #[case(asked(Vec::new()), "the history is empty")]
    #[case(asked(vec![entry(Message::user(String::new()))]), "message 0 of the user is empty")]
    #[case(asked(vec![image("/etc/passwd")]), "neither a data: nor an http(s) URL: \"/etc/passwd\"")]
    #[case(asked(vec![user(), call("a")]), "\"a\" has no result")]
    #[case(asked(vec![user(), call("a"), user()]), "\"a\" before message 2 has no result")]
    #[case(asked(vec![user(), result("a")]), "message 1 is the result of \"a\", which no message before it calls")]
    #[case(asked(vec![user(), call("a"), result("a"), result("a")]), "message 3 is the result of \"a\"")]
    #[case(asked(vec![user(), call("a"), result("a"), call("a"), result("a")]), "\"a\" stands twice")]
    #[case(asked(vec![user(), call("")]), "without id or name")]
    #[case(with_tools(&[("look at", json!({}))]), "\"look at\" is no name for a tool")]
    #[case(with_tools(&[("look", json!({})), ("look", json!({}))]), "two tools are called \"look\"")]
    #[case(with_tools(&[("look", json!([]))]), "are no JSON schema")]
    fn what_no_api_takes_is_refused(#[case] question: Question, #[case] words: &str) {
        let said = problem(&question).unwrap();
        assert!(said.contains(words), "{said}");
    }
}
