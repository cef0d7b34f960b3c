//! What each tool of the bridge gives, as JSON schemas. Fields may be added; those named as required stay.

use serde_json::{Map, Value, json};

/// The structured content of a call of this tool that succeeds.
pub(super) fn of(tool: &str) -> Option<Map<String, Value>> {
    let schema = match tool {
        "codex_start" | "codex_status" | "codex_send" | "codex_steer" | "codex_interrupt"
        | "codex_goal" => task(),
        "codex_list" => object(&json!({ "tasks": many(&task()), "counts": any() }), &["tasks"]),
        "codex_wait" => {
            let note = json!({ "type": ["string", "null"] });
            let fields = json!({ "timed_out": yes_or_no(), "tasks": many(&task()), "note": note });
            object(&fields, &["timed_out", "tasks"])
        }
        "codex_respond" => {
            let task = json!({ "anyOf": [task(), { "type": "null" }] });
            let fields =
                json!({ "request_id": word(), "state": word(), "decision": {}, "task": task });
            object(&fields, &["request_id", "state"])
        }
        "codex_asks" => {
            object(&json!({ "pending_requests": many(&request()) }), &["pending_requests"])
        }
        "codex_logs" => {
            let next = json!({ "type": ["integer", "null"] });
            let fields = json!({ "task_id": word(), "log": word(), "next_after": next });
            object(&fields, &["task_id", "log"])
        }
        "codex_diff" => {
            object(&json!({ "task_id": word(), "from": {}, "diff": word() }), &["task_id", "diff"])
        }
        "codex_notify_completed" => {
            let fields = json!({ "notifications": many(&any()), "dry_run": yes_or_no() });
            object(&fields, &["notifications", "dry_run"])
        }
        // One of the above, by its action.
        "codex_bridge" => any(),
        _ => return None,
    };
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

fn task() -> Value {
    let words = json!({ "type": ["string", "null"] });
    let fields = json!({
        "task_id": word(),
        "status": word(),
        "is_over": yes_or_no(),
        "needs_a_person": yes_or_no(),
        "final_answer": words,
        "error": words,
        "model": words,
        "effort": words,
        "cwd": word(),
        "turns": { "type": "integer" },
        "tokens": { "type": "integer" },
        "running": { "type": ["object", "null"] },
        "pending_requests": many(&request()),
    });
    object(&fields, &["task_id", "status", "is_over", "needs_a_person"])
}

fn request() -> Value {
    let fields = json!({ "request_id": word(), "task_id": word(), "kind": word(), "what": {} });
    object(&fields, &["request_id", "kind"])
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn many(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn any() -> Value {
    json!({ "type": "object" })
}

fn word() -> Value {
    json!({ "type": "string" })
}

fn yes_or_no() -> Value {
    json!({ "type": "boolean" })
}
