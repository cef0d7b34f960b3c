//! The JSON-RPC envelope, as Codex writes it: without the `jsonrpc` member, params and results left as they came.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::oddity::{Oddity, OddityKind};
use super::request_id::RequestId;

/// One message from Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The answer to one of our requests.
    Reply(Reply),
    /// A request that we must answer.
    Request {
        id: RequestId,
        call: Call,
    },
    Notification(Call),
}

/// A method with its parameters. All slices share the memory of the line they came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub method: Box<str>,
    /// JSON text; `null` when the message had none.
    pub params: Bytes,
    /// The whole message as it came, for the log.
    pub line: Bytes,
}

impl Call {
    /// The parameters as JSON text.
    pub fn params_json(&self) -> &RawValue {
        // The slice was cut out of text that serde_json read a moment ago, so the fallback is never taken.
        serde_json::from_slice(&self.params).unwrap_or(RawValue::NULL)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub id: RequestId,
    /// JSON text of the result, or the error.
    pub outcome: Result<Bytes, ErrorBody>,
}

/// A JSON-RPC error. `data` stays JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    pub code: i64,
    pub message: String,
    pub data: Option<String>,
}

/// Reads one message. Never panics and never fails hard: what is not a message is an [`Oddity`].
pub fn read_message(line: &Bytes) -> Result<Message, Oddity> {
    match parse(line) {
        Ok(message) => Ok(message),
        Err(kind) => Err(Oddity::of(kind, line)),
    }
}

/// What the beginning of a message that was too long says of it: enough not to leave its other side waiting.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Glimpse {
    pub id: Option<RequestId>,
    pub method: Option<String>,
}

/// Reads the members of the envelope that come before its long one.
pub fn glimpse(head: &[u8]) -> Glimpse {
    let whole_characters = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) => error.valid_up_to(),
    };
    let mut glimpse = Glimpse::default();
    let mut deserializer =
        serde_json::Deserializer::from_slice(head.get(..whole_characters).unwrap_or_default());
    // The end of the head is the end of the reading; what was read until then stays.
    let _cut_off = deserializer.deserialize_map(GlimpseVisitor(&mut glimpse));
    glimpse
}

struct GlimpseVisitor<'a>(&'a mut Glimpse);

impl<'de> Visitor<'de> for GlimpseVisitor<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "id" => self.0.id = Some(map.next_value()?),
                "method" => self.0.method = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

fn parse(line: &Bytes) -> Result<Message, OddityKind> {
    let text = std::str::from_utf8(line).map_err(|_| OddityKind::NotUtf8)?;
    // Asked first, because serde would read an array as the fields of a struct in order.
    if !text.trim_start().starts_with('{') {
        return Err(match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => OddityKind::NotAnObject,
            Err(error) => OddityKind::NotJson(error.to_string()),
        });
    }
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => OddityKind::NotRpc(error.to_string()),
            _ => OddityKind::NotJson(error.to_string()),
        })?;
    let id = envelope.id.filter(|id| id.get() != "null").map(RequestId::from_raw);
    match (id, envelope.method, envelope.result, envelope.error) {
        (Some(id), None, _, Some(error)) => {
            Ok(Message::Reply(Reply { id, outcome: Err(read_error(error)) }))
        }
        (Some(id), None, Some(result), None) => {
            Ok(Message::Reply(Reply { id, outcome: Ok(slice(line, result)) }))
        }
        (Some(id), Some(method), ..) => {
            Ok(Message::Request { id, call: call(line, &method, envelope.params) })
        }
        (None, Some(method), ..) => Ok(Message::Notification(call(line, &method, envelope.params))),
        (Some(_), None, None, None) => {
            Err(OddityKind::NotRpc("an id, but no method, result or error".to_owned()))
        }
        (None, None, ..) => Err(OddityKind::NotRpc("neither method nor id".to_owned())),
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// `null` counts as present: `{"id":1,"result":null}` is an answer.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn call(line: &Bytes, method: &str, params: Option<&RawValue>) -> Call {
    let params = params.map_or(Bytes::from_static(b"null"), |params| slice(line, params));
    Call { method: method.into(), params, line: line.clone() }
}

fn slice(line: &Bytes, raw: &RawValue) -> Bytes {
    line.slice_ref(raw.get().as_bytes())
}

