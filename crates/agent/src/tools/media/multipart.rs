//! A form with files in it. Pure.

use super::endpoint::Sent;

/// One field.
pub(super) enum Field {
    Text { name: &'static str, value: String },
    File { name: &'static str, kind: &'static str, bytes: Vec<u8> },
}

/// `boundary` must stand in none of the fields.
pub(super) fn form(fields: &[Field], boundary: &str) -> Sent {
    let mut body = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        match field {
            Field::Text { name, value } => {
                let head = format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n");
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(value.as_bytes());
            }
            Field::File { name, kind, bytes } => {
                let extension = kind.rsplit('/').next().unwrap_or_default();
                let head = format!(
                    "Content-Disposition: form-data; name=\"{name}\"; filename=\"{index}.{extension}\"\r\n\
                     Content-Type: {kind}\r\n\r\n"
                );
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(bytes);
            }
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Sent { content_type: format!("multipart/form-data; boundary={boundary}"), body }
}

#[cfg(test)]
mod tests {
    use super::{Field, form};

    #[test]
    fn a_form_is_written_as_browsers_write_it() {
        let fields = [
            Field::Text { name: "prompt", value: "a mare".to_owned() },
            Field::File { name: "image[]", kind: "image/png", bytes: vec![b'x'] },
        ];
        let sent = form(&fields, "B");
        assert_eq!(sent.content_type, "multipart/form-data; boundary=B");
        assert_eq!(
            String::from_utf8(sent.body).unwrap(),
            "--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na mare\r\n\
             --B\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"1.png\"\r\nContent-Type: image/png\r\n\r\nx\r\n\
             --B--\r\n"
        );
    }
}
