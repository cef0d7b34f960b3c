//! Rules as they are stored, and as people read them.

use ostler_model::ask::Permissions;
use ostler_model::policy::{Effect, Matcher, Scope, Words};
use ostler_model::{Rule, TaskId};
use serde_json::{Value, json};

use crate::rig::{NOW, exactly, folder, host, prefix, rule};

fn stored() -> Value {
    json!({
        "version": "1",
        "id": "r1",
        "effect": "allow",
        "matcher": { "command_prefix": ["cargo", "test"] },
        "sandboxing": "inside_first",
        "cwd": "/work/repo",
        "scope": { "task": "t1" },
        "expires_at": 7,
        "made_by": "ada",
        "made_at": NOW,
        "from_ask": "0a1b2c3d"
    })
}

fn read(value: &Value) -> Result<Rule, String> {
    serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
}

#[test]
fn the_stored_form_is_for_good() {
    let stored_rule = Rule {
        cwd: Some(folder("/work/repo")),
        scope: Scope::Task(TaskId::new("t1")),
        expires_at: Some(7),
        from_ask: Some("0a1b2c3d".into()),
        ..rule("r1", Effect::Allow, prefix("cargo test"))
    };
    assert_eq!(serde_json::to_value(&stored_rule).unwrap(), stored());
    assert_eq!(read(&stored()), Ok(stored_rule.clone()));
    // Older rules do not say how far they reach.
    let mut older = stored();
    older.as_object_mut().unwrap().remove("sandboxing");
    assert_eq!(read(&older), Ok(stored_rule));
    let matchers = [
        (exactly("ls"), json!({ "command": ["ls"] })),
        (host("*.Example.com"), json!({ "host": "*.example.com" })),
        (
            Matcher::Tool { server: "s".into(), tool: "t".into() },
            json!({ "tool": { "server": "s", "tool": "t" } }),
        ),
        (Matcher::FilesBelow(folder("/a/")), json!({ "files_below": "/a" })),
        (
            Matcher::Permissions(Permissions { network: Some(true), ..Permissions::default() }),
            json!({ "permissions": { "network": true, "read": [], "write": [], "rules": [] } }),
        ),
    ];
    for (matcher, value) in matchers {
        assert_eq!(serde_json::to_value(matcher).unwrap(), value);
    }
}

/// What is not understood could be what makes the rule narrow.
#[test]
fn a_rule_that_is_not_wholly_understood_is_not_read() {
    for (path, value) in [
        ("/version", json!("2")),
        ("/effect", json!("perhaps")),
        ("/matcher", json!({ "command_prefix": [] })),
        ("/matcher", json!({ "command_prefix": [""] })),
        ("/matcher", json!({ "files_below": "a" })),
        ("/matcher", json!({ "files_below": "/a/../b" })),
        ("/matcher", json!({ "host": "*" })),
        ("/matcher", json!({ "tool": { "server": "s", "tool": "t", "arguments": "x" } })),
        ("/scope", json!({ "galaxy": 1 })),
        ("/cwd", json!("repo")),
    ] {
        let mut changed = stored();
        *changed.pointer_mut(path).unwrap() = value.clone();
        assert!(read(&changed).is_err(), "{path} {value}");
    }
    let mut more = stored();
    more.as_object_mut().unwrap().insert("only_on".to_owned(), json!("monday"));
    assert!(read(&more).is_err());
    let mut less = stored();
    less.as_object_mut().unwrap().remove("version");
    assert!(read(&less).is_err());
}

#[test]
fn one_sentence_says_what_is_remembered() {
    let minute = 60_000;
    let in_task = |expires_at, matcher| Rule {
        cwd: Some(folder("/work/repo")),
        scope: Scope::Task(TaskId::new("t1")),
        expires_at: Some(NOW + expires_at),
        ..rule("r", Effect::Allow, matcher)
    };
    let odd =
        Words::try_from(vec!["rm".to_owned(), "a b\u{202e}\n".to_owned(), String::new()]).unwrap();
    let wider =
        Permissions { network: Some(true), write: vec!["/a".into()], ..Permissions::default() };
    let sentences = [
        in_task(120 * minute, exactly("touch zz")),
        in_task(minute, prefix("cargo test")),
        rule("r", Effect::Deny, prefix("git push")),
        rule("r", Effect::Allow, Matcher::Command(odd)),
        Rule {
            scope: Scope::Directory(folder("/work")),
            expires_at: Some(NOW + 7 * 24 * 60 * minute),
            ..rule("r", Effect::Allow, host("*.example.com"))
        },
        rule("r", Effect::Allow, Matcher::Tool { server: "tiny".into(), tool: "write".into() }),
        rule("r", Effect::Deny, Matcher::FilesBelow(folder("/secrets"))),
        rule("r", Effect::Allow, Matcher::Permissions(wider)),
    ]
    .map(|rule| rule.describe());

    assert_eq!(
        sentences,
        [
            "allows the command `touch zz` with exactly these words, in the sandbox (what the sandbox stops, Codex may run again outside without asking), run in /work/repo or below, in task t1, for 2 hours",
            "allows every command that begins with `cargo test`, in the sandbox (what the sandbox stops, Codex may run again outside without asking), run in /work/repo or below, in task t1, for 60 seconds",
            "refuses every command that begins with `git push`, and whatever could run one, everywhere, until somebody removes the rule",
            "allows the command `rm 'a b\\u{202e}\\n' ''` with exactly these words, in the sandbox (what the sandbox stops, Codex may run again outside without asking), everywhere, until somebody removes the rule",
            "allows connections to *.example.com, in /work and below, for 7 days",
            "allows calls of the tool write of the MCP server tiny with any arguments, everywhere, until somebody removes the rule",
            "refuses changes of files in /secrets and below, everywhere, until somebody removes the rule",
            "allows a wider sandbox: use the network; write /a, everywhere, until somebody removes the rule",
        ]
    );
}
