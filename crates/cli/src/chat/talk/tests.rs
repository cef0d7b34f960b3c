//! The whole talk on a session that is played, with keys as they come from a terminal and all that is written to it.

use super::super::history::History;
use super::super::played::{Log, PlayedHouse, played};
use super::*;
use crate::terminal::keys::Decoder;

const SIZE: Size = Size { columns: 70, rows: 20 };

/// Plays the keys, each after what the one before led to, and gives the exit code, the log and what was written.
fn play(bytes: &str) -> (u8, Vec<String>, String) {
    play_from(Opening::default(), bytes)
}

fn play_from(opening: Opening, bytes: &str) -> (u8, Vec<String>, String) {
    let log = Arc::new(Log::default());
    let mut written = Vec::new();
    let code = {
        let talk = Talk::new(Parts {
            house: Arc::new(PlayedHouse { log: Arc::clone(&log) }),
            opening,
            session: played("c1", &log),
            surface: Surface::new(&mut written, false),
            size: || SIZE,
            editor: Editor::new(History::default(), commands::complete),
            commentary: Commentary::Shown,
            later: Arc::new(Inbox::default()),
        });
        let (sender, keys) = mpsc::channel(1_000);
        for key in Decoder::default().feed(bytes.as_bytes()) {
            sender.try_send(key).unwrap();
        }
        let mut person = Person { keys, signs: Signs::None };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The channel stays open: it is the keys that end the talk.
        let code = runtime.block_on(talk.run(&mut person, None, Until::Left)).unwrap();
        drop(sender);
        code
    };
    let written = anstream::adapter::strip_str(std::str::from_utf8(&written).unwrap()).to_string();
    (code, log.all(), written)
}

#[test]
fn messages_are_answered_until_the_person_leaves() {
    let (code, log, written) = play("hello\r//x\r\u{4}");
    assert_eq!(
        (code, log),
        (0, vec!["turn: hello".into(), "turn: /x".into(), "closed: c1".into()])
    );
    for text in [
        "conversation c1",
        "Model: m",
        "› hello",
        "echo hello",
        "context 15%",
        "go on: ostler chat --resume c1",
    ] {
        assert!(written.contains(text), "{text} in {written}");
    }
    assert!(!written.contains("**"), "{written}");
}

#[test]
fn a_turn_is_steered_by_plain_text_and_stopped_by_ctrl_c() {
    let (_, log, written) = play("wait\rfaster\r\u{4}");
    assert_eq!(log, ["turn: wait", "steered: faster", "closed: c1"]);
    assert!(written.contains("↪ faster") && written.contains("as you say"), "{written}");
    let (_, log, written) = play("wait\r\u{3}/usage\r\u{4}");
    assert_eq!(log, ["turn: wait", "stopped", "closed: c1"]);
    assert!(
        written.contains("■ stopped") && written.contains("1k in (0 of them cached)"),
        "{written}"
    );
}

#[test]
fn what_a_turn_hears_no_more_is_the_next_message() {
    let (_, log, _) = play("deaf\rfaster\r\u{4}");
    assert_eq!(log, ["turn: deaf", "turn: faster", "closed: c1"]);
}

#[test]
fn a_second_ctrl_c_leaves() {
    let (code, log, _) = play("\u{3}\u{3}");
    assert_eq!((code, log), (0, vec!["closed: c1".to_owned()]));
    let (code, log, _) = play("wait\r\u{4}");
    assert_eq!(
        (code, log),
        (130, vec!["turn: wait".into(), "stopped".into(), "closed: c1".into()])
    );
}

#[test]
fn commands_work_while_a_turn_runs_if_the_table_says_so() {
    let (_, log, written) = play("wait\r/model x\r/memory\r/codex-runtime on\r/stop\r\u{4}");
    assert_eq!(log, ["turn: wait", "switch: Set(CodexAppServer) Runs", "stopped", "closed: c1"]);
    for text in ["not while a turn runs", "likes tea", "a turn runs"] {
        assert!(written.contains(text), "{text} in {written}");
    }
}

