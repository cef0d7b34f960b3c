//! One case per row of the mapping.

use super::*;

/// Every row of the mapping that is a call: name, item, call id, arguments, content.
#[test]
fn calls() {
    let exec = format!("codex_exec_i_{MARK}");
    let ls = r#"{"command": "ls", "cwd": "/w"}"#;
    let failed = |exit_code| Command { outcome: Outcome::Failed, exit_code, ..Command::default() };
    let killed = |code| Command { output: "half".into(), ..failed(Some(code)) };
    let with = |outcome| Command { outcome, ..Command::default() };
    let mcp = || tool(ToolPlace::Mcp { server: "s".to_owned() });
    let mcp_id = format!("codex_mcp__s__t_i_{MARK}");
    let nameless_id = format!("codex_mcp__mcp__unknown_i_{MARK}");
    let client = || tool(ToolPlace::Client { namespace: None });
    let client_id = format!("codex_dyn_t_i_{MARK}");
    let arguments = r#"{"a": {"c": null, "d": 1}, "z": "ü"}"#;
    let moved = FileChangeKind::Update { moved_to: Some("/w/c".to_owned()) };
    let patch = |outcome| {
        item(
            "i",
            ItemBody::FileChange(FileChange {
                files: vec![
                    diff("/w/a", FileChangeKind::Add, "one\ntwo\n"),
                    diff(
                        "/w/b",
                        moved.clone(),
                        "--- b\n+++ c\n@@ -1,2 +1,2 @@\n-one\n+1\n+2\n two\n\n\nMoved to: /w/c",
                    ),
                    diff("/w/d", FileChangeKind::Delete, "gone\n"),
                ],
                outcome,
            }),
        )
    };
    let patch_id = format!("codex_apply_patch_i_{MARK}");
    let patch_arguments = r#"{"changes": [{"added": 2, "kind": "add", "path": "/w/a", "removed": 0}, {"added": 2, "kind": "update", "move_path": "/w/c", "path": "/w/b", "removed": 1}, {"added": 0, "kind": "delete", "path": "/w/d", "removed": 1}]}"#;
    let patch_files = "add /w/a (+2 -0)\nupdate /w/b -> /w/c (+2 -1)\ndelete /w/d (+0 -1)";
    let rows: Vec<Row<'_>> = vec![
        ("command", ran("i"), &exec, "exec_command", ls, "a\n".into()),
        (
            "command exit",
            command("i", Command { output: "no".into(), ..failed(Some(2)) }),
            &exec,
            "exec_command",
            ls,
            "[exit 2]\nno".into(),
        ),
        (
            "command failed without a code",
            command("i", failed(None)),
            &exec,
            "exec_command",
            ls,
            "[failed]".into(),
        ),
        (
            "command declined",
            command("i", with(Outcome::Declined)),
            &exec,
            "exec_command",
            ls,
            "[declined]".into(),
        ),
        (
            "command interrupted",
            (
                command("i", Command { output: "half".into(), ..with(Outcome::Running) }).0,
                ItemEnd::Interrupted,
            ),
            &exec,
            "exec_command",
            ls,
            "[interrupted]\nhalf".into(),
        ),
        (
            "command killed by a signal",
            command("i", killed(137)),
            &exec,
            "exec_command",
            ls,
            "[interrupted]\nhalf".into(),
        ),
        (
            "command killed by codex",
            command("i", killed(-1)),
            &exec,
            "exec_command",
            ls,
            "[interrupted]\nhalf".into(),
        ),
        (
            "command in a shell",
            item(
                "i",
                ItemBody::Command(Command {
                    command: r#"/bin/bash -lc 'echo '\''hi'\''; ls'"#.into(),
                    by_user: true,
                    ..Command::default()
                }),
            ),
            &exec,
            "exec_command",
            r#"{"by": "user", "command": "echo 'hi'; ls", "cwd": null}"#,
            String::new(),
        ),
        (
            "file change",
            patch(Outcome::Succeeded),
            &patch_id,
            "apply_patch",
            patch_arguments,
            format!("apply_patch status=completed, 3 change(s)\n{patch_files}"),
        ),
        (
            "file change declined",
            patch(Outcome::Declined),
            &patch_id,
            "apply_patch",
            patch_arguments,
            format!("[declined]\napply_patch status=declined, 3 change(s)\n{patch_files}"),
        ),
        (
            "mcp",
            item(
                "i",
                ItemBody::ToolCall(ToolCall {
                    result: Some(r#"[{"type":"text","text":"x"}]"#.into()),
                    ..mcp()
                }),
            ),
            &mcp_id,
            "mcp.s.t",
            arguments,
            r#"[{"text": "x", "type": "text"}]"#.into(),
        ),
        (
            "mcp error",
            item(
                "i",
                ItemBody::ToolCall(ToolCall {
                    error: Some("no".into()),
                    outcome: Outcome::Failed,
                    ..mcp()
                }),
            ),
            &mcp_id,
            "mcp.s.t",
            arguments,
            r#"[error] {"message": "no"}"#.into(),
        ),
        (
            "mcp failed",
            item(
                "i",
                ItemBody::ToolCall(ToolCall {
                    result: Some("[]".into()),
                    outcome: Outcome::Failed,
                    ..mcp()
                }),
            ),
            &mcp_id,
            "mcp.s.t",
            arguments,
            "[failed]\n[]".into(),
        ),
        (
            "mcp without arguments",
            item("i", ItemBody::ToolCall(ToolCall { arguments: None, ..mcp() })),
            &mcp_id,
            "mcp.s.t",
            "{}",
            String::new(),
        ),
        (
            "mcp with null arguments",
            item("i", ItemBody::ToolCall(ToolCall { arguments: Some("null".into()), ..mcp() })),
            &mcp_id,
            "mcp.s.t",
            "{}",
            String::new(),
        ),
        (
            "mcp without names",
            item(
                "i",
                ItemBody::ToolCall(ToolCall {
                    place: ToolPlace::Mcp { server: String::new() },
                    tool: String::new(),
                    arguments: Some("[1]".into()),
                    ..mcp()
                }),
            ),
            &nameless_id,
            "mcp.mcp.unknown",
            r#"{"arguments": [1]}"#,
            String::new(),
        ),
        (
            "our tool",
            item(
                "i",
                ItemBody::ToolCall(ToolCall {
                    succeeded: Some(true),
                    result: Some(r#"[{"text":"x"}]"#.into()),
                    ..client()
                }),
            ),
            &client_id,
            "t",
            arguments,
            r#"[{"text": "x"}]"#.into(),
        ),
        (
            "our tool, silent",
            item("i", ItemBody::ToolCall(ToolCall { succeeded: Some(true), ..client() })),
            &client_id,
            "t",
            arguments,
            "success=true".into(),
        ),
        (
            "our tool, failed",
            item("i", ItemBody::ToolCall(ToolCall { succeeded: Some(false), ..client() })),
            &client_id,
            "t",
            arguments,
            "[failed]\nsuccess=false".into(),
        ),
    ];
    for (row, item, id, name, arguments, content) in rows {
        assert_eq!(project(&[item]), pair(id, name, arguments, &content), "{row}");
    }
}

/// Every row of the mapping that is a text.
#[test]
fn texts() {
    let note = |body| (item("i", body), Role::Assistant);
    let attached = UserMessage {
        text: "see".to_owned(),
        attachments: vec![
            Attachment::Image { url: None },
            Attachment::File { path: "/a.png".to_owned() },
            Attachment::Skill { name: "s".to_owned() },
        ],
        input: None,
        ..UserMessage::default()
    };
    let search = |query: &str, detail: Option<&str>| {
        note(ItemBody::WebSearch { query: query.to_owned(), detail: detail.map(str::to_owned) })
    };
    let text = |text: &str| text.to_owned();
    let agent = SubAgent {
        tool: text("spawnAgent"),
        prompt: Some(text("help")),
        threads: vec!["t2".into()],
        states: vec![("t2".into(), text("running"), Some(text("busy")))],
        outcome: Outcome::Failed,
    };
    let rows = [
        ("user message", (asked("i", "hi", None), Role::User), "hi"),
        (
            "user message with attachments",
            (item("i", ItemBody::UserMessage(attached)), Role::User),
            "see\n[image attached]\n[file attached: /a.png]\n[skill: s]",
        ),
        ("agent message", (said("i", "hi"), Role::Assistant), "hi"),
        ("plan", note(ItemBody::Plan { text: text("1. go") }), "[plan]\n1. go"),
        ("web search", search("rust", None), r#"[searched the web for "rust"]"#),
        ("web page", search("", Some("opened https://x.y")), "[web search: opened https://x.y]"),
        (
            "image view",
            note(ItemBody::ImageView { path: text("/a.png") }),
            "[looked at the image /a.png]",
        ),
        (
            "image",
            note(ItemBody::ImageGeneration {
                prompt: Some(text("a cat")),
                saved_path: Some(text("/c.png")),
                status: text("completed"),
            }),
            "[made an image at /c.png: a cat]",
        ),
        (
            "image failed",
            note(ItemBody::ImageGeneration {
                prompt: None,
                saved_path: None,
                status: text("failed"),
            }),
            "[image failed]",
        ),
        ("sleep", note(ItemBody::Sleep { duration_ms: Some(1_500) }), "[waited 1.500 s]"),
        (
            "tool output",
            note(ItemBody::ToolOutput { name: text("t"), output: text("out") }),
            "[output of t]\nout",
        ),
        ("hook prompt", note(ItemBody::HookPrompt { text: text("mind") }), "[a hook added]\nmind"),
        (
            "review began",
            note(ItemBody::ReviewBegan { review: text("look") }),
            "[review began: look]",
        ),
        (
            "review ended",
            note(ItemBody::ReviewEnded { review: text("fine") }),
            "[review ended]\nfine",
        ),
        ("compaction", note(ItemBody::Compaction), "[the history was compacted to make room]"),
        (
            "sub-agent",
            note(ItemBody::SubAgent(agent)),
            "[sub-agent spawnAgent failed, thread t2]\nhelp\nt2: running: busy",
        ),
        (
            "unknown",
            note(ItemBody::Other {
                name: text("holodeck"),
                json: text(r#"{"type":"holodeck","a":[1]}"#),
            }),
            r#"[codex holodeck] {"a": [1], "type": "holodeck"}"#,
        ),
    ];
    for (row, (item, role), content) in rows {
        let expected = match role {
            Role::User => Message::user(content.to_owned()),
            _ => Message::assistant(content.to_owned()),
        };
        assert_eq!(project(&[item]), [expected], "{row}");
    }
}
