//! A view as text.

use insta::assert_snapshot;

use super::*;

fn manner() -> Manner {
    Manner {
        runtime: Runtime::CodexAppServer,
        model: Some("gpt-5.2-codex".to_owned()),
        effort: Some("high".to_owned()),
    }
}

fn view() -> View {
    View::new(Commentary::Shown, manner(), ConversationUsage::default())
}

fn began(call: &str, preview: &str) -> Activity {
    Activity::ToolBegan {
        call: call.to_owned(),
        tool: "terminal".to_owned(),
        preview: preview.to_owned(),
    }
}

fn ended(call: &str, is_error: bool, summary: &str) -> Activity {
    let (call, tool, summary) = (call.to_owned(), "terminal".to_owned(), summary.to_owned());
    Activity::ToolEnded { call, tool, elapsed_ms: 1_234, is_error, summary }
}

fn stripped(rows: &[String]) -> String {
    anstream::adapter::strip_str(&rows.join("\n")).to_string()
}

#[test]
fn a_turn_from_its_beginning_to_its_end() {
    let (mut view, now, width) = (view(), Duration::from_secs(5), 60);
    let mut rows = view.begin("tidy the\nnotes", 1, Duration::ZERO, width);
    for activity in [
        Activity::Reasoning("**First** I look\nthen I".to_owned()),
        Activity::Reasoning(" act".to_owned()),
        Activity::Commentary("Looking at **all** notes.".to_owned()),
        began("1", "ls -l notes\u{1b}[2J"),
        began("2", "cat notes/a"),
        ended("1", false, "a\nb"),
        ended("2", true, "\ncat: notes/a: no such file\nmore"),
        Activity::Note("the model is asked again in 2 s".to_owned()),
        Activity::Text("Done:\n\n- a".to_owned()),
        Activity::Text("\n- b".to_owned()),
    ] {
        rows.extend(view.hear(&activity, now, width));
    }
    assert_snapshot!(stripped(&view.live(now, width)), @r"
    • a
    • b
    ");
    let outcome = TurnOutcome {
        final_response: "Done:\n\n- a\n- b".to_owned(),
        completed: true,
        ..TurnOutcome::default()
    };
    let usage = ConversationUsage {
        tokens: Tokens { input: 12_000, output: 345, ..Tokens::default() },
        last_call: Tokens { input: 11_000, output: 45, ..Tokens::default() },
        context_window: Some(272_000),
        calls: 3,
        turns: 1,
    };
    rows.extend(view.end(&outcome, usage, now, width));
    assert_snapshot!(stripped(&rows), @r"
    › tidy the
      notes
      with 1 image

    First I look
    then I act

    ┊ Looking at all notes.
    ✓ terminal  ls -l notes\u{1b}[2J  1.2s
    ✗ terminal  cat notes/a  1.2s
      cat: notes/a: no such file
    · the model is asked again in 2 s

    Done:

    • a
    • b
    ");
    assert_snapshot!(view.status(now), @r"
    5.0s · codex app-server · gpt-5.2-codex · high · context 4% · 12.3k tokens
    ");
    assert_snapshot!(view.usage(), @r"
    tokens   12k in (0 of them cached), 345 out (0 of them reasoning)
    turns    1, with 3 calls of the model
    context  11k of 272k (4%)
    ");
}

#[test]
fn a_tool_that_ends_in_the_middle_of_a_text_leaves_it_whole() {
    let (mut view, now, width) = (view(), Duration::from_secs(1), 40);
    view.begin("go", 0, Duration::ZERO, width);
    let mut rows = Vec::new();
    for activity in [
        began("1", "ls"),
        Activity::Text("It".to_owned()),
        ended("1", false, ""),
        Activity::Text(" is open.".to_owned()),
    ] {
        rows.extend(view.hear(&activity, now, width));
    }
    rows.extend(view.pause(width));
    assert_snapshot!(stripped(&rows), @r"

    ✓ terminal  ls  1.2s

    It is open.
    ");
}

#[test]
fn what_runs_is_shown_as_running() {
    let (mut view, width) = (view(), 40);
    view.begin("go", 0, Duration::ZERO, width);
    view.hear(&began("1", "cargo test --workspace --all-targets"), Duration::from_secs(1), width);
    let live = view.live(Duration::from_secs(14), width);
    assert_snapshot!(stripped(&live), @r"
    ⠦ terminal  cargo test --workspac…  13s
    ");
    assert!(
        live.iter()
            .all(|row| super::super::markdown::columns(&stripped(std::slice::from_ref(row)))
                <= width)
    );
}

#[test]
fn a_void_text_is_taken_back_or_called_void() {
    let (mut view, now) = (view(), Duration::ZERO);
    view.hear(&Activity::Text("Hel".to_owned()), now, 60);
    assert_eq!(view.hear(&Activity::TextVoid, now, 60), Vec::<String>::new());
    assert_eq!(view.live(now, 60), Vec::<String>::new());
    view.hear(&Activity::Text("One.\n\nTwo".to_owned()), now, 60);
    assert_eq!(
        stripped(&view.hear(&Activity::TextVoid, now, 60)),
        "· that broke off; the model begins this answer again"
    );
}

#[test]
fn ends_that_are_not_good_say_so() {
    let end = |outcome: TurnOutcome| {
        let mut view = view();
        stripped(&view.end(&outcome, ConversationUsage::default(), Duration::ZERO, 60))
    };
    let failed = TurnOutcome {
        failed: true,
        partial: true,
        failure: Some(ostler_model::Failure::new(ostler_model::FailureClass::Auth, "no")),
        error: Some("nobody is logged in".to_owned()),
        final_response: "Log in with `codex login`.".to_owned(),
        ..TurnOutcome::default()
    };
    assert_snapshot!(end(failed), @r"
    Log in with codex login.

    ✗ failed (auth): nobody is logged in
    ");
    let stopped = TurnOutcome {
        interrupted: true,
        partial: true,
        pending_steer: vec!["and b".to_owned()],
        ..TurnOutcome::default()
    };
    assert_snapshot!(end(stopped), @r"
    ■ stopped
    · the model has not seen this yet; the next turn begins
      with it: and b
    ");
}

#[test]
fn amounts_and_times_are_short() {
    assert_eq!(
        [999, 1_000, 12_345, 272_000, 1_250_000].map(amount),
        ["999", "1k", "12.3k", "272k", "1.2M"]
    );
    let times =
        [0.04, 9.94, 10.0, 61.0, 3_720.0].map(|seconds| span(Duration::from_secs_f64(seconds)));
    assert_eq!(times, ["0.0s", "9.9s", "10s", "1m01s", "1h02m"]);
}
