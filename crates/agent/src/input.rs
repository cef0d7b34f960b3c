//! What the user says.

use std::path::Path;

use ostler_model::Message;

use crate::api::Entry;
use crate::disk::read_up_to;

/// An image that is longer makes a message that no API takes.
pub(crate) const MOST_IMAGE_BYTES: u64 = 20 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInput {
    pub text: String,
    /// Files, or `data:` URLs.
    pub images: Vec<String>,
}

/// Why an input cannot be taken. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("there is nothing to answer; write something, or add an image")]
    Empty,
    #[error("{path} cannot be read: {source}")]
    Unreadable { path: String, source: std::io::Error },
    #[error("{path} is longer than {} MiB", MOST_IMAGE_BYTES / 1024 / 1024)]
    TooLong { path: String },
    #[error("{path} is no PNG, JPEG, GIF or WebP image")]
    NoImage { path: String },
}

impl UserInput {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }

    /// As it is kept: with the images themselves, because files go away. Blocks.
    pub(crate) fn entry(&self) -> Result<Entry, InputError> {
        if self.text.trim().is_empty() && self.images.is_empty() {
            return Err(InputError::Empty);
        }
        let images = self.images.iter().map(|image| data_url(image)).collect::<Result<_, _>>()?;
        Ok(Entry { images, ..Entry::plain(Message::user(self.text.clone())) })
    }
}

fn data_url(image: &str) -> Result<String, InputError> {
    if image.starts_with("data:") {
        return Ok(image.to_owned());
    }
    let path = image.to_owned();
    let unreadable = |source| InputError::Unreadable { path: path.clone(), source };
    let length = std::fs::metadata(Path::new(image)).map_err(unreadable)?.len();
    if length > MOST_IMAGE_BYTES {
        return Err(InputError::TooLong { path });
    }
    let bytes = read_up_to(Path::new(image), MOST_IMAGE_BYTES).map_err(unreadable)?;
    let kind = kind_of(&bytes).ok_or(InputError::NoImage { path })?;
    Ok(format!("data:{kind};base64,{}", data_encoding::BASE64.encode(&bytes)))
}

/// By the first bytes; names lie.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{InputError, UserInput};

    #[test]
    fn an_image_is_kept_with_the_message() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mare.txt");
        std::fs::write(&path, b"\x89PNG\r\n").unwrap();
        let image = path.to_str().unwrap().to_owned();
        let entry = UserInput { text: "who?".to_owned(), images: vec![image] }.entry().unwrap();
        assert_eq!(entry.images, ["data:image/png;base64,iVBORw0K"]);
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("a.png");
        std::fs::write(&text, "not an image").unwrap();
        let of = |image: &str| UserInput { text: String::new(), images: vec![image.to_owned()] };
        assert!(matches!(UserInput::text(" \n").entry(), Err(InputError::Empty)));
        let none = of(text.to_str().unwrap()).entry();
        assert!(matches!(none, Err(InputError::NoImage { .. })), "{none:?}");
        let gone = of("/nowhere/x.png").entry();
        assert!(matches!(gone, Err(InputError::Unreadable { .. })), "{gone:?}");
    }
}
