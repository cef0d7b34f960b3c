use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{
    AgentMessage, Attachment, Command, FileChange, ItemBody, MessagePhase, Outcome, Reasoning,
    SubAgent, ToolCall, ToolPlace, UserMessage,
};
use serde_json::value::RawValue;

use super::translate;
use crate::protocol;

fn body(json: &str) -> ItemBody {
    let raw = RawValue::from_string(json.to_owned()).unwrap();
    translate(&protocol::Item::parse(&raw).unwrap()).body
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn call(place: ToolPlace) -> ToolCall {
    ToolCall {
        place,
        tool: text("t"),
        arguments: None,
        result: None,
        error: None,
        succeeded: None,
        duration_ms: None,
        outcome: Outcome::Unknown,
    }
}

#[test]
fn every_kind_has_a_word_of_ours() {
    let rows = [
        (
            r#"{"type":"userMessage","id":"1","clientId":"m","content":[{"type":"text","text":"a"},{"type":"image","url":"data:x"},{"type":"image","url":"http://y"},{"type":"localImage","path":"/p"},{"type":"text","text":"b"},{"type":"audio"}]}"#,
            ItemBody::UserMessage(UserMessage {
                text: text("a\nb"),
                attachments: vec![
                    Attachment::Image { url: None },
                    Attachment::Image { url: Some(text("http://y")) },
                    Attachment::File { path: text("/p") },
                    Attachment::Other(text("audio")),
                ],
                input: Some("m".into()),
                ..UserMessage::default()
            }),
        ),
        (
            r#"{"type":"agentMessage","id":"1","text":"hi","phase":"final_answer"}"#,
            ItemBody::AgentMessage(AgentMessage {
                text: text("hi"),
                phase: MessagePhase::FinalAnswer,
            }),
        ),
        (
            r#"{"type":"commandExecution","id":"1","command":"ls","cwd":"/w","source":"userShell","status":"failed","aggregatedOutput":"o","exitCode":2,"durationMs":3}"#,
            ItemBody::Command(Command {
                command: text("ls"),
                cwd: Some(text("/w")),
                output: text("o"),
                exit_code: Some(2),
                duration_ms: Some(3),
                outcome: Outcome::Failed,
                by_user: true,
            }),
        ),
        (
            r#"{"type":"mcpToolCall","id":"1","server":"s","tool":"t","status":"failed","arguments":{"a":1},"result":{"content":[{"x":1},2],"structuredContent":null},"error":{"message":"no"},"durationMs":4}"#,
            ItemBody::ToolCall(ToolCall {
                arguments: Some(text(r#"{"a":1}"#)),
                result: Some(text(r#"[{"x":1},2]"#)),
                error: Some(text("no")),
                duration_ms: Some(4),
                outcome: Outcome::Failed,
                ..call(ToolPlace::Mcp { server: text("s") })
            }),
        ),
        (
            r#"{"type":"dynamicToolCall","id":"1","namespace":"n","tool":"t","contentItems":[],"success":false}"#,
            ItemBody::ToolCall(ToolCall {
                succeeded: Some(false),
                ..call(ToolPlace::Client { namespace: Some(text("n")) })
            }),
        ),
        (
            r#"{"type":"collabAgentToolCall","id":"1","tool":"wait","status":"interrupted","receiverThreadIds":["t2"],"agentsStates":{"t2":{"status":"completed","message":"ok"}}}"#,
            ItemBody::SubAgent(SubAgent {
                tool: text("wait"),
                prompt: None,
                threads: vec!["t2".into()],
                states: vec![("t2".into(), text("completed"), Some(text("ok")))],
                outcome: Outcome::Interrupted,
            }),
        ),
        (
            r#"{"type":"webSearch","id":"1","query":"","action":{"type":"findInPage","url":"http://x","pattern":"p"}}"#,
            ItemBody::WebSearch {
                query: text(""),
                detail: Some(text(r#"looked for "p" in http://x"#)),
            },
        ),
        (
            r#"{"type":"functionCallOutput","id":"1","name":"f","output":[{"type":"input_text","text":"a"},{"type":"input_image"}]}"#,
            ItemBody::ToolOutput { name: text("f"), output: text("a\n[input_image]") },
        ),
        (r#"{"type":"sleep","id":"1","durationMs":5}"#, ItemBody::Sleep { duration_ms: Some(5) }),
        (
            r#"{"type":"hookPrompt","id":"1","fragments":[{"text":"a"},{"text":"b"}]}"#,
            ItemBody::HookPrompt { text: text("a\nb") },
        ),
        (r#"{"type":"contextCompaction","id":"1"}"#, ItemBody::Compaction),
        (
            r#"{"type":"holodeck","id":"1","a":[1]}"#,
            ItemBody::Other {
                name: text("holodeck"),
                json: text(r#"{"type":"holodeck","id":"1","a":[1]}"#),
            },
        ),
    ];
    for (json, expected) in rows {
        assert_eq!(body(json), expected, "{json}");
    }
}

/// Each of these made the projection that this one replaces raise, which lost the whole session.
#[test]
fn shapes_nobody_expected_cost_no_more_than_themselves() {
    let file = |path: &str, change| FileDiff { path: text(path), change, diff: text("d") };
    let rows = [
        (
            r#"{"type":"reasoning","id":"1","summary":[{"type":"summary_text","text":"a"},"b",7],"content":{"no":1}}"#,
            ItemBody::Reasoning(Reasoning { summary: vec![text("a"), text("b")], content: vec![] }),
        ),
        (
            r#"{"type":"fileChange","id":"1","status":"completed","changes":["x",{"path":"/a","kind":"add","diff":"d"},7,{"path":"/b","kind":{"type":"update","move_path":"/c"},"diff":"d"},{"path":"/d","kind":null,"diff":"d"}]}"#,
            ItemBody::FileChange(FileChange {
                files: vec![
                    file("/a", FileChangeKind::Add),
                    file("/b", FileChangeKind::Update { moved_to: Some(text("/c")) }),
                    file("/d", FileChangeKind::Update { moved_to: None }),
                ],
                outcome: Outcome::Succeeded,
            }),
        ),
        (
            r#"{"type":"mcpToolCall","id":"1","server":"s","tool":"t","arguments":null,"result":"odd","status":7}"#,
            ItemBody::ToolCall(call(ToolPlace::Mcp { server: text("s") })),
        ),
    ];
    for (json, expected) in rows {
        assert_eq!(body(json), expected, "{json}");
    }
}
