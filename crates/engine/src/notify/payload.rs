//! What programs are told: the body of a webhook, and what a program of the operator's gets on its stdin.

use jiff::Timestamp;
use ostler_model::Notification;
use serde_json::{Value, json};

/// The same for every attempt, byte for byte. Its form is what Standard Webhooks advises: a type, a time, and the data.
pub fn payload(notification: &Notification) -> Value {
    let Notification { id, task, kind, at, content, .. } = notification;
    let mut data = serde_json::to_value(content).unwrap_or_default();
    if let Some(fields) = data.as_object_mut() {
        fields.insert("id".to_owned(), json!(id));
        fields.insert("task".to_owned(), json!(task));
        fields.insert("kind".to_owned(), json!(kind));
        fields.insert("at".to_owned(), json!(at));
    }
    let time = Timestamp::from_millisecond(*at).unwrap_or_default();
    json!({ "type": format!("task.{kind}"), "timestamp": time.to_string(), "data": data })
}
