//! What we ask of Codex: one struct per method.

pub mod account;
pub mod command;
pub mod goal;
pub mod initialize;
pub mod mcp;
pub mod thread;
pub mod thread_history;
pub mod turn;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::lenient;
use super::versions::{self, CodexVersion, Known, Otherwise, PermissionsShape};

/// The params of one request, with the name of its method and the view of its reply.
pub trait ClientRequest: Serialize {
    const METHOD: &'static str;
    /// Must be read from JSON text; see [`read_reply`].
    type Reply: DeserializeOwned;
}

/// A request cannot be put to this version of Codex.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error("codex {version} does not take {method}; use codex {known}")]
    Method { method: &'static str, version: CodexVersion, known: Known },
    #[error("codex {version} would ignore `{field}` of {method}; use codex {known}")]
    Field { method: &'static str, field: &'static str, version: CodexVersion, known: Known },
    #[error("params of {method} do not fit into json")]
    Json { method: &'static str, source: serde_json::Error },
}

/// The params of a request as this version of Codex takes them: what it does not know is left out if that is harmless,
/// and refused if the request would then mean something else.
pub fn prepare<R: ClientRequest>(
    request: &R,
    version: &CodexVersion,
) -> Result<Box<RawValue>, PrepareError> {
    let json = |source| PrepareError::Json { method: R::METHOD, source };
    let mut params = serde_json::to_value(request).map_err(json)?;
    for rule in versions::broken_rules(R::METHOD, version) {
        let (version, known) = (version.clone(), rule.known);
        let Some(field) = rule.field else {
            return Err(PrepareError::Method { method: R::METHOD, version, known });
        };
        let removed = params.as_object_mut().and_then(|params| params.remove(field));
        if removed.is_some() && rule.otherwise == Otherwise::Refuse {
            return Err(PrepareError::Field { method: R::METHOD, field, version, known });
        }
    }
    shape_permissions(&mut params, version.permissions_shape());
    to_raw_value(&params).map_err(json)
}

/// Reads the reply of a request from its raw text. Reply views need text: they read some fields twice. Every reply of
/// Codex is an object; anything else is an error.
pub fn read_reply<R: ClientRequest>(result: &RawValue) -> Result<R::Reply, serde_json::Error> {
    lenient::message(result)
}

/// A reply that says nothing but "done", whatever else a newer version may say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done;

impl<'de> Deserialize<'de> for Done {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

fn shape_permissions(params: &mut Value, shape: PermissionsShape) {
    let Some(permissions) = params.get_mut("permissions") else {
        return;
    };
    if shape == PermissionsShape::Object {
        *permissions = json!({"type": "profile", "id": permissions.take()});
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::{ThreadId, TurnId};
    use serde_json::{Value, json};

    use super::thread::{ThreadFork, ThreadStart};
    use super::thread_history::{ThreadItemsList, ThreadRollback};
    use super::turn::TurnStart;
    use super::{ClientRequest, prepare};
    use crate::protocol::user_input::UserInput;
    use crate::protocol::versions::CodexVersion;

    fn prepared<R: ClientRequest>(request: &R, version: &str) -> Result<Value, String> {
        prepare(request, &CodexVersion::parse(version).unwrap())
            .map(|raw| serde_json::from_str(raw.get()).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_field_that_only_adds_comfort_is_left_out_for_older_versions() {
        let turn = TurnStart {
            client_user_message_id: Some("m1".into()),
            ..TurnStart::new(ThreadId::new("t"), vec![UserInput::Text("hi".into())])
        };
        let plain = json!({"threadId": "t", "input": [{"type": "text", "text": "hi"}]});

        assert_eq!(prepared(&turn, "0.130.0"), Ok(plain.clone()));
        assert_eq!(
            prepared(&turn, "0.142.5"),
            Ok(json!({
                "threadId": "t",
                "input": [{"type": "text", "text": "hi"}],
                "clientUserMessageId": "m1",
            }))
        );
    }

    #[test]
    fn a_field_that_changes_the_meaning_is_refused_instead() {
        let fork = ThreadFork {
            last_turn_id: Some(TurnId::new("u")),
            ..ThreadFork::new(ThreadId::new("t"))
        };

        assert_eq!(
            prepared(&fork, "0.142.5"),
            Err("codex 0.142.5 would ignore `lastTurnId` of thread/fork; use codex 0.166.0 and later"
                .into())
        );
        assert_eq!(
            prepared(&fork, "0.166.0"),
            Ok(json!({
                "threadId": "t",
                "excludeTurns": true,
                "lastTurnId": "u",
                "ephemeral": false,
            }))
        );
    }

    #[test]
    fn a_method_is_only_sent_to_versions_known_to_have_it() {
        let rollback = ThreadRollback { thread_id: ThreadId::new("t"), num_turns: 1 };
        let items = ThreadItemsList::new(ThreadId::new("t"));

        assert_eq!(prepared(&rollback, "0.130.0"), Ok(json!({"threadId": "t", "numTurns": 1})));
        assert_eq!(
            [prepared(&rollback, "0.166.0"), prepared(&items, "0.142.5")],
            [
                "codex 0.166.0 does not take thread/rollback; use codex 0.125.0 to 0.142.5",
                "codex 0.142.5 does not take thread/items/list; use codex 0.166.0 and later",
            ]
            .map(|text| Err(text.into()))
        );
    }

    #[test]
    fn a_permission_profile_is_named_in_the_shape_of_the_version() {
        let start =
            ThreadStart { permissions: Some(":read-only".into()), ..ThreadStart::default() };

        assert_eq!(
            prepared(&start, "0.130.0"),
            Ok(json!({"permissions": {"type": "profile", "id": ":read-only"}}))
        );
        assert_eq!(prepared(&start, "0.142.5"), Ok(json!({"permissions": ":read-only"})));
        assert!(prepared(&start, "0.125.0").is_err());
    }
}
