//! Lines of Codex for somebody who looks while they come, without their secrets.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::filing::stream_of;
use super::redact::{Context, Redactor, Secrecy};
use crate::secrets::Secrets;

/// What Codex says of its own accord, one line after another. It remembers what came in pieces.
pub(crate) struct ShownLines(Redactor);

impl ShownLines {
    pub(crate) fn new(known: Secrets) -> Self {
        Self(Redactor::new(known))
    }

    /// The line as it came, byte for byte where nothing is secret; a line end between its tokens becomes a space, as in
    /// the log. Absent if it is no JSON.
    pub(crate) fn show(&mut self, line: &[u8]) -> Option<Box<RawValue>> {
        let json: &RawValue = serde_json::from_slice(line).ok()?;
        let stream = stream_of(json);
        let context = Context { result: Secrecy::Open, stream: stream.as_deref() };
        let shown = self.0.json(json.get(), context);
        let shown = match memchr::memchr2(b'\n', b'\r', shown.as_bytes()) {
            Some(_) => Cow::Owned(shown.replace(['\n', '\r'], " ")),
            None => shown,
        };
        RawValue::from_string(shown.into_owned()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_log::REDACTED;

    fn delta(text: &str) -> String {
        format!(
            r#"{{"method":"item/agentMessage/delta", "params":{{"threadId":"t","itemId":"i","delta":"{text}","new":[1.50]}}}}"#
        )
    }

    #[test]
    fn what_is_not_secret_stays_byte_for_byte() {
        let mut lines = ShownLines::new(Secrets::default());
        let line = delta("a \\u00fc\\n");
        assert_eq!(lines.show(line.as_bytes()).unwrap().get(), line);
        assert_eq!(lines.show(b"{\n\"a\":1}").unwrap().get(), "{ \"a\":1}");
        assert!(lines.show(b"{\"a\":").is_none());
    }

    #[test]
    fn a_secret_is_hidden_also_when_it_comes_in_pieces() {
        let known = Secrets::default();
        assert!(known.add("open sesame"));
        let mut lines = ShownLines::new(known);
        let mut show = |text: &str| lines.show(delta(text).as_bytes()).unwrap().get().to_owned();
        assert_eq!(show("say open sesame now"), delta(&format!("say {REDACTED} now")));
        show("say open s");
        assert_eq!(show("esame now"), delta(&format!("{REDACTED} now")));
    }
}
