//! A thread, and the several keys its id has had.

use ostler_model::ThreadId;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Json;
use super::lenient;
use super::turn::Turn;
use super::words::{ActiveFlag, ThreadState};

/// One thread, as replies and notifications carry it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    #[serde(default, deserialize_with = "lenient::option")]
    pub id: Option<ThreadId>,
    /// Today the root of a tree of threads; in early versions the thread's own id. Use [`Thread::thread_id`].
    #[serde(default, deserialize_with = "lenient::option")]
    pub session_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub status: Option<ThreadStatus>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub preview: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub cwd: Option<String>,
    /// The rollout file. Absent for ephemeral threads.
    #[serde(default, deserialize_with = "lenient::option")]
    pub path: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub ephemeral: Option<bool>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model_provider: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub history_mode: Option<String>,
    /// The Codex version that created the thread.
    #[serde(default, deserialize_with = "lenient::option")]
    pub cli_version: Option<String>,
    /// Unix seconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub created_at: Option<i64>,
    /// Unix seconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub updated_at: Option<i64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub forked_from_id: Option<ThreadId>,
    /// Set if the thread is a sub-agent.
    #[serde(default, deserialize_with = "lenient::option")]
    pub parent_thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub agent_nickname: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub agent_role: Option<String>,
    /// A word, or an object for sub-agents.
    #[serde(default, deserialize_with = "lenient::option")]
    pub source: Option<Json>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub turns: Vec<Turn>,
}

impl Thread {
    /// The thread's id under whichever key it came.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.id.as_ref().or(self.session_id.as_ref())
    }

    /// The thread that started this one, if it is a sub-agent. Codex 0.130.0 says it only inside the source.
    pub fn parent(&self) -> Option<ThreadId> {
        let spawned = || {
            let source: Source = lenient::message(self.source.as_ref()?.as_raw()).ok()?;
            source.sub_agent?.thread_spawn?.parent_thread_id
        };
        self.parent_thread_id.clone().or_else(spawned)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    #[serde(default, deserialize_with = "lenient::object")]
    sub_agent: Option<SubAgentSource>,
}

#[derive(Deserialize)]
struct SubAgentSource {
    #[serde(default, deserialize_with = "lenient::object")]
    thread_spawn: Option<ThreadSpawn>,
}

#[derive(Deserialize)]
struct ThreadSpawn {
    #[serde(default, deserialize_with = "lenient::option")]
    parent_thread_id: Option<ThreadId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatus {
    #[serde(rename = "type")]
    pub state: ThreadState,
    #[serde(default, deserialize_with = "lenient::list")]
    pub active_flags: Vec<ActiveFlag>,
}

/// The thread a message is about, under every key the id has had: `threadId`, `thread.id`, `thread.sessionId`,
/// `sessionId`, `conversationId`. For routing a message without knowing its method.
pub fn thread_id_of(message: &RawValue) -> Option<ThreadId> {
    let keys: Keys = lenient::message(message).ok()?;
    keys.thread_id
        .or_else(|| keys.thread.and_then(|thread| thread.id.or(thread.session_id)))
        .or(keys.session_id)
        .or(keys.conversation_id)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    #[serde(default, deserialize_with = "lenient::option")]
    thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::object")]
    thread: Option<ThreadKeys>,
    #[serde(default, deserialize_with = "lenient::option")]
    session_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    conversation_id: Option<ThreadId>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadKeys {
    #[serde(default, deserialize_with = "lenient::option")]
    id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::option")]
    session_id: Option<ThreadId>,
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::thread_id_of;

    #[test]
    fn a_thread_id_is_found_under_every_key_it_has_had() {
        let found = |text: &str| {
            let raw = RawValue::from_string(text.into()).unwrap();
            thread_id_of(&raw).map(|id| id.to_string())
        };

        for text in [
            r#"{"threadId":"a","sessionId":"b"}"#,
            r#"{"thread":{"id":"a","sessionId":"b"}}"#,
            r#"{"thread":{"sessionId":"a"}}"#,
            r#"{"sessionId":"a"}"#,
            r#"{"conversationId":"a","threadId":7}"#,
        ] {
            assert_eq!(found(text).as_deref(), Some("a"), "{text}");
        }
        assert_eq!([found("{}"), found("[1]"), found(r#"{"thread":3}"#)], [None, None, None]);
    }
}
