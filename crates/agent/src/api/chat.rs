//! Chat Completions, for providers that have no Responses API.

mod reading;
mod request;

use serde_json::Value;

use super::Question;
use super::client::{Dialect, OldReasoning};
use reading::ChatReading;

pub(crate) struct Chat;

impl Dialect for Chat {
    type Reading = ChatReading;

    const PATH: &'static str = "/chat/completions";

    /// Reasoning is never sent back: some providers refuse it, and none has it encrypted.
    fn body(&self, question: &Question, _: OldReasoning) -> Value {
        request::body(question)
    }

    fn headers(&self, _: &Question) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn reading(&self) -> ChatReading {
        ChatReading::default()
    }
}

#[cfg(test)]
mod tests;
