use super::*;
use crate::fault::FirstFrame;
use crate::script::Call;
use crate::sse;
use serde_json::{Value, json};

fn setting() -> Setting {
    Setting {
        seed: "seed".to_owned(),
        model: "gpt-5.5".to_owned(),
        created_at_s: 7,
        api: Api::Responses,
    }
}

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

fn play(answer: &Answer) -> Vec<Action> {
    Player::new(answer, answer.pace.unwrap_or_default(), setting()).collect()
}

/// What a reader sees of each action: the types of the events, a delta with its text.
fn outline(actions: &[Action]) -> Vec<String> {
    let lines = actions.iter().flat_map(|action| match action {
        Action::Send(bytes) => String::from_utf8_lossy(bytes)
            .lines()
            .filter_map(|line| line.strip_prefix("data: ").map(describe))
            .collect(),
        other => vec![format!("{other:?}")],
    });
    lines.collect()
}

fn describe(data: &str) -> String {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    let Some(kind) = event["type"].as_str() else {
        return format!("unreadable {data}");
    };
    match event["delta"].as_str() {
        Some(delta) => format!("{kind} {delta:?}"),
        None => kind.to_owned(),
    }
}

fn sent(actions: &[Action]) -> Vec<u8> {
    let bytes = actions.iter().map(|action| match action {
        Action::Send(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    });
    bytes.collect::<Vec<_>>().concat()
}

const WHOLE: [&str; 10] = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta \"ein \"",
    "response.output_text.delta \"zwei\"",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
];

#[test]
fn without_pace_all_is_one_chunk() {
    let actions = play(&text("ein zwei"));
    assert_eq!((outline(&actions), actions.len()), (WHOLE.map(String::from).to_vec(), 1));
}

#[test]
fn pace_waits_before_the_deltas() {
    let mut answer = text("ein zwei");
    answer.pace = Some(Pace { before_first_delta_ms: 5, between_deltas_ms: 3, ..Pace::default() });
    let mut expected = WHOLE.map(String::from).to_vec();
    expected.insert(5, "Wait(Some(3ms))".to_owned());
    expected.insert(4, "Wait(Some(5ms))".to_owned());
    assert_eq!(outline(&play(&answer)), expected);
}

#[test]
fn faults_strike_after_their_deltas_and_at_the_latest_before_the_end() {
    let strikes = |after| {
        let mut answer = text("ein zwei");
        answer.fault = Some(Fault::Drop { after, how: Cut::Reset });
        outline(&play(&answer))
    };
    let until = |count: usize| {
        let mut expected: Vec<_> = WHOLE.iter().take(count).map(|&line| line.to_owned()).collect();
        expected.extend(["Flush".to_owned(), "Cut(Reset)".to_owned()]);
        expected
    };
    assert_eq!(
        [strikes(0), strikes(1), strikes(2), strikes(99)],
        [until(2), until(5), until(6), until(9)]
    );
}

#[test]
fn faults_strike_inside_a_flood() {
    let answer = Answer {
        deltas: 1_000_000_000_000,
        delta_bytes: 3,
        fault: Some(Fault::Hang { after: 2, for_ms: Some(4) }),
        ..Answer::default()
    };
    let player = Player::new(&answer, Pace::default(), setting());
    let actions: Vec<_> = player.take(3).collect();
    let mut outline = outline(&actions);
    outline.truncate(8);
    assert_eq!(
        outline,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta \"00 \"",
            "response.output_text.delta \"01 \"",
            "Wait(Some(4ms))",
            "response.output_text.delta \"02 \"",
        ]
    );
}

#[test]
fn a_flood_is_numbered_without_a_gap_and_repeated_in_full_at_its_end() {
    let answer = Answer { deltas: 20_000, ..Answer::default() };
    let actions = play(&answer);
    let largest = actions.iter().map(|action| match action {
        Action::Send(bytes) => bytes.len(),
        _ => 0,
    });
    assert!(largest.max().unwrap() < 2 * CHUNK_BYTES, "chunks stay small");
    let body = String::from_utf8(sent(&actions)).unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let sequence: Vec<_> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(sequence, (0..events.len() as u64).collect::<Vec<_>>());
    let text: String = (0..20_000).map(|number| format!("{number:08} ")).collect();
    let deltas: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(deltas, text);
    let repeated = events.iter().filter_map(|event| {
        let paths =
            ["/text", "/part/text", "/item/content/0/text", "/response/output/0/content/0/text"];
        paths.iter().find_map(|path| event.pointer(path)?.as_str())
    });
    let repeated: Vec<_> = repeated.filter(|text| !text.is_empty()).collect();
    assert_eq!(repeated, [text.as_str(); 4]);
}