#[derive(Deserialize)]
struct ErrorView<'a> {
    #[serde(default)]
    code: i64,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// An error of a shape that we do not know is still an error: its whole JSON becomes the message.
fn read_error(raw: &RawValue) -> ErrorBody {
    match serde_json::from_str::<ErrorView<'_>>(raw.get()) {
        Ok(view) => ErrorBody {
            code: view.code,
            message: view.message.into_owned(),
            data: view.data.map(|data| data.get().to_owned()),
        },
        Err(_) => ErrorBody { code: 0, message: raw.get().to_owned(), data: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<Message, OddityKind> {
        read_message(&Bytes::from_static(text.as_bytes())).map_err(|oddity| oddity.kind)
    }

    #[test]
    fn tells_the_four_kinds_apart() {
        let id = RequestId::integer(0);
        let reply = |outcome| Ok(Message::Reply(Reply { id: id.clone(), outcome }));
        assert_eq!(
            read(r#"{"id":0,"result":{"a":1}}"#),
            reply(Ok(Bytes::from_static(br#"{"a":1}"#)))
        );
        assert_eq!(read(r#"{"id":0,"result":null}"#), reply(Ok(Bytes::from_static(b"null"))));
        let error = ErrorBody { code: -32001, message: "busy".into(), data: Some("[1]".into()) };
        assert_eq!(
            read(r#"{"error":{"code":-32001,"message":"busy","data":[1]},"id":0}"#),
            reply(Err(error))
        );
        let line = r#"{"method":"m","id":"x","params":{"b":2},"emittedAtMs":1}"#;
        let call = Call {
            method: "m".into(),
            params: Bytes::from_static(br#"{"b":2}"#),
            line: Bytes::from_static(line.as_bytes()),
        };
        let id = RequestId::from_json("\"x\"").unwrap();
        assert_eq!(read(line), Ok(Message::Request { id, call }));
        let line = r#"{"method":"n"}"#;
        let call = Call {
            method: "n".into(),
            params: Bytes::from_static(b"null"),
            line: Bytes::from_static(line.as_bytes()),
        };
        assert_eq!(read(line), Ok(Message::Notification(call)));
    }

    #[test]
    fn the_beginning_of_a_long_message_names_its_other_side() {
        let reply = Glimpse { id: Some(RequestId::integer(7)), method: None };
        assert_eq!(glimpse(br#"{"id":7,"result":{"data":"xxxxxxx"#), reply);
        let request =
            Glimpse { id: Some(RequestId::integer(0)), method: Some("item/tool/call".into()) };
        assert_eq!(glimpse(br#"{"method":"item/tool/call","id":0,"params":{"a":"#), request);
        for useless in [&b"["[..], b"{\"id", b"\xff", b"", br#"{"params":{"a"#] {
            assert_eq!(glimpse(useless), Glimpse::default());
        }
    }

    #[test]
    fn an_error_of_unknown_shape_is_kept_whole() {
        let Ok(Message::Reply(reply)) = read(r#"{"id":1,"error":"no"}"#) else { panic!() };
        let error = ErrorBody { code: 0, message: "\"no\"".into(), data: None };
        assert_eq!(reply.outcome, Err(error));
    }

    #[test]
    fn what_is_no_message_is_named() {
        assert_eq!(read("[1,\"m\",{},1,2]"), Err(OddityKind::NotAnObject));
        assert_eq!(read("17"), Err(OddityKind::NotAnObject));
        assert!(matches!(read("{\"id\":"), Err(OddityKind::NotJson(_))));
        assert!(matches!(read("warning: x"), Err(OddityKind::NotJson(_))));
        assert!(matches!(read("{\"id\":1}"), Err(OddityKind::NotRpc(_))));
        assert!(matches!(read("{\"id\":null}"), Err(OddityKind::NotRpc(_))));
        assert!(matches!(read("{\"method\":5}"), Err(OddityKind::NotRpc(_))));
        assert!(matches!(read("{\"id\":1,\"id\":2}"), Err(OddityKind::NotRpc(_))));
        let kind = read_message(&Bytes::from_static(b"{\"method\":\"\xff\"}")).unwrap_err().kind;
        assert_eq!(kind, OddityKind::NotUtf8);
    }
}