#[test]
fn commands_between_turns_change_who_answers() {
    let (_, log, written) = play(
        "/model x\r/model\r/effort high\r/codex-runtime on\r/compress\r/skills\r/modle\r/quit\r",
    );
    assert_eq!(
        log,
        ["switch: Set(CodexAppServer) None", "runtime: codex_app_server", "closed: c1"]
    );
    for text in [
        "model: x",
        "barley",
        "effort: high",
        "codex app-server · x · high",
        "12 messages became a summary",
        "there is nothing yet",
        "did you mean /model?",
    ] {
        assert!(written.contains(text), "{text} in {written}");
    }
}

#[test]
fn skills_are_pinned_by_their_name_between_turns() {
    let (_, log, written) = play(
        "/skills pin feeding\r/skills UNPIN  feeding\r/skills pin fly\r/skills pin\r/skills fly\rwait\r/skills pin late\r/stop\r\u{4}",
    );
    assert_eq!(log, ["pin: feeding", "unpin: feeding", "turn: wait", "stopped", "closed: c1"]);
    for text in [
        "feeding is pinned",
        "feeding is not pinned",
        "there is no skill \"fly\"",
        "say /skills, /skills pin NAME or /skills unpin NAME",
        "not while a turn runs",
    ] {
        assert!(written.contains(text), "{text} in {written}");
    }
}

#[test]
fn another_conversation_takes_the_place_of_the_first() {
    let (_, mut log, written) = play("/resume\r/resume c1\r/resume c9\r/new\r\u{4}");
    // The old one is closed beside what goes on.
    log.sort();
    assert_eq!(
        log,
        ["closed: c1", "closed: c2", "closed: c2", "open: New", "open: Resume(\"c9\")"]
    );
    assert!(written.contains("tea") && written.contains("this is that conversation"), "{written}");
}

#[test]
fn what_was_chosen_holds_for_the_next_new_conversation_and_for_no_other() {
    let opening = Opening {
        runtime: Some(ostler_agent::runtime::Runtime::Auto),
        model: Some("m".to_owned()),
        ..Opening::default()
    };
    let keys = "/model x\r/effort high\r/new\r/codex-runtime on\r/new\r/resume c9\r\u{4}";
    let (_, log, _) = play_from(opening, keys);
    let opened: Vec<_> = log.iter().filter(|line| line.starts_with("open")).collect();
    // The switch is in the settings, which say it to all that come.
    assert_eq!(opened, ["open: New auto x high", "open: New x high", "open: Resume(\"c9\") m"]);
}

#[test]
fn a_summary_can_be_stopped_and_left_and_what_is_typed_meanwhile_is_said() {
    let (_, log, written) = play("/model slow\r/compress\rand then\r/usage\r\u{3}\u{4}");
    assert_eq!(log, ["turn: and then", "closed: c1"]);
    for text in ["Ctrl-C stops it", "the summary was stopped", "1k in (0 of them cached)"] {
        assert!(written.contains(text), "{text} in {written}");
    }
    let (_, log, _) = play("/model slow\r/compress\r\u{4}");
    assert_eq!(log, ["closed: c1"]);
}

#[test]
fn nobody_waits_for_what_a_conversation_that_was_left_still_learns() {
    // Its review never ends. The next conversation begins and answers all the same, and a second key leaves at once.
    let (_, log, _) = play("/effort learning\r/new\rhello\r\u{4}\u{3}");
    assert_eq!(log, ["open: New learning", "turn: hello"]);
}

#[test]
fn what_is_asked_is_put_to_the_person_and_answered_by_letter_or_command() {
    let table = [
        ("ask\ry\r\u{4}", "answer: a1 Once "),
        ("ask\r/approve always\r\u{4}", "answer: a1 Once and a rule "),
        ("ask\r/approve session\r\u{4}", "answer: a1 Session "),
        ("ask\rn not now\r\u{4}", "answer: a1 Deny not now"),
        ("ask\r/deny not now\r\u{4}", "answer: a1 Deny not now"),
        // What is no answer is not taken for one, and steers nothing.
        ("ask\rwhat?\ry\r\u{4}", "answer: a1 Once "),
    ];
    for (keys, answer) in table {
        let (_, log, written) = play(keys);
        assert_eq!(log, ["turn: ask", answer, "closed: c1"], "{keys:?}");
        for text in ["notes.md", "+new", "[y] yes, once", "allowed by you"] {
            assert!(written.contains(text), "{text} in {written}");
        }
    }
}
