//! The file format: what it means, and what it says when it is wrong.

use std::num::NonZeroU32;

use ostler_scripted_model::{
    Answer, Call, Conversation, Cut, Fault, KeepAlive, Pace, Payload, Phase, Plays, Script,
    ScriptedModel, Usage,
};
use serde_json::json;

#[test]
fn every_field_arrives() {
    let script = r#"
        [pace]
        before_headers_ms = 1

        [fallback]
        text = "what?"

        [[conversation]]
        match = "go"

        [[conversation.answer]]
        reasoning = "hm"
        text = "hello"
        delta_bytes = 4
        phase = "commentary"
        calls = [
          { tool = "exec_command", arguments = { cmd = "ls", n = [1, 2.5, true, { when = 2026-01-02 }] } },
          { namespace = "mcp__tiny", tool = "echo", id = "call_1" },
          { tool = "update_plan", arguments_text = "{" },
          { tool = "free", input = "text" },
        ]
        patch = "*** Begin Patch"
        usage = { input = 1, cached = 2, output = 3, reasoning = 4 }
        pace = { before_headers_ms = 2, before_first_delta_ms = 3, between_deltas_ms = 4, keep_alive_ms = 5, keep_alive = "ping" }
        headers = { "x-codex-primary-used-percent" = "42.5" }
        fault = { kind = "drop", after = 1, how = "reset" }
        times = 2

        [[conversation.answer]]
        deltas = 3
        repeat = true
    "#;
    let call = |tool: &str, payload| Call { payload, ..Call::function(tool, json!({})) };
    let first = Answer {
        reasoning: Some("hm".to_owned()),
        text: Some("hello".to_owned()),
        deltas: 0,
        delta_bytes: 4,
        phase: Some(Phase::Commentary),
        calls: vec![
            Call::function(
                "exec_command",
                json!({"cmd": "ls", "n": [1, 2.5, true, {"when": "2026-01-02"}]}),
            ),
            Call {
                namespace: Some("mcp__tiny".to_owned()),
                id: Some("call_1".to_owned()),
                ..Call::function("echo", json!({}))
            },
            call("update_plan", Payload::ArgumentsText("{".to_owned())),
            call("free", Payload::Input("text".to_owned())),
            Call::apply_patch("*** Begin Patch"),
        ],
        events: Vec::new(),
        usage: Usage { input: 1, cached: 2, output: 3, reasoning: 4 },
        pace: Some(Pace {
            before_headers_ms: 2,
            before_first_delta_ms: 3,
            between_deltas_ms: 4,
            keep_alive_ms: 5,
            keep_alive: KeepAlive::Ping,
        }),
        headers: vec![("x-codex-primary-used-percent".to_owned(), "42.5".to_owned())],
        fault: Some(Fault::Drop { after: 1, how: Cut::Reset }),
        plays: Plays::Times(NonZeroU32::new(2).unwrap()),
    };
    let second = Answer { deltas: 3, plays: Plays::Forever, ..Answer::default() };
    let expected = Script {
        conversations: vec![Conversation { prompt: "go".to_owned(), answers: vec![first, second] }],
        fallback: Some(Answer { text: Some("what?".to_owned()), ..Answer::default() }),
        pace: Pace { before_headers_ms: 1, ..Pace::default() },
    };
    assert_eq!(Script::parse(script).unwrap(), expected);
}

#[test]
fn the_examples_of_the_manual_are_scripts() {
    let manual = include_str!("../../SCRIPT.md");
    let examples: Vec<_> =
        manual.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for example in &examples {
        if let Err(error) = Script::parse(example) {
            panic!("{error}\n{example}");
        }
    }
    assert_eq!(examples.len(), 6);
}

#[test]
fn the_manual_names_every_fault() {
    let manual = include_str!("../../SCRIPT.md");
    let error = Script::parse("[fallback]\nfault = { kind = \"?\" }").unwrap_err().to_string();
    let (_, kinds) = error.split_once("expected one of ").unwrap();
    let kinds: Vec<_> = kinds.split('`').skip(1).step_by(2).collect();
    let missing: Vec<_> =
        kinds.iter().filter(|kind| !manual.contains(&format!("| `{kind}` |"))).collect();
    assert_eq!((kinds.len(), missing), (14, Vec::<&&str>::new()));
}

fn error(script: &str) -> String {
    Script::parse(script).unwrap_err().to_string()
}

/// An error in the second answer, whose header is line 5.
fn answer_error(second: &str) -> String {
    error(&format!(
        "[[conversation]]\nmatch = \"go\"\n[[conversation.answer]]\ntext = \"one\"\n[[conversation.answer]]\n{second}"
    ))
}