#[test]
fn ending_faults_replace_the_rest() {
    let failing = |fault| {
        let mut answer = text("ein zwei");
        answer.fault = Some(fault);
        outline(&play(&answer)).split_off(4)
    };
    let (code, message) = ("c".to_owned(), "m".to_owned());
    assert_eq!(
        failing(Fault::Failed { after: 1, code: code.clone(), message: message.clone() }),
        [WHOLE[4], "response.failed"]
    );
    assert_eq!(failing(Fault::ErrorEvent { after: 1, code, message }), [WHOLE[4], "error"]);
    assert_eq!(failing(Fault::MissingTerminal), WHOLE[4..9]);
    assert_eq!(
        failing(Fault::Incomplete { reason: "r".to_owned() }),
        [&WHOLE[4..9], &["response.incomplete"]].concat()
    );
}

#[test]
fn the_error_frames_have_the_shape_of_the_api() {
    let (code, message) = ("rate_limit_exceeded".to_owned(), "try again in 1s".to_owned());
    let mut answer = text("ein");
    answer.fault = Some(Fault::Failed { after: 0, code, message });
    let body = String::from_utf8(sent(&play(&answer))).unwrap();
    let last = body.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let event: Value = serde_json::from_str(&last[6..]).unwrap();
    assert_eq!(
        event,
        json!({
            "type": "response.failed",
            "sequence_number": 2,
            "response": {
                "id": event["response"]["id"], "object": "response", "created_at": 7, "status": "failed",
                "model": "gpt-5.5", "output": [], "usage": null, "incomplete_details": null,
                "error": {"code": "rate_limit_exceeded", "message": "try again in 1s"},
            },
        })
    );
}

#[test]
fn the_first_frame_can_be_another() {
    let first = |frame| {
        let mut answer = text("ein zwei");
        answer.fault = Some(Fault::FirstFrame { frame });
        outline(&play(&answer))
    };
    let with_limits = [&["codex.rate_limits"], &WHOLE[..]].concat();
    assert_eq!(first(FirstFrame::RateLimits), with_limits);
    assert_eq!(first(FirstFrame::InProgress), WHOLE[1..]);
    assert_eq!(first(FirstFrame::Error), ["error"]);
}

#[test]
fn malformed_streams_are_malformed_in_one_place() {
    let body = |how, after| {
        let mut answer = text("ein zwei");
        answer.fault = Some(Fault::Malformed { how, after });
        sent(&play(&answer))
    };
    let well_formed = sent(&play(&text("ein zwei")));
    let at = |needle: &[u8]| {
        let found = well_formed.windows(needle.len()).position(|window| window == needle);
        found.unwrap()
    };
    let second_delta = at(b"\"zwei\"")
        - b"event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":".len();
    let inserted =
        |bytes: &[u8]| [&well_formed[..second_delta], bytes, &well_formed[second_delta..]].concat();
    assert_eq!(body(Malformed::BrokenJson, 1), inserted(sse::BROKEN_JSON));
    assert_eq!(body(Malformed::Garbage, 1), inserted(sse::GARBAGE));
    assert_eq!(body(Malformed::InvalidUtf8, 1), inserted(sse::INVALID_UTF8));
    let without_last_line_end = &well_formed[..well_formed.len() - 1];
    assert_eq!(body(Malformed::NoBlankLine, 99), without_last_line_end);
    let crlf = String::from_utf8(well_formed.clone()).unwrap().replace('\n', "\r\n");
    assert_eq!(body(Malformed::Crlf, 0), crlf.as_bytes());
}

#[test]
fn characters_are_split_between_chunks() {
    let mut answer = text("Grüße");
    answer.fault = Some(Fault::Malformed { how: Malformed::SplitUtf8, after: 0 });
    let actions = play(&answer);
    let ends_inside = |action: &Action| matches!(action, Action::Send(bytes) if std::str::from_utf8(bytes).is_err());
    // Two characters of two bytes each, in delta, text, part, item and output: ten cuts, one chunk behind the last.
    let sends: Vec<_> = actions.iter().filter(|action| matches!(action, Action::Send(_))).collect();
    assert_eq!((sends.len(), sends.iter().filter(|action| ends_inside(action)).count()), (11, 11));
    assert_eq!(sent(&actions), sent(&play(&text("Grüße"))));
}

#[test]
fn raw_events_are_sent_as_they_stand() {
    let answer = Answer {
        events: vec![r#"{"type":"x","a":1}"#.to_owned(), "no json".to_owned()],
        ..Answer::default()
    };
    let expected = "event: x\ndata: {\"type\":\"x\",\"a\":1}\n\ndata: no json\n\n";
    assert_eq!(String::from_utf8(sent(&play(&answer))).unwrap(), expected);
}

#[test]
fn a_fault_without_any_text_still_strikes() {
    let answer = Answer {
        calls: vec![Call::apply_patch("*** Begin Patch\n")],
        fault: Some(Fault::Drop { after: 5, how: Cut::Close }),
        ..Answer::default()
    };
    let outline = outline(&play(&answer));
    assert_eq!(outline[outline.len() - 3..], ["response.output_item.done", "Flush", "Cut(Close)"]);
}
