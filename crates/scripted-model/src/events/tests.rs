use super::*;
use crate::script::Usage;

fn events(answer: &Answer) -> Vec<Value> {
    let setting = Setting {
        seed: "seed".to_owned(),
        model: "gpt-5.5".to_owned(),
        created_at_s: 7,
        api: Api::Responses,
    };
    let events = compose(answer, &setting).into_iter().map(|step| {
        let bytes = match step {
            Step::Opening(bytes) | Step::Delta(bytes) => bytes,
            Step::Event(segments) | Step::Terminal(segments) => match segments.as_slice() {
                [Segment::Bytes(bytes)] => bytes.clone(),
                _ => panic!("{segments:?} holds generated text"),
            },
            Step::Flood(_) => panic!("no flood was asked for"),
        };
        let frame = String::from_utf8(bytes.to_vec()).unwrap();
        let (name, data) = frame.split_once('\n').unwrap();
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name, format!("event: {}", event["type"].as_str().unwrap()));
        event
    });
    events.collect()
}

/// The finished items, which are what Codex records.
fn items(answer: &Answer) -> Vec<Value> {
    let done = |event: &Value| event["type"] == "response.output_item.done";
    let events = events(answer).into_iter().filter(done);
    events.map(|event| event["item"].clone()).collect()
}

fn hash() -> String {
    let id = Ids::new("seed").response();
    id.trim_start_matches("resp_").to_owned()
}

#[test]
fn every_item_has_the_shape_that_codex_reads() {
    let hash = hash();
    let answer = Answer {
        reasoning: Some("hm".to_owned()),
        text: Some("hello".to_owned()),
        phase: Some(Phase::Commentary),
        calls: vec![
            Call::function("exec_command", json!({"cmd": "ls"})),
            Call {
                namespace: Some("mcp__tiny".to_owned()),
                id: Some("call_mine".to_owned()),
                ..Call::function("echo", json!({}))
            },
            Call {
                payload: Payload::ArgumentsText("{\"broken".to_owned()),
                ..Call::function("update_plan", json!({}))
            },
            Call::apply_patch("*** Begin Patch\n*** End Patch\n"),
        ],
        ..Answer::default()
    };
    let expected = [
        json!({"type": "reasoning", "id": format!("rs_{hash}_0"), "summary": [{"type": "summary_text", "text": "hm"}]}),
        json!({
            "type": "message", "id": format!("msg_{hash}_1"), "status": "completed", "role": "assistant",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
        }),
        json!({
            "type": "function_call", "id": format!("fc_{hash}_2"), "status": "completed",
            "call_id": format!("call_{hash}_0"), "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}",
        }),
        json!({
            "type": "function_call", "id": format!("fc_{hash}_3"), "status": "completed",
            "call_id": "call_mine", "namespace": "mcp__tiny", "name": "echo", "arguments": "{}",
        }),
        json!({
            "type": "function_call", "id": format!("fc_{hash}_4"), "status": "completed",
            "call_id": format!("call_{hash}_2"), "name": "update_plan", "arguments": "{\"broken",
        }),
        json!({
            "type": "custom_tool_call", "id": format!("ctc_{hash}_5"), "status": "completed",
            "call_id": format!("call_{hash}_3"), "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch\n",
        }),
    ];
    assert_eq!(items(&answer), expected);
    let completed = events(&answer).pop().unwrap();
    assert_eq!(completed["response"]["output"], json!(expected));
}

#[test]
fn usage_is_told_at_the_end() {
    let answer = Answer {
        text: Some("hello".to_owned()),
        usage: Usage { input: 1200, cached: 1000, output: 40, reasoning: 10 },
        ..Answer::default()
    };
    let completed = events(&answer).pop().unwrap();
    assert_eq!(
        completed["response"]["usage"],
        json!({
            "input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1000},
            "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1240,
        })
    );
}

#[test]
fn empty_output_and_incomplete_change_the_last_event_only() {
    let plain = Answer { text: Some("hello".to_owned()), ..Answer::default() };
    let with = |fault| Answer { fault: Some(fault), ..plain.clone() };
    let mut expected = events(&plain);
    let completed = expected.pop().unwrap();
    let mut empty = events(&with(Fault::EmptyOutput));
    let mut incomplete =
        events(&with(Fault::Incomplete { reason: "max_output_tokens".to_owned() }));
    let (empty_end, incomplete_end) = (empty.pop().unwrap(), incomplete.pop().unwrap());
    assert_eq!((&empty, &incomplete), (&expected, &expected));
    let changed = |changes: Value| {
        let response = merged(&completed["response"], changes);
        merged(&completed, json!({"response": response}))
    };
    assert_eq!(empty_end, changed(json!({"output": []})));
    let mut cut_off = changed(
        json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
    );
    cut_off["type"] = json!("response.incomplete");
    assert_eq!(incomplete_end, cut_off);
}

#[test]
fn text_is_cut_at_words_or_into_bytes_but_never_inside_a_character() {
    assert_eq!(pieces("Grüße an\nalle ", 0), ["Grüße ", "an\n", "alle "]);
    assert_eq!(pieces("Grüße", 3), ["Gr", "ü", "ße"]);
    assert_eq!(pieces("ü", 1), ["ü"]);
    assert_eq!(pieces("", 0), Vec::<&str>::new());
}