#[test]
fn unreadable_scripts_name_line_and_field() {
    assert_eq!(
        answer_error("txt = \"two\""),
        "script line 6, column 1: unknown field `txt`, expected one of `reasoning`, `text`, `deltas`, `delta_bytes`, \
         `phase`, `calls`, `patch`, `events`, `usage`, `pace`, `headers`, `fault`, `times`, `repeat`, `until`"
    );
    assert_eq!(
        answer_error("text = \"two\"\nphase = \"end\""),
        "script line 7, column 9: unknown variant `end`, expected `commentary` or `final_answer`"
    );
    assert_eq!(
        error("[[conversation]]\n[[conversation.answer]]\ntext = \"x\""),
        "script line 1, column 1: missing field `match`"
    );
    assert!(answer_error("text = \"two").starts_with("script line 6, column "));
    let fault = answer_error("fault = { kind = \"drop\", later = 1 }");
    assert!(
        fault.starts_with("script line 6, column ") && fault.contains("unknown field `later`"),
        "{fault}"
    );
}

#[test]
fn senseless_scripts_name_the_line_and_the_fix() {
    for (second, expected) in [
        (
            "usage = { input = 1 }",
            "script line 5: the answer says nothing; give it `text`, `deltas`, `reasoning`, `calls`, `patch`, `events` or `fault`",
        ),
        (
            "text = \"a\"\ndeltas = 1",
            "script line 5: `deltas` generates the text; remove `text` or `deltas`",
        ),
        (
            "text = \"a\"\nevents = [\"{}\"]",
            "script line 5: `events` is the whole stream; put the other things into it",
        ),
        (
            "events = [\"{\\n}\"]",
            "script line 5: an entry of `events` is one line; write the JSON without line ends",
        ),
        (
            "reasoning = \"a\"\nphase = \"commentary\"",
            "script line 5: `phase` describes a message; add `text` or remove `phase`",
        ),
        (
            "deltas = 5\ndelta_bytes = 1",
            "script line 5: generated deltas are numbered; use `delta_bytes = 2` or more",
        ),
        (
            "text = \"a\"\ntimes = 0",
            "script line 7: `times = 0` never plays this answer; remove the answer or count from 1",
        ),
        (
            "text = \"a\"\ntimes = 2\nrepeat = true",
            "script line 7: `repeat` plays this answer for ever; remove `times` or `repeat`",
        ),
        (
            "calls = [\n { tool = \"a\", input = \"x\", arguments = {} },\n]",
            "script line 7: a call takes one of `arguments`, `arguments_text` and `input`; remove the others",
        ),
        (
            "calls = [{ tool = \"a\", namespace = \"n\", input = \"x\" }]",
            "script line 5: `a` has a namespace and `input`, but tools in a namespace are functions; use `arguments`",
        ),
        (
            "text = \"a\"\nheaders = { \"a b\" = \"c\" }",
            "script line 5: `a b: c` is no HTTP header; use visible ASCII letters",
        ),
        (
            "fault = { kind = \"status\", status = 200 }",
            "script line 5: status 200 is not an error; use 400 to 599, or leave out `fault`",
        ),
        (
            "text = \"a\"\nfault = { kind = \"malformed\", how = \"split_utf8\" }",
            "script line 5: split_utf8 needs a `text` with characters of several bytes, for example \"Grüße\"",
        ),
    ] {
        assert_eq!(answer_error(second), expected);
    }
    assert_eq!(error(""), "script line 1: nothing to play; add a [[conversation]] or a [fallback]");
    assert_eq!(
        error("[[conversation]]\nmatch = \"\"\nanswer = [{ text = \"x\" }]"),
        "script line 1: `match` is empty and would match everything; use [fallback] for that"
    );
    assert_eq!(
        error("\n[[conversation]]\nmatch = \"x\""),
        "script line 2: no answer; add [[conversation.answer]]"
    );
    assert_eq!(
        error(
            "[[conversation]]\nmatch = \"x\"\nanswer = [{ text = \"x\" }]\n[[conversation]]\nmatch = \"x\"\nanswer = [{ text = \"x\" }]"
        ),
        "script line 4: `match = \"x\"` stands in an earlier conversation, so this one never plays; join them"
    );
    assert_eq!(
        error(
            "[[conversation]]\nmatch = \"x\"\nanswer = [{ text = \"x\", repeat = true }, { text = \"y\" }]"
        ),
        "script line 3: `repeat = true` hides the answers after it; move it to the last"
    );
    assert_eq!(
        error("\n\n[fallback]\nusage = {}"),
        "script line 3: the answer says nothing; give it `text`, `deltas`, `reasoning`, `calls`, `patch`, `events` or `fault`"
    );
}

#[tokio::test]
async fn a_script_built_in_code_is_checked_when_it_starts() {
    let script = Script {
        conversations: vec![Conversation {
            prompt: "go".to_owned(),
            answers: vec![Answer::default()],
        }],
        ..Script::default()
    };
    let error = ScriptedModel::start(script).unwrap_err().to_string();
    assert!(
        error.starts_with("script, conversation 1, answer 1: the answer says nothing;"),
        "{error}"
    );
}
