//! Where parts meet: joins neighbours of one role, pairs calls with their results, and gives reasoning its place.

use std::mem;

use ostler_model::Message;
use ostler_model::message::Role;

use super::parts::Call;

#[derive(Debug, Default)]
pub(crate) struct Seam {
    /// The last message, if something can still join it. Never a tool message, never one that calls.
    open: Option<Message>,
    /// Reasoning that waits for the message it led to.
    thoughts: Vec<String>,
    ready: Vec<Message>,
}

impl Seam {
    pub(crate) fn user(&mut self, text: String) {
        match &mut self.open {
            Some(open) if open.role == Role::User => join(&mut open.content, &text, "\n\n"),
            _ => self.begin(Message::user(text)),
        }
    }

    pub(crate) fn said(&mut self, text: String) {
        self.assistant(text);
        self.attach_thoughts();
    }

    /// Reasoning goes on waiting: a note is not what it led to.
    pub(crate) fn note(&mut self, text: String) {
        self.assistant(text);
    }

    pub(crate) fn thought(&mut self, text: String) {
        self.thoughts.push(text);
    }

    pub(crate) fn call(&mut self, id: String, call: Call) {
        let called = Message::call(id.clone(), call.name, call.arguments);
        match &mut self.open {
            Some(open) if open.role == Role::Assistant => open.tool_calls = called.tool_calls,
            _ => self.begin(called),
        }
        self.attach_thoughts();
        // Nothing can come between a call and its result, and nothing can join a result.
        self.ready.extend(self.open.take());
        self.ready.push(Message::tool(id, call.content));
    }

    /// Reasoning that led to nothing is kept with what was said last.
    pub(crate) fn end_turn(&mut self) {
        if !self.thoughts.is_empty() {
            if self.open.as_ref().is_none_or(|open| open.role != Role::Assistant) {
                self.begin(Message::assistant(String::new()));
            }
            self.attach_thoughts();
        }
    }

    pub(crate) fn ready(&mut self) -> Vec<Message> {
        mem::take(&mut self.ready)
    }

    pub(crate) fn finish(mut self) -> Vec<Message> {
        self.ready.extend(self.open.take());
        self.ready
    }

    fn assistant(&mut self, text: String) {
        match &mut self.open {
            Some(open) if open.role == Role::Assistant => join(&mut open.content, &text, "\n\n"),
            _ => self.begin(Message::assistant(text)),
        }
    }

    fn attach_thoughts(&mut self) {
        if let Some(open) = &mut self.open {
            for thought in self.thoughts.drain(..) {
                join(&mut open.reasoning, &thought, "\n");
            }
        }
    }

    fn begin(&mut self, message: Message) {
        self.ready.extend(self.open.replace(message));
    }
}

/// Nothing is put between a text and an empty one.
fn join(text: &mut Option<String>, more: &str, between: &str) {
    let text = text.get_or_insert_default();
    if !text.is_empty() && !more.is_empty() {
        text.push_str(between);
    }
    text.push_str(more);
}
