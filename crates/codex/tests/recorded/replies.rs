//! Access to the recorded replies.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lines::lines;

/// One reply, with the method it answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    pub(crate) reply_to: String,
    pub(crate) result: Box<RawValue>,
}

pub(crate) fn replies(version: &str) -> Vec<Reply> {
    lines(version, "replies")
}

pub(crate) fn reply(version: &str, method: &str) -> Box<RawValue> {
    replies(version).into_iter().find(|reply| reply.reply_to == method).unwrap().result
}
