//! What Codex is given to do, as it is stored until it is given.

use serde::{Deserialize, Serialize};

/// One input, with what holds for its turn alone, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The model and the effort hold for later turns, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays: bool,
    /// In this turn the model asks and plans, and changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
    /// The JSON schema, as text, that the final answer must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
    /// What the model is given to know before it, in this order. Nobody else is told of it: it is no message of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextPart>,
}

/// A message that is put before the model as if it had been part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextPart {
    pub role: ContextRole,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextRole {
    /// Instructions of whoever runs the agent.
    Developer,
    User,
    Assistant,
}

impl ContextRole {
    pub fn name(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Answer this.
    Message(Vec<Part>),
    /// Review code.
    Review(ReviewOf),
    /// Sum the history up, to make room.
    Compaction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    /// An image by address, which may be a `data:` URL.
    ImageUrl(String),
    /// An image in a file that Codex can read.
    ImageFile(String),
    Skill {
        name: String,
        path: String,
    },
    Mention {
        name: String,
        path: String,
    },
}

/// What is to be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOf {
    UncommittedChanges,
    BaseBranch(String),
    Commit(String),
    Custom(String),
}

impl Input {
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(vec![Part::Text(text.into())])
    }

    pub fn message(parts: Vec<Part>) -> Self {
        Self {
            content: Content::Message(parts),
            model: None,
            effort: None,
            stays: false,
            plan: false,
            output_schema: None,
            context: Vec::new(),
        }
    }

    /// What a list of inputs shows of it: the first line that says something, cut to this many characters.
    pub fn summary(&self, most: usize) -> String {
        let text = match &self.content {
            Content::Message(parts) => parts
                .iter()
                .find_map(|part| match part {
                    Part::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()),
                    _ => None,
                })
                .unwrap_or("(an image)")
                .to_owned(),
            Content::Review(ReviewOf::UncommittedChanges) => {
                "review of the uncommitted changes".to_owned()
            }
            Content::Review(ReviewOf::BaseBranch(branch)) => format!("review against {branch}"),
            Content::Review(ReviewOf::Commit(commit)) => format!("review of {commit}"),
            Content::Review(ReviewOf::Custom(text)) => format!("review: {text}"),
            Content::Compaction => "compaction".to_owned(),
        };
        match text.char_indices().nth(most) {
            Some((end, _)) => {
                let cut = text.get(..end).unwrap_or_default();
                let shorter = cut.char_indices().next_back().map_or(0, |(at, _)| at);
                format!("{}…", cut.get(..shorter).unwrap_or_default())
            }
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, Part};

    #[test]
    fn a_summary_is_one_short_line() {
        let cut = |text: &str| Input::text(text).summary(6);
        let summaries = [cut("\n  abc \nx"), cut("abcdef"), cut("abcdefg"), cut("äöüäöüä")];
        assert_eq!(summaries, ["abc", "abcdef", "abcde…", "äöüäö…"]);
        let image = Input::message(vec![Part::ImageFile("a.png".to_owned())]);
        assert_eq!(image.summary(20), "(an image)");
    }
}
