//! The Responses API, in the way that OpenAI's own and ChatGPT's servers want it.

mod history;
mod ids;
mod items;
mod outcome;
mod reading;
mod request;
mod server;

use serde_json::Value;

use super::Question;
use super::client::{Dialect, OldReasoning};
use super::provider::CODEX_BACKEND;
use reading::ResponsesReading;

pub(crate) struct Responses {
    pub(crate) issuer: String,
}

impl Dialect for Responses {
    type Reading = ResponsesReading;

    const PATH: &'static str = "/responses";

    fn body(&self, question: &Question, reasoning: OldReasoning) -> Value {
        request::body(question, &self.issuer, reasoning)
    }

    /// ChatGPT's servers find a conversation's cache by these, and their log knows it by them.
    fn headers(&self, question: &Question) -> Vec<(&'static str, String)> {
        if self.issuer != CODEX_BACKEND || question.session.is_empty() {
            return Vec::new();
        }
        let session = ids::short(&question.session, "ses_");
        vec![("session_id", session.clone()), ("x-client-request-id", session)]
    }

    fn reading(&self) -> ResponsesReading {
        ResponsesReading::new(self.issuer.clone())
    }
}

#[cfg(test)]
mod tests;
