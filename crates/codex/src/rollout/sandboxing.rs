//! Where the command of a call will run, which Codex's question does not say.
//!
//! The model says with each call whether it shall leave the sandbox. Codex (0.130.0, 0.142.5, 0.166.0, 0.169.0) has that call in the
//! thread's file before it asks, under the id that the question has. Calls that a program of the model makes (*code mode*, ids that begin
//! with `exec-`) stand nowhere.

use std::path::Path;

use ostler_model::ItemId;
use ostler_model::ask::Sandboxing;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::assemble::read;
use super::line::{Line, Response};
use super::tail::read_tail;
use super::{RolloutError, find};
use crate::protocol::lenient;

/// A call is written right before Codex asks; outputs of calls beside it may come between.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// The words that a call has for its sandbox.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    sandbox_permissions: Option<String>,
    /// Of old tools.
    #[serde(default)]
    with_escalated_permissions: Option<bool>,
}

/// What a turn is confined by; the words of the file.
#[derive(Default, Deserialize)]
struct Confined {
    #[serde(default, deserialize_with = "lenient::option")]
    approval_policy: Option<String>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    sandbox_policy: Named,
}

#[derive(Default, Deserialize)]
struct Named {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
}

/// Where the command of the call with this id runs, in a turn whose commands run as `usual` says unless the file says otherwise.
/// `None` if no such call is open, perhaps because it is not written yet. Blocks.
pub fn sandboxing(
    path: &Path,
    call: &ItemId,
    usual: Sandboxing,
) -> Result<Option<Sandboxing>, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let mut usual = usual;
    let mut open: Option<Sandboxing> = None;
    let read = read_tail(path, TAIL_BYTES, |text| {
        if !text.contains(call.as_str()) && !text.contains("\"turn_context\"") {
            return;
        }
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return };
        let Some(payload) = line.payload else { return };
        match line.kind.as_str() {
            "turn_context" => usual = of_turn(payload),
            "response_item" => {
                let item: Response = read(payload);
                if item.call_id != call.as_str() {
                    return;
                }
                match item.kind.as_str() {
                    // Which of two with one name is asked about is not known.
                    _ if is_call(&item.kind) && open.is_some() => open = Some(Sandboxing::Unknown),
                    _ if is_call(&item.kind) => open = Some(of_call(&item, usual)),
                    // It is over, so the question is about another one of the same name.
                    _ => open = None,
                }
            }
            _ => {}
        }
    });
    read.map_err(|error| RolloutError::io(path, error))?;
    Ok(open)
}

fn is_call(kind: &str) -> bool {
    kind.ends_with("_call")
}

fn of_call(call: &Response, usual: Sandboxing) -> Sandboxing {
    match (call.kind.as_str(), call.name.as_str()) {
        ("local_shell_call", _) => usual,
        (
            "function_call",
            "exec_command" | "shell_command" | "shell" | "container.exec" | "local_shell",
        ) => {
            let Ok(arguments) = serde_json::from_str::<Arguments>(&call.arguments) else {
                return Sandboxing::Unknown;
            };
            let leaves = arguments.with_escalated_permissions == Some(true);
            match arguments.sandbox_permissions.as_deref() {
                Some("require_escalated") => Sandboxing::Outside,
                _ if leaves => Sandboxing::Outside,
                // The question names what more it may do.
                None | Some("use_default" | "with_additional_permissions") => usual,
                Some(_) => Sandboxing::Unknown,
            }
        }
        _ => Sandboxing::Unknown,
    }
}

fn of_turn(payload: &RawValue) -> Sandboxing {
    let confined: Confined = read(payload);
    match (confined.sandbox_policy.kind.as_str(), confined.approval_policy.as_deref()) {
        ("danger-full-access", _) => Sandboxing::Outside,
        ("read-only" | "workspace-write", Some("untrusted")) => Sandboxing::InsideFirst,
        ("read-only" | "workspace-write", Some("on-request")) => Sandboxing::Inside,
        _ => Sandboxing::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(lines: &[Value], torn: &str) -> Option<Sandboxing> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(&path, format!("{}\n{torn}", lines.join("\n"))).unwrap();
        sandboxing(&path, &"call_1".into(), Sandboxing::Inside).unwrap()
    }

    fn call(id: &str, name: &str, arguments: &str) -> Value {
        let payload =
            json!({ "type": "function_call", "name": name, "arguments": arguments, "call_id": id });
        json!({ "type": "response_item", "payload": payload })
    }

    fn exec(arguments: &str) -> Value {
        call("call_1", "exec_command", arguments)
    }

    fn turn(approval: &Value, sandbox: &str) -> Value {
        let payload = json!({ "approval_policy": approval, "sandbox_policy": { "type": sandbox } });
        json!({ "type": "turn_context", "payload": payload })
    }

    const PLAIN: &str = r#"{"cmd":"ls"}"#;
    const LEAVES: &str = r#"{"cmd":"ls","sandbox_permissions":"require_escalated"}"#;

    #[test]
    fn a_call_says_whether_it_leaves_the_sandbox() {
        let table = [
            (exec(PLAIN), Some(Sandboxing::Inside)),
            (exec(LEAVES), Some(Sandboxing::Outside)),
            (exec(r#"{"sandbox_permissions":"use_default"}"#), Some(Sandboxing::Inside)),
            (exec(r#"{"with_escalated_permissions":true}"#), Some(Sandboxing::Outside)),
            (exec(r#"{"sandbox_permissions":"of_tomorrow"}"#), Some(Sandboxing::Unknown)),
            (exec("no json"), Some(Sandboxing::Unknown)),
            (call("call_1", "of_tomorrow", PLAIN), Some(Sandboxing::Unknown)),
            (call("call_11", "exec_command", PLAIN), None),
        ];
        for (line, expected) in table {
            assert_eq!(found(std::slice::from_ref(&line), ""), expected, "{line}");
        }
    }

    #[test]
    fn what_confines_the_turn_counts() {
        let last = |approval: Value, sandbox| {
            let usual = turn(&json!("on-request"), "read-only");
            found(&[usual, turn(&approval, sandbox), exec(PLAIN)], "").unwrap()
        };
        assert_eq!(last(json!("untrusted"), "read-only"), Sandboxing::InsideFirst);
        assert_eq!(last(json!("on-request"), "workspace-write"), Sandboxing::Inside);
        assert_eq!(last(json!("on-request"), "danger-full-access"), Sandboxing::Outside);
        assert_eq!(last(json!("on-failure"), "read-only"), Sandboxing::Unknown);
        assert_eq!(last(json!({ "granular": {} }), "read-only"), Sandboxing::Unknown);
    }

    /// The model names its calls, so an earlier one may have the name of the one that is asked about.
    #[test]
    fn no_other_call_of_the_same_name_counts() {
        let output = json!({ "type": "response_item", "payload":
            { "type": "function_call_output", "call_id": "call_1", "output": "" } });
        let over = [exec(PLAIN), output.clone()];
        assert_eq!(found(&over, ""), None);
        assert_eq!(found(&over, exec(LEAVES).to_string().get(..60).unwrap()), None);
        assert_eq!(found(&[exec(PLAIN), output, exec(LEAVES)], ""), Some(Sandboxing::Outside));
        assert_eq!(found(&[exec(PLAIN), exec(LEAVES)], ""), Some(Sandboxing::Unknown));
    }
}
