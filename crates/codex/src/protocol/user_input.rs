//! What a person puts into a turn.

use serde::{Deserialize, Serialize};

use super::lenient;

/// One part of the input of a turn. Codex echoes the parts in the item of the user's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "UserInputFields", into = "UserInputFields")]
pub enum UserInput {
    Text(String),
    /// An image by address, which may be a `data:` URL.
    Image {
        url: String,
    },
    /// An image in a file that Codex can read.
    LocalImage {
        path: String,
    },
    Skill {
        name: String,
        path: String,
    },
    Mention {
        name: String,
        path: String,
    },
    Other(String),
}

impl UserInput {
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The union of the fields of all parts, as they stand on the wire.
#[derive(Default, Clone, Serialize, Deserialize)]
struct UserInputFields {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    text: Option<String>,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    url: Option<String>,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    name: Option<String>,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    path: Option<String>,
}

const KINDS: [&str; 5] = ["text", "image", "localImage", "skill", "mention"];

impl From<UserInputFields> for UserInput {
    fn from(fields: UserInputFields) -> Self {
        match (fields.kind.as_str(), fields.text, fields.url, fields.name, fields.path) {
            ("text", Some(text), ..) => Self::Text(text),
            ("image", _, Some(url), ..) => Self::Image { url },
            ("localImage", _, _, _, Some(path)) => Self::LocalImage { path },
            ("skill", _, _, Some(name), Some(path)) => Self::Skill { name, path },
            ("mention", _, _, Some(name), Some(path)) => Self::Mention { name, path },
            // A kind we do not know that carries a text: the text is what a person reads.
            (kind, Some(text), ..) if !kind.is_empty() && !KINDS.contains(&kind) => {
                Self::Text(text)
            }
            _ => Self::Other(fields.kind),
        }
    }
}

impl From<UserInput> for UserInputFields {
    fn from(input: UserInput) -> Self {
        let named = |kind: &str| Self { kind: kind.to_owned(), ..Self::default() };
        match input {
            UserInput::Text(text) => Self { text: Some(text), ..named("text") },
            UserInput::Image { url } => Self { url: Some(url), ..named("image") },
            UserInput::LocalImage { path } => Self { path: Some(path), ..named("localImage") },
            UserInput::Skill { name, path } => {
                Self { name: Some(name), path: Some(path), ..named("skill") }
            }
            UserInput::Mention { name, path } => {
                Self { name: Some(name), path: Some(path), ..named("mention") }
            }
            UserInput::Other(kind) => named(&kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UserInput;

    #[test]
    fn a_part_survives_the_wire() {
        let wires = [
            r#"{"type":"text","text":"hi"}"#,
            r#"{"type":"image","url":"data:x"}"#,
            r#"{"type":"localImage","path":"/a.png"}"#,
            r#"{"type":"skill","name":"n","path":"/s"}"#,
            r#"{"type":"mention","name":"n","path":"/m"}"#,
        ];

        for wire in wires {
            let part: UserInput = serde_json::from_str(wire).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), wire);
        }
    }

    #[test]
    fn a_part_we_cannot_read_keeps_its_kind() {
        let read = |wire| serde_json::from_str::<UserInput>(wire).unwrap();

        assert_eq!(
            [
                read(r#"{"type":"audio","url":"x"}"#),
                read(r#"{"type":"image","fileId":"f"}"#),
                read(r#"{"type":"text","text":7}"#),
                read(r#"{"type":"image","text":"alt"}"#),
            ],
            ["audio", "image", "text", "image"].map(|kind| UserInput::Other(kind.into()))
        );
    }

    #[test]
    fn the_text_of_an_unknown_part_is_kept() {
        let part: UserInput = serde_json::from_str(r#"{"type":"note","text":"hi"}"#).unwrap();

        assert_eq!(part, UserInput::Text("hi".into()));
    }
}
