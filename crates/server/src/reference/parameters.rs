//! What stands in the path, the query and the head of a request.

use ostler_model::notification::State;
use ostler_model::{AuditKind, TaskState};
use serde_json::{Value, json};

use super::described::Described;
use crate::table::Row;

/// Whatever folders stand before a name are left out; the name itself does not begin with a dot, and has no control characters.
const FILE_NAME: &str =
    r"^([\s\S]*[/\\])?[ \t\r\n]*[^\s./\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]{0,49}$";

pub(super) fn parameters(row: &Row, about: &Described) -> Value {
    let mut all = Vec::new();
    for part in row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let name = part.trim_start_matches('*');
        // Ids have letters and digits; the rest of a path may be anything.
        let schema = match name {
            "path" | "file" => json!({ "type": "string", "minLength": 1 }),
            _ => json!({ "type": "string", "pattern": "^[A-Za-z0-9-]+$" }),
        };
        all.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    for (name, schema, text) in about.query {
        let is_required = name.ends_with('!');
        let name = name.trim_end_matches('!');
        let schema = match *schema {
            "count" => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            "place" => json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
            "cursor" => json!({ "type": "string", "pattern": "^([0-9]{1,18}\\.[0-9]{1,18})?$" }),
            "states" => {
                json!({ "type": "string", "pattern": format!("^(({0})(,({0}))*)?$", states()) })
            }
            "id" => json!({ "type": "string", "pattern": "^[A-Za-z0-9-]*$" }),
            "delivery" => {
                json!({ "type": "string", "enum": State::ALL.map(State::name) })
            }
            "audit" => {
                json!({ "type": "string", "enum": AuditKind::ALL.map(AuditKind::name) })
            }
            "turn" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
            "turns" => json!({ "type": "string", "enum": ["last", "all"] }),
            "name" => json!({ "type": "string", "pattern": FILE_NAME }),
            kind => json!({ "type": kind }),
        };
        let parameter = json!({
            "name": name, "in": "query", "required": is_required, "schema": schema, "description": text,
        });
        all.push(parameter);
    }
    // A message of MCP has an id of its own.
    if row.method == "POST" && row.path != "/mcp" {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 255 });
        all.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false, "schema": schema,
            "description": "the same request with the same key is done once",
        }));
    }
    Value::Array(all)
}

fn states() -> String {
    TaskState::ALL.map(TaskState::name).join("|")
}
