//! What servers of this API want differently, by who they are.

use serde_json::{Value, json};

use super::super::Question;
use super::super::provider::{GITHUB, XAI};

const DEFAULT_EFFORT: &str = "medium";

/// The models of xAI that take an effort. The others think as they like, and refuse a question that names one.
const XAI_WITH_EFFORT: [&str; 3] = ["grok-3-mini", "grok-4.3", "grok-4.20-multi-agent"];

/// What some models of xAI write into their reasoning before the answer.
const ANSWER_BEGINS: &str = "<response>";
const ANSWER_ENDS: &str = "</response>";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    /// OpenAI, ChatGPT, and all that speak as they do.
    OpenAi,
    Xai,
    /// Copilot.
    GitHub,
}

/// How a question speaks of reasoning.
#[derive(Debug, PartialEq)]
pub(super) struct Reasoning {
    pub(super) wish: Option<Value>,
    /// As nothing is kept there, reasoning goes back and forth with the question.
    pub(super) comes_back: bool,
}

impl Server {
    pub(super) fn of(issuer: &str) -> Self {
        match issuer {
            XAI => Self::Xai,
            GITHUB => Self::GitHub,
            _ => Self::OpenAi,
        }
    }

    pub(super) fn reasoning(self, question: &Question) -> Reasoning {
        let Some(effort) = effort(question) else {
            return Reasoning { wish: None, comes_back: false };
        };
        match self {
            Self::OpenAi => Reasoning {
                wish: Some(json!({"effort": effort, "summary": "auto"})),
                comes_back: true,
            },
            Self::Xai => {
                let takes_effort = XAI_WITH_EFFORT.iter().any(|it| question.model.starts_with(it));
                // Its words end with high.
                let effort =
                    if matches!(effort, "xhigh" | "ultra" | "max") { "high" } else { effort };
                let wish = takes_effort.then(|| json!({ "effort": effort }));
                Reasoning { wish, comes_back: true }
            }
            Self::GitHub => {
                Reasoning { wish: Some(json!({ "effort": effort })), comes_back: false }
            }
        }
    }

    /// Whether it takes a key for its cache.
    pub(super) fn has_cache_key(self) -> bool {
        self != Self::GitHub
    }

    /// Whether it takes the ids of messages back: Copilot's are bound to a connection that is gone.
    pub(super) fn takes_message_ids(self) -> bool {
        self != Self::GitHub
    }

    /// The answer that stands inside of reasoning, and the reasoning before it.
    pub(super) fn answer_in_reasoning(self, reasoning: &str) -> Option<(String, String)> {
        if self != Self::Xai {
            return None;
        }
        let (before, behind) = reasoning.split_once(ANSWER_BEGINS)?;
        let answer = behind.split_once(ANSWER_ENDS).map_or(behind, |(answer, _)| answer).trim();
        (!answer.is_empty()).then(|| (answer.to_owned(), before.trim().to_owned()))
    }
}

fn effort(question: &Question) -> Option<&str> {
    match question.effort.as_deref() {
        None | Some("") => Some(DEFAULT_EFFORT),
        Some("none") => None,
        // The word of the first gpt-5; its successors refuse it.
        Some("minimal") => Some("low"),
        // What others call ultra, gpt-5.6 calls max.
        Some("ultra") if question.model.starts_with("gpt-5.6") => Some("max"),
        Some(effort) => Some(effort),
    }
}
